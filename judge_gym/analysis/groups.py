"""Comparison groups: the experiments that are equal in everything but the judge, and their scope.

Judges are compared within a group only, so that a difference between them has one cause.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from judge_gym.analysis.data import Arms, Origin, SweepData, SweepJudge
from judge_gym.design.axes import axes, level_of
from judge_gym.design.axis_pairs import names_of_provided, rubric_level
from judge_gym.design.experiment import Experiment
from judge_gym.metrics.cells import BoolArray, IntArray, Probes, Verdicts, numbered
from judge_gym.metrics.estimate import Estimate, ItemValues, Remark, RemarkKind, remarked
from judge_gym.metrics.inference import benjamini_hochberg, holm_over
from judge_gym.metrics.shape import Readable
from judge_gym.seeds import canonical_json, derive_seed
from judge_gym.store.results import ResultRow

Scope = dict[str, Any]

MIXED = "_mixed"
"""The end of a metric's name where each judge has a rubric of its own."""
PARTS = ("system", "category")
"""Parts of a scope that say which of a group's items a figure is of; without one it is of all."""
SUBJECTS = (
    *("claim", "pair", "judge", "regime", "rival", "arm", "author", "people"),
    *("stage", "part", "rule", "regression", "term", "level"),
    "reference",
    *PARTS,
)
"""Parts of a figure's scope that say what it is about within its group."""
NOT_IN_SCOPE = ("rubric", "replicates")
"""Axes a scope does not list: the rubric has an entry of its own, replicates are no identity."""


@dataclass(frozen=True, eq=False)
class Group:
    """The judges of one comparison group, and their samples under their own arms.

    `judges` ascend by model; every array here numbers them in that order.
    """

    scope: Scope
    judges: tuple[SweepJudge, ...]
    data: SweepData
    measured: list[tuple[ResultRow, ItemValues]] = field(default_factory=list)
    """The rows made so far that are means over items, with the values of these."""
    is_level: bool = False
    """Whether it is one level of a facet, of a measurement that has a group over all levels."""
    pooled_only: bool = False
    """Whether it has no figures of its own: those that are no means over items need not be made."""

    @cached_property
    def own_arms(self) -> Arms:
        """The own arm of each judge."""
        return [judge.of_kind("own") for judge in self.judges]

    @cached_property
    def items(self) -> IntArray:
        """The items that any judge has a sample of, under any rubric."""
        return self.data.items_of([judge.arms for judge in self.judges])

    @property
    def n_stages(self) -> int:
        """The length of the scale."""
        return self.judges[0].experiment.scale_size

    @property
    def is_subset(self) -> bool:
        """Whether the verdicts name sets of stages."""
        return self.judges[0].experiment.scoring_method == "subset"

    @cached_property
    def families(self) -> tuple[list[str], IntArray]:
        """The families present, ascending, and the number of each present judge's family."""
        of_judges = [self.judges[judge].experiment.family for judge in self.present]
        families = sorted(set(of_judges))
        return families, np.array([families.index(name) for name in of_judges], dtype=np.int64)

    @property
    def mixed(self) -> str:
        """The suffix of comparisons across judges: `MIXED` where each has a rubric of its own."""
        return MIXED if self.judges[0].experiment.rubric.kind == "own" else ""

    def verdicts(self, arms: Arms) -> Verdicts:
        """Return the scored samples of these arms, over the group's items."""
        return self.data.verdicts(arms, self.items, self.n_stages)

    def readable(self, arms: Arms) -> Readable:
        """Return the samples of these arms that could be read, over the group's items."""
        return self.data.readable(arms, self.items, self.n_stages)

    def answered(self, arms: Arms) -> Probes:
        """Return the answered probes of these arms, over the group's items."""
        return self.data.answered(arms, self.items)

    @cached_property
    def own(self) -> Verdicts:
        """The scored samples under the own arms."""
        return self.verdicts(self.own_arms)

    @cached_property
    def present(self) -> list[int]:
        """The judges with a scored sample; one without would leave nothing to compare."""
        return [int(judge) for judge in np.unique(self.own.judge)]

    @cached_property
    def common(self) -> BoolArray:
        """Which items every present judge scored: figures are compared on these."""
        return self.own.of_judges(self.present).common_items()

    @cached_property
    def compared(self) -> Verdicts:
        """The own verdicts on the common items."""
        return self.own.rows(self.common[self.own.item])

    def questions(self, chosen: BoolArray) -> IntArray:
        """Return the question of each chosen item, numbered from 0; its own where none is known."""
        found = self.data.questions(self.items)
        return numbered(np.flatnonzero(chosen) if found is None else found[chosen])

    def rng(self, metric: str, **more: str) -> np.random.Generator:
        """Return the generator of one figure, seeded by its metric and scope."""
        return generator_of(metric, {**self.scope, **more})

    def across(self, estimate: Estimate, **more: str) -> ResultRow:
        """Return a figure of all judges, with a remark on those it has to leave out."""
        absent = tuple(
            judge.model for number, judge in enumerate(self.judges) if number not in self.present
        )
        if absent:
            estimate = remarked(estimate, Remark(RemarkKind.JUDGES_LEFT_OUT, names=absent))
        named = replace(estimate, metric=estimate.metric + self.mixed)
        return self.row(named, self.own_arms, p_adjusted=None, **more)

    def row(
        self, estimate: Estimate, arms: Arms, *, p_adjusted: float | None = None, **more: str
    ) -> ResultRow:
        """Return the figure as a result row; `arms` are those behind it, `more` joins the scope."""
        origin = self.data.origin_of(arms)
        row = result_row(estimate, {**self.scope, **more}, origin, p_adjusted)
        if estimate.values is not None:
            items = self.items[estimate.values.items]
            self.measured.append((row, replace(estimate.values, items=items)))
        return row


def result_row(
    estimate: Estimate, scope: Scope, origin: Origin, p_adjusted: float | None = None
) -> ResultRow:
    """Return an estimate with what it is about and what stands behind it."""
    figure = {name: getattr(estimate, name) for name in _OF_FIGURE}
    stands_behind = {name: getattr(origin, name) for name in _OF_ORIGIN}
    return ResultRow(scope=scope, p_adjusted=p_adjusted, **figure, **stands_behind)


_OF_FIGURE = tuple(field.name for field in fields(Estimate) if field.name != "values")
_OF_ORIGIN = tuple(field.name for field in fields(Origin))
"""Fields of an estimate and of its origin that are columns of a result row."""


def origin_of_rows(rows: Iterable[ResultRow]) -> Origin:
    """Return what stands behind a figure that is made of others."""
    rows = list(rows)
    return Origin(any(row.simulated for row in rows), any(row.imported for row in rows))


def without(scope: Mapping[str, Any], *names: str) -> Scope:
    """Return a scope without some of its parts, such as the judge."""
    return {name: value for name, value in scope.items() if name not in names}


def adjusted_by_holm(estimates: list[Estimate]) -> Iterator[tuple[Estimate, float | None]]:
    """Yield each estimate, its method naming the correction, with its adjusted p."""
    for raw, adjusted in zip(estimates, holm_over(estimates), strict=True):
        yield replace(raw, method=adjusted.method), adjusted.p


def adjusted_by_benjamini_hochberg(
    estimates: Sequence[Estimate],
) -> Iterator[tuple[Estimate, float | None]]:
    """Yield each estimate, its method naming the correction, with its adjusted p."""
    p_values = [estimate.p for estimate in estimates if estimate.p is not None]
    adjusted = iter(benjamini_hochberg(p_values))
    note = f"; Benjamini-Hochberg over {len(p_values)}"
    for estimate in estimates:
        if estimate.p is None:
            yield estimate, None
        else:
            yield replace(estimate, method=estimate.method + note), next(adjusted)


def generator_of(metric: str, scope: Scope) -> np.random.Generator:
    """Return a generator that the same figure of the same rows seeds alike.

    Whatever their files are called, which windows and settings are named by.
    """
    of = without(scope, "window", "setting")
    return np.random.default_rng(derive_seed("analysis", metric, of))


def comparison_groups(data: SweepData) -> list[Group]:
    """Return the groups of a sweep, in the order of their scopes; no two scopes are equal."""
    members: dict[str, list[SweepJudge]] = defaultdict(list)
    for judge in data.judges:
        members[setting_of(judge.experiment)].append(judge)
    scopes = _scopes({key: judges[0] for key, judges in members.items()})
    groups = [
        Group(scopes[key], tuple(sorted(judges, key=lambda judge: judge.model)), data)
        for key, judges in members.items()
    ]
    return sorted(groups, key=lambda group: canonical_json(group.scope))


def scopes_of(groups: Iterable[Group]) -> dict[str, Scope]:
    """Return experiment key → the scope of its group."""
    return {judge.experiment.key: group.scope for group in groups for judge in group.judges}


def setting_of(experiment: Experiment) -> str:
    """Return the key that experiments share when they differ in nothing but the judge."""
    return experiment.model_copy(update={"tag": "", "model": "-", "family": "-"}).key


def _scopes(first: Mapping[str, SweepJudge]) -> dict[str, Scope]:
    """Return the scope of each setting, told by one judge of it."""
    experiments = [judge.experiment for judge in first.values()]
    varying = [name for name in ("task_type", *_axes()) if _varies(name, experiments)]
    names = names_of_provided(experiments)
    scopes = {
        key: {
            "concept": judge.experiment.concept,
            "country": judge.experiment.country,
            "window": judge.window,
            "rubric": rubric_level(judge.experiment, names),
            **{name: level_of(judge.experiment, name) for name in varying},
        }
        for key, judge in first.items()
    }
    seen = Counter(canonical_json(scope) for scope in scopes.values())
    # Settings can differ in what no scope shows, such as the source of the truth.
    return {
        key: scope if seen[canonical_json(scope)] == 1 else {**scope, "setting": key[:8]}
        for key, scope in scopes.items()
    }


def _axes() -> list[str]:
    return [axis.name for axis in axes() if axis.name not in NOT_IN_SCOPE]


def _varies(name: str, experiments: Iterable[Experiment]) -> bool:
    return len({level_of(experiment, name) for experiment in experiments}) > 1
