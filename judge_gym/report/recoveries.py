"""What each figure should come to, given what is planted: one function a figure.

The same quantity as the figure's, on the same items, from `simulator.expected`; None where there
is no closed form, so that nothing is compared with what it is not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np

from judge_gym.formats import number
from judge_gym.metrics.consistency import MIN_REPLICATES
from judge_gym.metrics.polarization import jensen_shannon
from judge_gym.planted import expected as model
from judge_gym.report.planted_cases import PlantedArm, PlantedGroup, PlantedJudge, PlantedSweep
from judge_gym.seeds import derive_seed
from judge_gym.store.results import ResultRow

_DRAWS = 400
_FIELDS_OF = {"presentation": ("randomize_labels", "shuffle_order")}


@dataclass(frozen=True)
class Expectation:
    """The value a figure should be near, and the planted parameters behind it, in words."""

    value: float
    planted: str


Expect = Callable[[PlantedSweep, ResultRow], Expectation | None]


def pair_polarization(sweep: PlantedSweep, row: ResultRow) -> Expectation | None:
    """Return the mean P of as many verdicts as were scored, drawn from the planted model."""
    group = sweep.group(row.scope)
    if group is None or any(judge.is_subset for judge in group.judges):
        return None
    families = sorted({judge.experiment.family for judge in group.present})
    for pair in combinations(families, 2):
        if " and ".join(pair) == row.scope["pair"]:
            sides = [[one for one in group.present if one.experiment.family == f] for f in pair]
            rng = np.random.default_rng(derive_seed("planted", row.metric, row.scope))
            leanings = " and ".join(number(side[0].family.leaning) for side in sides)
            return Expectation(_drawn_polarization(sides, group.common, rng), leanings)
    return None


def _drawn_polarization(
    sides: Sequence[Sequence[PlantedJudge]], items: Sequence[int], rng: np.random.Generator
) -> float:
    """Return mean P over items and draws; each judge draws its number of scored verdicts."""

    def drawn(judge: PlantedJudge, item: int) -> Any:
        p = model.stage_distribution(judge.family, judge.cases[item], judge.display)
        n = judge.own.scored[item]
        return rng.multinomial(n, p, size=_DRAWS) / n

    return fmean(
        float(
            jensen_shannon(
                *(np.mean([drawn(judge, item) for judge in side], axis=0) for side in sides)
            ).mean()
        )
        for item in items
    )


def verdict_contrast(sweep: PlantedSweep, row: ResultRow) -> Expectation | None:
    """Return the mean difference of expected scores over the items scored both ways."""
    ends = [_end_of_contrast(sweep, row.scope, end) for end in ("from", "to")]
    before, after = ends
    if before is None or after is None:
        return None
    items = before.own.scored.keys() & after.own.scored.keys()
    value = fmean(_score(after, item) - _score(before, item) for item in items)
    family = before.family
    planted = {
        "evidence_view": f"tone {number(family.tone_bias)}",
        "presentation": f"first {number(family.first_bias)}, A {number(family.label_a_bias)}",
    }
    return Expectation(value, planted.get(str(row.scope["axis"]), "none"))


def _end_of_contrast(
    sweep: PlantedSweep, scope: Mapping[str, Any], end: str
) -> PlantedJudge | None:
    axis = scope["axis"]
    fields = _FIELDS_OF.get(axis, (axis,))
    value = scope[end] == "random" if axis in _FIELDS_OF else scope[end]
    told = {key: one for key, one in scope.items() if key not in ("axis", "from", "to")}
    return sweep.judge({**told, **dict.fromkeys(fields, value)})


def _score(judge: PlantedJudge, item: int) -> float:
    case = judge.cases[item]
    if not judge.is_subset:
        return model.mean_score(model.stage_distribution(judge.family, case, judge.display))
    return model.set_score(model.set_distribution(judge.family, case), case.stages)


def confidence_change(sweep: PlantedSweep, row: ResultRow) -> Expectation | None:
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
            return Expectation(value, number(judge.family.own_rubric_loyalty))
    return None


def _stated(judge: PlantedJudge, arm: PlantedArm, items: Iterable[int]) -> float:
    return fmean(
        model.stated_probability(judge.family, judge.cases[item], own_rubric=arm.own_words)
        for item in items
    )


def stated_confidence(sweep: PlantedSweep, row: ResultRow) -> Expectation | None:
    """Return the mean stated probability for the verdicts the judge should give."""
    found = _single_judge(sweep, row)
    if found is None:
        return None
    group, judge = found
    level, slope = judge.family.probe_level, judge.family.probe_slope
    planted = f"{number(level)} + {number(slope)} x margin"
    return Expectation(_stated(judge, judge.own, group.common), planted)


def excess_confidence(sweep: PlantedSweep, row: ResultRow) -> Expectation | None:
    """Return stated probability less the probability that another judge agrees."""
    found = _single_judge(sweep, row)
    if found is None or len(found[0].present) < 2:
        return None
    group, judge = found
    others = [one for one in group.present if one is not judge]
    agreement = fmean(_agreement(judge, other, item) for item in group.common for other in others)
    value = _stated(judge, judge.own, group.common) - agreement
    return Expectation(value, f"{number(judge.family.probe_level)} at no margin")


def _agreement(judge: PlantedJudge, other: PlantedJudge, item: int) -> float:
    """Return the probability that two judges choose the same stage."""
    p, q = (
        model.stage_distribution(one.family, one.cases[item], one.display) for one in (judge, other)
    )
    return float(p @ q)


def replicate_variance(sweep: PlantedSweep, row: ResultRow) -> Expectation | None:
    """Return the mean variance of the 0-1 score, over items with enough replicates."""
    found = _single_judge(sweep, row)
    if found is None:
        return None
    group, judge = found
    items = [item for item in group.common if judge.own.scored[item] >= MIN_REPLICATES]
    value = fmean(_score_variance(judge, item) for item in items)
    return Expectation(value, number(judge.family.noise))


def _score_variance(judge: PlantedJudge, item: int) -> float:
    shares = model.stage_distribution(judge.family, judge.cases[item], judge.display)
    return model.score_variance(shares)


def display_bias(sweep: PlantedSweep, row: ResultRow) -> Expectation | None:
    """Return π(1 - 1/S) for the stage shown first, λ(1 - 1/S) for the one lettered A."""
    found = _single_judge(sweep, row)
    if found is None:
        return None
    family, stages = found[1].family, found[1].experiment.scale_size
    bias = family.first_bias if row.metric == "position_bias" else family.label_a_bias
    return Expectation(model.display_excess(bias, stages), number(bias))


def subset_width(sweep: PlantedSweep, row: ResultRow) -> Expectation | None:
    """Return the mean share of the scale left open, over the common items."""
    group, judge = sweep.group(row.scope), sweep.judge(row.scope)
    if group is None or judge is None:
        return None
    value = fmean(_open_share(judge, item) for item in group.common)
    return Expectation(value, number(judge.family.subset_width))


def _open_share(judge: PlantedJudge, item: int) -> float:
    sets = model.set_distribution(judge.family, judge.cases[item])
    width = sum(share * (len(stages) - 1) for stages, share in sets.items())
    return width / (judge.experiment.scale_size - 1)


def abstention_rate(sweep: PlantedSweep, row: ResultRow) -> Expectation | None:
    """Return the mean probability of abstaining under the own rubric, where offered."""
    judge = sweep.judge(row.scope)
    if judge is None or not judge.experiment.abstain or row.scope["arm"] != "own":
        return None
    value = model.abstention(judge.family, judge.cases.values())
    return Expectation(value, number(judge.family.abstention))


def claim_accuracy(sweep: PlantedSweep, row: ResultRow) -> Expectation | None:
    """Return the share right on claims that can be checked; an index is no planted answer."""
    found = _single_judge(sweep, row)
    if found is None or found[1].experiment.task_type != "benchmark":
        return None
    group, judge = found
    cases = [judge.cases[item] for item in group.common]
    if any(case.truth is None for case in cases):
        return None
    right = [
        float(model.stage_distribution(judge.family, case, judge.display)[-1 if case.truth else 0])
        for case in cases
    ]
    return Expectation(fmean(right), number(judge.family.accuracy))


def _single_judge(sweep: PlantedSweep, row: ResultRow) -> tuple[PlantedGroup, PlantedJudge] | None:
    """Return the judge of a figure and its group, when its verdicts are single stages."""
    group, judge = sweep.group(row.scope), sweep.judge(row.scope)
    return None if group is None or judge is None or judge.is_subset else (group, judge)
