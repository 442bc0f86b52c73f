"""Planted against recovered: what each figure of simulated judges should come to, and did.

The expected value is of the same quantity as the figure's, on the same items, from
`judge_gym.planted.expected` and the stored texts, never through prompts or samples. Figures
without a closed form are left out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.analysis.data import JudgeArm, SweepData, SweepJudge
from judge_gym.analysis.facets import pooled
from judge_gym.analysis.groups import MIXED, SUBJECTS, comparison_groups, without
from judge_gym.design.axes import facets_of
from judge_gym.design.axis_pairs import REGROUPED
from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.view import Viewing
from judge_gym.formats import number
from judge_gym.metrics.consistency import MIN_REPLICATES
from judge_gym.metrics.polarization import jensen_shannon
from judge_gym.model_names import pair_of
from judge_gym.planted import expected as model
from judge_gym.planted.families import Family, family_named, parameters_of, shifted
from judge_gym.planted.judging import PlantedCase, ShownOrder, case_of
from judge_gym.planted.wordings import worded
from judge_gym.questions.scorer import instructions
from judge_gym.records.shown import shown_to
from judge_gym.seeds import canonical_json, derive_seed
from judge_gym.store.results import ResultRow
from judge_gym.store.samples import shown_documents
from judge_gym.store.sweep_data import items_of_arms, scored_by_arm

Scope = Mapping[str, Any]
_DRAWS = 400
Counts = Mapping[int, int]
"""Item id → scored samples."""


@dataclass(frozen=True, eq=False)
class PlantedArm:
    """An arm's rubric, and its scored samples by item."""

    kind: str
    owner: str
    own_words: bool
    """Whether the rubric is in the words of the judge's own family."""
    scored: Counts


@dataclass(frozen=True, eq=False)
class PlantedJudge:
    """A judge at one point, with the parameters of its family and the cases it was given."""

    experiment: Experiment
    family_name: str
    family: Family
    cases: Mapping[int, PlantedCase]
    own: PlantedArm
    others: tuple[PlantedArm, ...]

    @property
    def display(self) -> ShownOrder:
        """What the presentation fixes: the weakest stage first, or lettered A."""
        return ShownOrder(
            first=None if self.experiment.shuffle_order else 0,
            lettered_a=None if self.experiment.randomize_labels else 0,
        )

    @property
    def is_subset(self) -> bool:
        """Whether verdicts name sets of stages."""
        return self.experiment.scoring_method == "subset"


@dataclass(frozen=True, eq=False)
class PlantedGroup:
    """The judges of one comparison group."""

    scope: Scope
    judges: tuple[PlantedJudge, ...]

    @cached_property
    def present(self) -> list[PlantedJudge]:
        """The judges with a scored sample."""
        return [judge for judge in self.judges if judge.own.scored]

    @cached_property
    def common(self) -> list[int]:
        """The items that every present judge scored: figures are compared on these."""
        scored = [set(judge.own.scored) for judge in self.present]
        return sorted(set.intersection(*scored)) if scored else []


@dataclass(frozen=True, eq=False)
class PlantedSweep:
    """The groups of a sweep, found by the scopes of result rows."""

    groups: Mapping[str, PlantedGroup]

    @property
    def judges(self) -> list[PlantedJudge]:
        """Every judge of every group."""
        return [judge for group in self.groups.values() for judge in group.judges]

    def group(self, scope: Scope) -> PlantedGroup | None:
        """Return the group a figure is of; None when its scope is not that of a group."""
        return self.groups.get(_key({k: v for k, v in scope.items() if k not in SUBJECTS}))

    def judge(self, scope: Scope) -> PlantedJudge | None:
        """Return the judge a figure is of."""
        group = self.group(scope)
        judges = group.judges if group else ()
        return next(
            (judge for judge in judges if judge.experiment.model == scope.get("judge")), None
        )


def read_planted(session: Session, sweep: str, data: SweepData) -> PlantedSweep:
    """Read what the judges of a simulated sweep were shown, and how much of it they scored.

    Groups with a judge whose draws the closed forms do not describe (another temperature or
    top_p than 1; pairs of answers) are left out.
    """
    every = {
        _key(group.scope): group
        for of in (data, _over_draws(data))
        for group in comparison_groups(of)
    }
    groups = [
        group
        for group in every.values()
        if all(
            (judge.experiment.temperature, judge.experiment.top_p) == (1, 1)
            and not judge.experiment.judges_pairs
            for judge in group.judges
        )
    ]
    arms = sorted({arm.id for group in groups for judge in group.judges for arm in judge.arms})
    samples = _Samples(scored_by_arm(session, arms, sweep), items_of_arms(session, arms))
    texts = _Texts(session)
    planted_groups: dict[str, PlantedGroup] = {}
    for group in groups:
        planted_judges = [_judge(judge, samples, texts) for judge in group.judges]
        if None not in planted_judges:
            members = tuple(
                planted_judge for planted_judge in planted_judges if planted_judge is not None
            )
            planted_groups[_key(group.scope)] = PlantedGroup(group.scope, members)
    return PlantedSweep(planted_groups)


def _over_draws(data: SweepData) -> SweepData:
    """Return the data with draws of rubrics as one; a wording is a parameter, so not over those."""
    varying = facets_of(judge.experiment for judge in data.judges)
    return pooled(data) if list(varying) == ["rubric_draw"] else data


class _Texts:
    """The documents of items as a view shows them, each view read once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._read: dict[tuple[int, tuple[tuple[str, str], str]], tuple[str, ...]] = {}

    def of(self, items: Iterable[int], experiment: Experiment) -> dict[int, tuple[str, ...]]:
        shows_title = resolve(experiment).of(Viewing).shows_title
        view = experiment.view, experiment.actors.model_dump_json()
        missing = [item for item in items if (item, view) not in self._read]
        found = shown_documents(self._session, missing, *view[0]) if missing else {}
        for item, documents in found.items():
            self._read[item, view] = tuple(
                f"{document.title}\n\n{document.text}".strip()
                if shows_title
                else document.text.strip()
                for document in shown_to(experiment, documents)
            )
        return {item: self._read[item, view] for item in items if (item, view) in self._read}


@dataclass(frozen=True, eq=False)
class _Samples:
    """The items of arms, and how many samples of each were scored."""

    scored: Mapping[int, Counts]
    items: Mapping[int, Sequence[int]]


def _judge(judge: SweepJudge, samples: _Samples, texts: _Texts) -> PlantedJudge | None:
    """Return the judge with its cases; None without a family, a plan or some text it was shown."""
    experiment = judge.experiment
    name, own = family_named(experiment.model), judge.of_kind("own")
    if name is None or not own:
        return None
    items = samples.items.get(own[0].id, ())
    shown = texts.of(items, experiment)
    if not shown or len(shown) < len(set(items)):
        return None
    own_arm = _arm(name, own, samples)
    return PlantedJudge(
        experiment=experiment,
        family_name=name,
        family=_at(worded(name, instructions(experiment)), experiment, own_arm),
        cases={
            item: case_of(documents, experiment.concept, experiment.scale_size)
            for item, documents in shown.items()
        },
        own=own_arm,
        others=tuple(_arm(name, [arm], samples) for arm in judge.arms if arm.kind != "own"),
    )


def _at(family: Family, experiment: Experiment, arm: PlantedArm) -> Family:
    """Return a family's parameters with the reserve and thresholds under an arm's rubric."""
    writer = family_named(arm.owner) if arm.owner else None
    family = shifted(family, parameters_of(writer).rubric_shift if writer else 0.0)
    added = family.own_rubric_reserve if arm.own_words else 0.0
    reserve = min(1.0, family.reserve + added) if experiment.abstain else 0.0
    return family.model_copy(update={"reserve": reserve})


def _arm(family: str, arms: Sequence[JudgeArm], samples: _Samples) -> PlantedArm:
    """Return arms that differ in the draw of their rubric alone as one."""
    kind, owner = arms[0].kind, arms[0].rubric_owner
    own_words = bool(owner) and family_named(owner) == family
    scored = Counter[int]()
    for arm in arms:
        scored.update(samples.scored.get(arm.id, {}))
    return PlantedArm(kind, owner, own_words, scored)


def _key(scope: Scope) -> str:
    return canonical_json(dict(scope))


_FIELDS_OF = {"presentation": ("randomize_labels", "shuffle_order")}


@dataclass(frozen=True)
class PlantedValue:
    """The value that a figure should be near, and the planted parameters behind it, as text."""

    value: float
    planted: str


Expect = Callable[[PlantedSweep, ResultRow], PlantedValue | None]


def pair_polarization(sweep: PlantedSweep, row: ResultRow) -> PlantedValue | None:
    """Return the mean P of as many verdicts as were scored, drawn from the planted model."""
    group = sweep.group(row.scope)
    if group is None:
        return None
    families = sorted({judge.experiment.family for judge in group.present})
    for pair in combinations(families, 2):
        if pair_of(*pair) == row.scope["pair"]:
            sides = [
                [judge for judge in group.present if judge.experiment.family == f] for f in pair
            ]
            rng = np.random.default_rng(derive_seed("planted", row.metric, row.scope))
            leanings = " and ".join(number(side[0].family.leaning) for side in sides)
            return PlantedValue(_drawn_polarization(sides, group.common, rng), leanings)
    return None


def _drawn_polarization(
    sides: Sequence[Sequence[PlantedJudge]], items: Sequence[int], rng: np.random.Generator
) -> float:
    """Return mean P over items and draws; each judge draws its number of scored verdicts."""

    def drawn(judge: PlantedJudge, item: int) -> Any:
        sets = sets_of(judge, item)
        n, stages = judge.own.scored[item], judge.experiment.scale_size
        mass = np.array([np.isin(np.arange(stages), one) / len(one) for one in sets])
        return rng.multinomial(n, list(sets.values()), size=_DRAWS) / n @ mass

    return fmean(
        float(
            jensen_shannon(
                *(np.mean([drawn(judge, item) for judge in side], axis=0) for side in sides)
            ).mean()
        )
        for item in items
    )


def verdict_contrast(sweep: PlantedSweep, row: ResultRow) -> PlantedValue | None:
    """Return the mean difference of expected scores over the items scored both ways.

    Of bundles over those of each plan.
    """
    before, after = ends_of_contrast(sweep, row.scope)
    if before is None or after is None:
        return None
    compared = items_of_contrast(row.scope, before.own.scored, after.own.scored)
    if not all(compared):
        return None
    first, second = (
        fmean(_score(one, item) for item in items)
        for one, items in zip((before, after), compared, strict=True)
    )
    value = second - first
    family = before.family
    planted = {
        "evidence_view": f"tone {number(family.tone_bias)}",
        "presentation": f"first {number(family.first_bias)}, A {number(family.label_a_bias)}",
    }
    return PlantedValue(value, planted.get(str(row.scope["axis"]), "none"))


def ends_of_contrast(
    sweep: PlantedSweep, scope: Scope
) -> tuple[PlantedJudge | None, PlantedJudge | None]:
    """Return the judge of a contrast at the first and at the second value of the axis."""
    return _end_of_contrast(sweep, scope, "from"), _end_of_contrast(sweep, scope, "to")


def items_of_contrast(
    scope: Scope, before: Iterable[int], after: Iterable[int]
) -> tuple[list[int], list[int]]:
    """Return the items that a contrast is over at each end: the common ones, of bundles its own."""
    first, second = set(before), set(after)
    if scope["axis"] not in REGROUPED:
        first = second = first & second
    return sorted(first), sorted(second)


def _end_of_contrast(
    sweep: PlantedSweep, scope: Mapping[str, Any], end: str
) -> PlantedJudge | None:
    axis = scope["axis"]
    fields = _FIELDS_OF.get(axis, (axis,))
    value = scope[end] == "random" if axis in _FIELDS_OF else scope[end]
    rest = without(scope, "axis", "from", "to")
    return sweep.judge({**rest, **dict.fromkeys(fields, value)})


def _score(judge: PlantedJudge, item: int) -> float:
    return model.set_score(sets_of(judge, item), judge.experiment.scale_size)


def sets_of(judge: PlantedJudge, item: int) -> dict[tuple[int, ...], float]:
    """Return the probability of each verdict of a judge on an item, as sets of 0-based stages."""
    case = judge.cases[item]
    if judge.is_subset:
        return model.set_distribution(judge.family, case)
    single = model.stage_distribution(judge.family, case, judge.display)
    return {(stage,): float(share) for stage, share in enumerate(single)}


def confidence_change(sweep: PlantedSweep, row: ResultRow) -> PlantedValue | None:
    """Return what loyalty takes from confidence: nothing under a rubric in the own words."""
    judge = sweep.judge(row.scope)
    if judge is None or judge.is_subset:
        return None
    kind = row.metric.partition("_")[0]
    rival = row.scope.get("rival")
    for arm in judge.others:
        if arm.kind == kind and rival in (None, arm.owner):
            items = judge.own.scored.keys() & arm.scored.keys()
            value = _stated(judge, arm, items) - _stated(judge, judge.own, items)
            return PlantedValue(value, number(judge.family.own_rubric_loyalty))
    return None


def _stated(judge: PlantedJudge, arm: PlantedArm, items: Iterable[int]) -> float:
    return fmean(
        model.stated_probability(judge.family, judge.cases[item], own_rubric=arm.own_words)
        for item in items
    )


def stated_confidence(sweep: PlantedSweep, row: ResultRow) -> PlantedValue | None:
    """Return the mean stated probability for the verdicts the judge should give."""
    single = _single_judge(sweep, row)
    if single is None:
        return None
    group, judge = single
    level, slope = judge.family.probe_level, judge.family.probe_slope
    planted = f"{number(level)} + {number(slope)} x margin"
    return PlantedValue(_stated(judge, judge.own, group.common), planted)


def excess_confidence(sweep: PlantedSweep, row: ResultRow) -> PlantedValue | None:
    """Return stated probability less the probability that another judge agrees."""
    single = _single_judge(sweep, row)
    if single is None or len(single[0].present) < 2:
        return None
    group, judge = single
    others = [candidate for candidate in group.present if candidate is not judge]
    agreement = fmean(_agreement(judge, other, item) for item in group.common for other in others)
    value = _stated(judge, judge.own, group.common) - agreement
    return PlantedValue(value, f"{number(judge.family.probe_level)} at no margin")


def _agreement(judge: PlantedJudge, other: PlantedJudge, item: int) -> float:
    """Return the probability that two judges choose the same stage."""
    p, q = (
        model.stage_distribution(side.family, side.cases[item], side.display)
        for side in (judge, other)
    )
    return float(p @ q)


def replicate_variance(sweep: PlantedSweep, row: ResultRow) -> PlantedValue | None:
    """Return the mean variance of the 0-1 score, over items with enough replicates."""
    single = _single_judge(sweep, row)
    if single is None:
        return None
    group, judge = single
    items = [item for item in group.common if judge.own.scored[item] >= MIN_REPLICATES]
    value = fmean(_score_variance(judge, item) for item in items)
    return PlantedValue(value, number(judge.family.noise))


def _score_variance(judge: PlantedJudge, item: int) -> float:
    shares = model.stage_distribution(judge.family, judge.cases[item], judge.display)
    return model.score_variance(shares)


def display_bias(sweep: PlantedSweep, row: ResultRow) -> PlantedValue | None:
    """Return π(1 - 1/S) for the stage shown first, λ(1 - 1/S) for the one lettered A."""
    single = _single_judge(sweep, row)
    if single is None:
        return None
    family, stages = single[1].family, single[1].experiment.scale_size
    bias = family.first_bias if row.metric == "position_bias" else family.label_a_bias
    return PlantedValue(model.display_excess(bias, stages), number(bias))


def subset_width(sweep: PlantedSweep, row: ResultRow) -> PlantedValue | None:
    """Return the mean share of the scale left open, over the common items."""
    group, judge = sweep.group(row.scope), sweep.judge(row.scope)
    if group is None or judge is None:
        return None
    value = fmean(_open_share(judge, item) for item in group.common)
    return PlantedValue(value, number(judge.family.subset_width))


def _open_share(judge: PlantedJudge, item: int) -> float:
    sets = model.set_distribution(judge.family, judge.cases[item])
    width = sum(share * (len(stages) - 1) for stages, share in sets.items())
    return width / (judge.experiment.scale_size - 1)


def abstention_rate(sweep: PlantedSweep, row: ResultRow) -> PlantedValue | None:
    """Return the mean probability of abstaining under the own rubric, where offered."""
    judge = sweep.judge(row.scope)
    if judge is None or not judge.experiment.abstain or row.scope["arm"] != "own":
        return None
    return PlantedValue(abstention_of(judge, judge.cases), _abstains(judge))


def abstention_of(judge: PlantedJudge, items: Iterable[int]) -> float:
    """Return the mean probability of abstaining under the own rubric."""
    cases = [judge.cases[item] for item in items]
    if not judge.experiment.abstain:
        return 0.0
    return model.abstention(judge.family, cases, judge.display, subset=judge.is_subset)


def _abstains(judge: PlantedJudge) -> str:
    reserved = f", reserve {number(judge.family.reserve)}" if judge.family.reserve else ""
    return f"{number(judge.family.abstention)}{reserved}"


def claim_accuracy(sweep: PlantedSweep, row: ResultRow) -> PlantedValue | None:
    """Return the share right on claims that can be checked; an index is no planted answer."""
    single = _single_judge(sweep, row)
    if single is None or single[1].experiment.task_type != "benchmark":
        return None
    group, judge = single
    cases = [judge.cases[item] for item in group.common]
    if any(case.truth is None for case in cases):
        return None
    right = [
        float(model.stage_distribution(judge.family, case, judge.display)[-1 if case.truth else 0])
        for case in cases
    ]
    return PlantedValue(fmean(right), number(judge.family.accuracy))


def letter_calibration(sweep: PlantedSweep, row: ResultRow) -> PlantedValue | None:
    """Return what the letter's token probability comes to on claims that can be checked."""
    single = _single_judge(sweep, row)
    if single is None or single[1].experiment.task_type != "benchmark":
        return None
    judge = single[1]
    cases = [judge.cases[item] for item in judge.own.scored]
    if any(case.truth is None for case in cases):
        return None
    figures = [model.letter_calibration(judge.family, case, judge.display) for case in cases]
    place = ("letter_overconfidence", "letter_brier_score").index(row.metric)
    return PlantedValue(fmean(both[place] for both in figures), number(judge.family.accuracy))


def _single_judge(sweep: PlantedSweep, row: ResultRow) -> tuple[PlantedGroup, PlantedJudge] | None:
    """Return the judge of a figure and its group, when its verdicts are single stages."""
    group, judge = sweep.group(row.scope), sweep.judge(row.scope)
    return None if group is None or judge is None or judge.is_subset else (group, judge)


EXPECTED: Mapping[str, Expect] = {
    "polarization_pair": pair_polarization,
    "contrast": verdict_contrast,
    "swap_sensitivity": confidence_change,
    "sham_sensitivity": confidence_change,
    "confidence": stated_confidence,
    "overconfidence": excess_confidence,
    "position_bias": display_bias,
    "label_bias": display_bias,
    "replicate_variance": replicate_variance,
    "subset_width": subset_width,
    "abstention_rate": abstention_rate,
    "accuracy": claim_accuracy,
    "letter_overconfidence": letter_calibration,
    "letter_brier_score": letter_calibration,
}
"""Metric → the function that returns its expectation."""


def with_expected(
    session: Session, sweep: str, data: SweepData, rows: Iterable[ResultRow]
) -> list[ResultRow]:
    """Return the figures of a wholly simulated sweep, each with what it should come to."""
    planted = read_planted(session, sweep, data)
    return [_with_expected(planted, row) for row in rows]


def _with_expected(sweep: PlantedSweep, row: ResultRow) -> ResultRow:
    expect = EXPECTED.get(row.metric.removesuffix(MIXED))
    if expect is None or row.estimate is None or (value := expect(sweep, row)) is None:
        return row
    return replace(row, planted=value.planted, expected=value.value)
