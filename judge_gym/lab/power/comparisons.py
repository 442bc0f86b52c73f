"""The comparisons that a sweep plans, each with its design and its price in calls.

Derived from the sweep file and the files of its evidence: no calls are made and no database is
read.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from statistics import median

from judge_gym.counting import counted
from judge_gym.design.axes import facet_names, facets_of
from judge_gym.design.experiment import Experiment
from judge_gym.design.plan_scopes import (
    FigureScope,
    check_primary_scopes,
    contrasted,
    has_named,
    scope_of,
    varying_axes,
)
from judge_gym.design.plans import MostDivergent
from judge_gym.design.sweep import Sweep
from judge_gym.errors import ConfigError
from judge_gym.lab.evidence import preview, views_needed
from judge_gym.lab.power.study import PLANTABLE
from judge_gym.metrics.hypotheses import HYPOTHESES, VALIDITY_CHECKS, Hypothesis
from judge_gym.metrics.polarization import MIN_REPLICATES
from judge_gym.planted.truths import StudyDesign
from judge_gym.settings import settings

_BY_KEY = {hypothesis.key: hypothesis for hypothesis in (*HYPOTHESES, *VALIDITY_CHECKS)}
IN_WORDS = {
    "H1": "Disagreement between judge families",
    "H2": "Overconfidence in agreement",
    "H3": "Loss of confidence under a rival's rubric",
    "V1.polarization": "Agreement on the control",
}
"""What `sweep power` and `sweep plan` call the hypotheses, beside their keys."""
UNITS = {"H1": "bits", "H2": "probability", "H3": "probability", "V1.polarization": "bits"}
"""The units of their figures."""
WITHOUT_PLAN = ("H1", "H2", "H3")
"""The hypotheses compared when a sweep has no plan."""
_COMPARED_BY: Mapping[str, Callable[[Experiment], str]] = {
    "H1": lambda experiment: experiment.family,
    "H2": lambda experiment: experiment.model,
}
"""Hypotheses of judges under one rubric → what two of them must differ in."""
CALLS_A_JUDGEMENT = 2.1
"""A verdict and its probe; one sample in ten is probed twice."""


@dataclass(frozen=True)
class PlannedComparison:
    """Figures of one hypothesis in one scope, each decided over all levels of its `facets`.

    `families` numbers the family of each judge. `figures` counts the figures: one across judges,
    or one for each judge. An item costs `item_calls`, and each of its replicates `judgements`,
    each with its probe.
    """

    hypothesis: Hypothesis
    margin: float
    scope: tuple[tuple[str, str], ...]
    design: StudyDesign
    families: tuple[int, ...]
    figures: int
    facets: tuple[tuple[str, int], ...]
    """The facets that vary within it, each with the number of its levels."""
    item_calls: int
    judgements: int
    primary: bool
    items_assumed: bool
    """Whether the number of items is `max_documents`, as nobody has seen the evidence."""
    named: FigureScope = field(hash=False)
    """What the scopes of its figures in a report may say, as a plan names it."""
    sets: bool = False
    """Whether verdicts may name several stages; its power is not simulated."""

    @property
    def about(self) -> str:
        """The scope in words."""
        scope = dict(self.scope)
        rival = scope.pop("rival", "")
        words = [
            f"{in_words(name)} {value}" if name in facet_names() else value
            for name, value in scope.items()
        ]
        return ", ".join(words) + (f" against {rival}" if rival else "")

    @property
    def over(self) -> str:
        """The facets that the claim is decided over, in words; empty without any."""
        return " and ".join(counted(levels, in_words(name)) for name, levels in self.facets)

    @property
    def who(self) -> str:
        """The judges, in words."""
        if self.hypothesis.key == "H3":
            return "one judge under its own, the rival's and a sham rubric"
        return f"{counted(len(self.families), 'judge')}"

    def calls(self, items: int, replicates: int) -> int:
        """Return the calls for so many items and replicates, without those for rubrics."""
        return round(items * (self.item_calls + replicates * self.judgements * CALLS_A_JUDGEMENT))


def comparisons(sweep: Sweep) -> list[PlannedComparison]:
    """Return what a sweep compares: its plan's primary outcomes, or H1 to H3 without a plan.

    Raises `ConfigError` when the power of none of them can be simulated.
    """
    check_primary_scopes(sweep)
    plan, simulable = sweep.plan, _simulable(sweep)
    # The simulated verdicts are single stages.
    compared = [one for one in _compared(sweep) if not one.sets]
    if not compared and not (plan and plan.contrasts):
        needs = "; ".join(f"{hypothesis.key} needs {hypothesis.needs}" for hypothesis in simulable)
        needs = needs or f"the plan has none of {', '.join(PLANTABLE)}"
        which = "no primary outcome" if plan else "no comparison"
        raise ConfigError(
            f"{sweep.path}: there is {which} whose power can be simulated.", f"{needs}."
        )
    return compared


def _simulable(sweep: Sweep) -> list[Hypothesis]:
    """Return the hypotheses that the plan has, or is taken to have, whose power is simulated."""
    keys = sweep.plan.margin_of if sweep.plan else WITHOUT_PLAN
    return [_BY_KEY[key] for key in keys if key in PLANTABLE]


def _compared(sweep: Sweep) -> Iterator[PlannedComparison]:
    """Yield the comparisons of a sweep, those of verdicts that name several stages among them."""
    experiments = list(sweep.experiments())
    study = _Study(sweep, documents_of(sweep), varying_axes(experiments))
    for hypothesis in _simulable(sweep):
        for comparison in _of_hypothesis(study, hypothesis, experiments):
            if sweep.plan is None or comparison.primary:
                yield comparison


@dataclass(frozen=True)
class PrimaryFamily:
    """The primary figures of a plan: Holm's correction in the report is over all of them."""

    figures: int
    uncounted: tuple[str, ...]
    """Hypotheses whose primary figures only the data say."""

    @property
    def said(self) -> str:
        """The size in words."""
        if not self.uncounted:
            return counted(self.figures, "primary figure")
        some = ", ".join(self.uncounted)
        return f"{counted(self.figures, 'primary figure')}, and those of {some}, not counted here"

    def level(self, comparison: PlannedComparison, alpha: float) -> float:
        """Return the level of a figure's test: for primary figures the strictest step of Holm."""
        return alpha / self.figures if comparison.primary else alpha


def primary_family(sweep: Sweep) -> PrimaryFamily:
    """Return the primary figures that the plan of a sweep has: of contrasts and of hypotheses."""
    if sweep.plan is None:
        return PrimaryFamily(0, ())
    contrasts = sum(len(contrasted(sweep, one)) for one in sweep.plan.contrasts)
    figures = sum(one.figures for one in _compared(sweep) if one.primary)
    uncounted = (key for key in sweep.plan.confirmatory if key not in PLANTABLE)
    return PrimaryFamily(contrasts + figures, tuple(uncounted))


def outcomes_without_figure(sweep: Sweep) -> list[str]:
    """Return a sentence per primary outcome that no comparison of the sweep is about.

    Of the hypotheses whose power can be simulated.
    """
    plan, lost = sweep.plan, list[str]()
    if plan is None:
        return lost
    experiments = list(sweep.experiments())
    study = _Study(sweep, documents_of(sweep), varying_axes(experiments))
    for one in plan.primary:
        hypothesis = _BY_KEY[one.hypothesis]
        if hypothesis.key not in PLANTABLE or hypothesis.key not in plan.confirmatory:
            continue
        found = _of_hypothesis(study, hypothesis, experiments)
        if not any(has_named(comparison.named, one.scope) for comparison in found):
            scope = ", ".join(f"{name}: {value}" for name, value in one.scope.items())
            about = f" of {scope}" if scope else ""
            lost.append(
                f"The sweep makes no figure for {hypothesis.key}{about}, a primary outcome of its "
                f"plan: it needs {hypothesis.needs}."
            )
    return lost


def not_simulated(sweep: Sweep) -> list[str]:
    """Return the hypotheses of the plan whose power cannot be simulated."""
    return [key for key in (sweep.plan.margin_of if sweep.plan else ()) if key not in PLANTABLE]


def replicate_warnings(sweep: Sweep) -> list[str]:
    """Return a sentence per claim about polarization that the sweep's replicates put at risk."""
    about: dict[tuple[str, float], list[str]] = defaultdict(list)
    groups = sweep.alike(("task_type", "concept", "model", "rubric", "abstain", *facet_names()))
    experiments = [group.experiment for group in groups]
    for hypothesis in (*HYPOTHESES, *VALIDITY_CHECKS):
        if hypothesis.metric != "polarization_excess":
            continue
        for group in _peers(hypothesis, experiments):
            judges = group.judges
            replicates = median(experiment.replicates for experiment in judges) * group.times
            enough = MIN_REPLICATES + judges[0].abstain
            if _families(judges) and replicates < enough:
                about[hypothesis.key, replicates].append(judges[0].concept)
    return [
        f"{IN_WORDS[key]} ({key}) on {', '.join(dict.fromkeys(concepts))} is tested where the "
        f"median cell holds {MIN_REPLICATES} scored replicates. "
        + (
            f"With {replicates:g}, it cannot be tested: raise replicates."
            if replicates < MIN_REPLICATES
            else f"With {replicates:g}, abstentions may leave too few: raise replicates, or set "
            "abstain to false."
        )
        for (key, replicates), concepts in about.items()
    ]


def rubric_warnings(sweep: Sweep) -> list[str]:
    """Return a sentence on H1 and H2 where the judges of a concept have no rubric in common.

    Of those that the plan has; of both where there is no plan.
    """
    experiments = [
        group.experiment for group in sweep.alike(("task_type", "concept", "model", "rubric"))
    ]
    about: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for key in sweep.plan.margin_of if sweep.plan else WITHOUT_PLAN:
        if key in _COMPARED_BY:
            about[tuple(_without_common_rubric(key, experiments))].append(
                f"{IN_WORDS[key]} ({key})"
            )
    return [
        f"{' and '.join(claims)} cannot be tested on {', '.join(concepts)}: the judges have no "
        "rubric in common. Add a block whose rubric is shared or provided."
        for concepts, claims in about.items()
        if concepts
    ]


def _without_common_rubric(key: str, experiments: Sequence[Experiment]) -> Iterator[str]:
    """Yield the concepts of two judges, or families, where no two of them share a rubric."""
    compared: dict[str, set[str]] = defaultdict(set)
    under: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in experiments:
        if one.task_type in _BY_KEY[key].tasks:
            compared[one.concept].add(_COMPARED_BY[key](one))
            if one.rubric.kind != "own":
                under[one.concept, one.rubric.model_dump_json()].add(_COMPARED_BY[key](one))
    tested = {concept for (concept, _), found in under.items() if len(found) > 1}
    yield from (
        concept for concept, found in compared.items() if len(found) > 1 and concept not in tested
    )


def in_words(facet: str) -> str:
    """Return the name of a facet in words."""
    return facet.replace("_", " ")


Documents = Mapping[str, int | None]
"""Key of a window → its documents; None where nobody has seen them."""


def documents_of(sweep: Sweep) -> Documents:
    """Count the documents of windows on files, as a run keeps them."""
    previews = {window.key: preview(window, settings()) for window in sweep.windows.values()}
    return {key: len(found.documents) if found else None for key, found in previews.items()}


def items_of(experiment: Experiment, documents: Documents) -> tuple[int, bool]:
    """Return the items of an experiment, and whether they are assumed to be `max_documents`."""
    seen = documents.get(experiment.window.key)
    available = experiment.window.max_documents if seen is None else seen
    return available // experiment.documents_together, seen is None


@dataclass(frozen=True)
class _Study:
    """A sweep, the documents of its windows, and the axes that its scopes name."""

    sweep: Sweep
    documents: Documents
    varying: Sequence[str]

    def named(self, group: "_Peers", judged: Mapping[str, Iterable[str]]) -> FigureScope:
        """Return what the scopes of a group's figures may say; `judged` names judge and rival."""
        scope = scope_of(self.sweep, group.judges[0], self.varying)
        of_group = {"concept", "country", "window", "rubric", *self.varying} - set(group.facets)
        return {
            **{name: values for name, values in scope.items() if name in of_group},
            **{name: frozenset(models) for name, models in judged.items()},
        }

    def is_primary(self, hypothesis: Hypothesis, named: FigureScope) -> bool:
        """Return whether figures of this scope are of a primary outcome of the plan."""
        plan = self.sweep.plan
        return plan is not None and any(
            one.hypothesis == hypothesis.key and has_named(named, one.scope)
            for one in plan.primary
            if one.hypothesis in plan.confirmatory
        )


def _of_hypothesis(
    study: _Study, hypothesis: Hypothesis, experiments: Sequence[Experiment]
) -> Iterator[PlannedComparison]:
    for group in _peers(hypothesis, experiments):
        if hypothesis.key == "H3":
            yield from _swaps(study, hypothesis, group)
        else:
            yield from _across(study, hypothesis, group)


@dataclass(frozen=True)
class _Peers:
    """Judges that are compared, at one level of each facet, and the levels of those that vary."""

    judges: list[Experiment]
    facets: Mapping[str, int]

    @property
    def times(self) -> int:
        """How often each judge judges an item in one replicate."""
        return prod(self.facets.values())


def _peers(hypothesis: Hypothesis, experiments: Sequence[Experiment]) -> Iterator[_Peers]:
    """Yield the experiments that a hypothesis is about, those that differ in facets as one."""
    first = {name: Experiment.model_fields[name].default for name in facet_names()}
    groups: dict[str, list[Experiment]] = defaultdict(list)
    for experiment in experiments:
        if experiment.task_type in hypothesis.tasks:
            groups[experiment.model_copy(update=first).peers_key].append(experiment)
    for group in groups.values():
        by_level: dict[tuple[object, ...], list[Experiment]] = defaultdict(list)
        for experiment in group:
            by_level[tuple(getattr(experiment, name) for name in first)].append(experiment)
        levels = {name: len(found) for name, found in facets_of(group).items()}
        yield _Peers(max(by_level.values(), key=len), levels)


def _families(group: Sequence[Experiment]) -> list[str]:
    """Return the families that polarization compares; none without two under a common rubric."""
    names = sorted({experiment.family for experiment in group})
    return names if group[0].rubric.kind != "own" and len(names) > 1 else []


def _across(study: _Study, hypothesis: Hypothesis, group: _Peers) -> Iterator[PlannedComparison]:
    judges = group.judges
    names = sorted({experiment.family for experiment in judges})
    by_judge = hypothesis.key == "H2"
    if judges[0].rubric.kind == "own" or len(judges if by_judge else names) < 2:
        return
    models, figures = [one.model for one in judges], 1
    if by_judge:
        # A plan may name one of them.
        scopes = [study.named(group, {"judge": [model]}) for model in models]
        figures = sum(study.is_primary(hypothesis, scope) for scope in scopes) or len(models)
    yield _comparison(
        study, hypothesis, group, {"concept": judges[0].concept},
        judged={"judge": models} if by_judge else {},
        families=tuple(names.index(experiment.family) for experiment in judges),
        figures=figures, judgements=len(judges) * group.times,
    )  # fmt: skip


def _swaps(study: _Study, hypothesis: Hypothesis, group: _Peers) -> Iterator[PlannedComparison]:
    """Yield a comparison of each judge's own, swap and sham arm; two judges are simulated."""
    plan, judges, judgements = study.sweep.swap, group.judges, 3 * group.times
    if plan is None or not plan.sham or judges[0].rubric.kind != "own":
        return
    concept, models = judges[0].concept, [one.model for one in judges]
    if isinstance(plan.pairs, MostDivergent):
        yield _comparison(
            study, hypothesis, group, {"concept": concept, "judge": "each of the most divergent"},
            judged={"judge": models, "rival": models},
            families=(0, 1), figures=plan.pairs.most_divergent, judgements=judgements,
            kept=1 - plan.pairs.held_out,
        )  # fmt: skip
        return
    for judge in judges:
        for rival in judges:
            names = {(a, b) for a in (judge.model, judge.family)
                     for b in (rival.model, rival.family)}  # fmt: skip
            if judge is not rival and (plan.pairs == "all" or names & set(plan.pairs)):
                scope = {"concept": concept, "judge": judge.model, "rival": rival.model}
                yield _comparison(
                    study, hypothesis, replace(group, judges=[judge]), scope,
                    judged={"judge": [judge.model], "rival": [rival.model]},
                    families=(0, 1), figures=1, judgements=judgements,
                )  # fmt: skip


def _comparison(
    study: _Study,
    hypothesis: Hypothesis,
    group: _Peers,
    scope: dict[str, str],
    *,
    judged: Mapping[str, Sequence[str]],
    families: tuple[int, ...],
    figures: int,
    judgements: int,
    kept: float = 1.0,
) -> PlannedComparison:
    judges, plan = group.judges, study.sweep.plan
    first = judges[0]
    by_library = ["cleaned"] if settings().cleaner == "library" else []
    views = [view for view in views_needed(judges) if view not in by_library]
    items, items_assumed = items_of(first, study.documents)
    design = StudyDesign(
        max(1, int(items * kept)),
        min(experiment.replicates for experiment in judges),
        first.scale_size,
    )
    margin = plan.margin_of.get(hypothesis.key, hypothesis.margin) if plan else hypothesis.margin
    # Figures of one level say which, where others have several.
    alone = [name for name in study.sweep.facets if name not in group.facets]
    scope = {**scope, **{name: str(getattr(first, name)) for name in alone}}
    named = study.named(group, judged)
    return PlannedComparison(
        hypothesis, margin, tuple(scope.items()), design, families,
        figures, tuple(group.facets.items()),
        item_calls=len(views) * first.documents_together, judgements=judgements,
        primary=study.is_primary(hypothesis, named), items_assumed=items_assumed, named=named,
        sets=first.scoring_method == "subset",
    )  # fmt: skip
