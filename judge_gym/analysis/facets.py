"""Figures over the facets of a sweep, and their total error.

Groups that differ in nothing but a facet (the wording, the draw of the rubric) are one measurement
repeated. Figures over them have no entry of the facet in their scope.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import Any

import numpy as np

from judge_gym.analysis import registry
from judge_gym.analysis.data import SweepData, SweepJudge
from judge_gym.analysis.groups import (
    MIXED,
    Group,
    Scope,
    comparison_groups,
    origin_of_rows,
    result_row,
    setting_of,
    without,
)
from judge_gym.design.axes import axes, facets_of
from judge_gym.design.experiment import Experiment
from judge_gym.metrics.cells import IntArray, means_by, sums_by
from judge_gym.metrics.estimate import (
    EPSILON,
    Estimate,
    ItemValues,
    Remark,
    RemarkKind,
    not_estimable,
    remarked,
    t_interval,
)
from judge_gym.metrics.facets import (
    DRAW,
    ITEM,
    QUESTION,
    WORDING,
    FacetTable,
    complete_table,
    total_error,
)
from judge_gym.metrics.regression import few_degrees
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow
from judge_gym.store.sweep_data import FrozenItems

FACETS = {axis.name: axis.name for axis in axes() if axis.facet} | {
    "wording": WORDING,
    "rubric_draw": DRAW,
}
"""Axis → the name of its facet."""

Measured = list[tuple[Group, ResultRow, ItemValues]]


def pooled(data: SweepData) -> SweepData:
    """Return the data with judges that differ in facets alone as one, which has all their arms.

    Of the levels that the judges of a setting have in common: where one lacks a wording, a
    difference between them could be that of the wordings. Judges without a level in common stay as
    they are, and so does the whole data, the same object, where no facet varies. So do judges of
    pairs: an order of the answers is read beside the others of its wording.
    """
    varying = list(facets_of(judge.experiment for judge in data.judges))
    settings: dict[str, dict[str, list[SweepJudge]]] = defaultdict(lambda: defaultdict(list))
    for judge in data.judges:
        reset = _reset(judge.experiment, varying)
        settings[setting_of(reset)][reset.key].append(judge)
    found: list[SweepJudge] = []
    for members in settings.values():
        shared = _shared_levels(members.values())
        for judges in members.values():
            if shared and not judges[0].experiment.judges_pairs:
                at_shared = [one for one in judges if _level(one) in shared]
                found.append(_as_one(at_shared, _reset(judges[0].experiment, varying)))
            else:
                found += judges
    if len(found) == len(data.judges) and all(judge.levels == 1 for judge in found):
        return data
    return replace(data, judges=tuple(found))


def at_shared_levels(judges: Sequence[SweepJudge]) -> list[SweepJudge] | None:
    """Return pooled judges with the arms of the levels that all have; None where there is none."""
    shared = _shared_levels([judge.parts or [judge] for judge in judges])
    if not shared:
        return None

    def of(judge: SweepJudge) -> SweepJudge:
        parts = [part for part in judge.parts if _level(part) in shared]
        return judge if len(parts) == len(judge.parts) else _as_one(parts, judge.experiment)

    return list(map(of, judges))


def levels_apart(judges: Sequence[SweepJudge]) -> list[Remark]:
    """Return a remark on each facet of which pooled judges do not share every level."""
    every = [judge.parts or [judge] for judge in judges]
    remarks = []
    for place, facet in enumerate(_FIXED):
        sets = [{_level(part)[place] for part in parts} for parts in every]
        shared, all_levels = set.intersection(*sets), set.union(*sets)
        if len(shared) < len(all_levels):
            remarks.append(
                Remark(RemarkKind.SHARED_LEVELS, len(shared), len(all_levels), names=(facet,))
            )
    return remarks


_FIXED = tuple(name for name in FACETS if name != "rubric_draw")
"""Facets whose levels are the same wherever they occur: a draw of one rubric is none of another."""


def _reset(experiment: Experiment, varying: Iterable[str]) -> Experiment:
    """Return an experiment with these facets at their defaults, unless it judges pairs."""
    if experiment.judges_pairs:
        return experiment
    common = {name: Experiment.model_fields[name].default for name in varying}
    return experiment.model_copy(update={"tag": "", **common})


def _level(judge: SweepJudge) -> tuple[Any, ...]:
    return tuple(getattr(judge.experiment, name) for name in _FIXED)


def _shared_levels(every: Iterable[Sequence[SweepJudge]]) -> set[tuple[Any, ...]]:
    return set.intersection(*({_level(judge) for judge in judges} for judges in every))


def _as_one(levels: Sequence[SweepJudge], experiment: Experiment) -> SweepJudge:
    return replace(
        levels[0],
        experiment=experiment,
        arms=tuple(arm for level in levels for arm in level.arms),
        not_applied=tuple(dict.fromkeys(axis for level in levels for axis in level.not_applied)),
        unswapped=frozenset[int]().union(*(level.unswapped for level in levels)),
        served=tuple(served for level in levels for served in level.served),
        frozen=frozenset[FrozenItems]().union(*(level.frozen for level in levels)),
        parts=tuple(levels),
    )


def is_pooled(group: Group) -> bool:
    """Return whether a judge of the group is one over several levels."""
    return any(judge.levels > 1 for judge in group.judges)


def marked_levels(groups: Sequence[Group], pooled: Sequence[Group]) -> list[Group]:
    """Return the groups, marked where they are one level of a pooled group."""
    whole = {canonical_json(group.scope) for group in pooled}
    return [
        replace(group, is_level=canonical_json(without_facets(group.scope)) in whole)
        for group in groups
    ]


@dataclass(frozen=True)
class PooledGroups:
    """The groups of a sweep, over all levels of its facets and level by level."""

    data: SweepData
    """With judges that differ in facets alone as one."""
    over_levels: Sequence[Group]
    """Of these data, whether a facet varies in them or not."""
    levels: Sequence[Group]

    @property
    def pooled(self) -> list[Group]:
        """Those of which a judge is one over several levels."""
        return [group for group in self.over_levels if is_pooled(group)]

    @property
    def described(self) -> list[Group]:
        """The levels that have figures of their own.

        A draw of the rubric for each sample is a replicate, and no level.
        """
        return [group for group in self.levels if not group.pooled_only]


def pooled_groups(data: SweepData) -> PooledGroups:
    """Return the groups of a sweep with and without the levels of its facets."""
    whole, groups = pooled(data), comparison_groups(data)
    over_levels = groups if whole is data else comparison_groups(whole)
    varying = [group for group in over_levels if is_pooled(group)]
    replicated = bool(varying) and has_replicates(data)
    levels = [
        replace(group, pooled_only=not replicated and is_draw(group))
        for group in marked_levels(groups, varying)
    ]
    return PooledGroups(whole, over_levels, levels)


def is_draw(group: Group) -> bool:
    """Return whether the group is one draw of a rubric, of several that are pooled."""
    return group.is_level and "rubric_draw" in group.scope


def with_total_error(rows: Iterable[ResultRow], totals: Iterable[ResultRow]) -> Iterator[ResultRow]:
    """Yield the rows of pooled groups, those that are means over items with their total error.

    `totals` are of `over_facets`. Figures of tables `of_all_samples` stay those of the pooled
    samples, with any number of replicates: their mean over levels is another figure.
    """
    names = {name for table in registry.tables() if table.of_all_samples for name in table.names}
    found = {
        (row.metric, row.scope_key): row
        for row in totals
        if row.metric.removesuffix(MIXED) not in names
    }
    for row in rows:
        total = found.pop((row.metric, row.scope_key), None)
        if total is None or total.lower is None:
            yield row
        else:
            yield total
    yield from found.values()


def has_replicates(data: SweepData) -> bool:
    """Return whether a judge has several samples of an item under one rubric."""
    cells = data.samples.arm * len(data.truth.value) + data.samples.item
    return len(np.unique(cells)) < len(cells)


def over_facets(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield each mean over items again, over all levels of the facets, with its total error.

    Over the levels that all judges of a group have, as in `pooled`.
    """
    measured: dict[str, Measured] = defaultdict(list)
    for group in _at_shared_levels(groups):
        for row, values in group.measured:
            key = canonical_json([row.metric, without_facets(row.scope)])
            measured[key].append((group, row, values))
    for same in measured.values():
        varying = varying_facets([group for group, _, _ in same])
        if varying:
            yield _over_levels(same, varying)


def _at_shared_levels(groups: Sequence[Group]) -> Iterator[Group]:
    """Yield the groups of levels that all judges have that are compared with each other."""
    alike: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        alike[canonical_json(without_facets(group.scope))].append(group)
    for same in alike.values():
        models = {judge.model for group in same for judge in group.judges}
        by_level: dict[tuple[Any, ...], set[str]] = defaultdict(set)
        for group in same:
            for judge in group.judges:
                by_level[_level(judge)].add(judge.model)
        for group in same:
            of_pairs = group.judges[0].experiment.judges_pairs
            if of_pairs or by_level[_level(group.judges[0])] == models:
                yield group


def averaged(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Return the rows without those of one level whose figure over all levels is there."""
    whole = {(row.metric, row.scope_key) for row in rows}

    def repeated(row: ResultRow) -> bool:
        rest = without_facets(row.scope)
        return rest != row.scope and (row.metric, canonical_json(rest)) in whole

    return [row for row in rows if not repeated(row)]


def without_facets(scope: Scope) -> Scope:
    return without(scope, *FACETS)


def varying_facets(groups: Sequence[Group]) -> dict[str, list[Any]]:
    """Return the facets that vary between groups, with their levels."""
    levels = {
        axis: sorted({getattr(group.judges[0].experiment, axis) for group in groups})
        for axis in FACETS
    }
    return {axis: values for axis, values in levels.items() if len(values) > 1}


def _over_levels(same: Measured, varying: dict[str, list[Any]]) -> ResultRow:
    items = np.unique(np.concatenate([values.items for _, _, values in same]))
    table = np.full((len(items), *map(len, varying.values())), np.nan)
    samples = np.zeros(table.shape, dtype=np.int64)
    for group, _, values in same:
        place = [
            levels.index(getattr(group.judges[0].experiment, axis))
            for axis, levels in varying.items()
        ]
        cells: tuple[Any, ...] = (np.searchsorted(items, values.items), *place)
        table[cells], samples[cells] = values.values, values.n
    rows, unit = [row for _, row, _ in same], ITEM
    question = same[0][0].data.questions(items)
    if question is not None:  # answers to one question are no independent evidence
        unit, table, samples = QUESTION, means_by(question, table), sums_by(question, samples)
    names = (unit, *(FACETS[axis] for axis in varying))
    estimate = _total(rows, FacetTable(names, table), samples, same[0][2].bounds)
    of_verdicts = any(
        row.estimate is not None
        and not isclose(row.estimate, values.values.mean(), abs_tol=EPSILON)
        for _, row, values in same
    )
    if of_verdicts and estimate.estimate is not None:
        estimate = remarked(estimate, Remark(RemarkKind.ITEMS_ALIKE))
    return result_row(estimate, without_facets(rows[0].scope), origin_of_rows(rows))


def _total(
    rows: Sequence[ResultRow], table: FacetTable, samples: IntArray, bounds: tuple[float, float]
) -> Estimate:
    """Return the mean over items and levels, with both intervals, and the samples that it uses."""
    block, kept = complete_table(table)
    first, n = rows[0], int(samples[np.ix_(*kept)].sum())
    total, items = total_error(block), block.values.shape[0]
    if total is None:
        unit = table.names[0]
        because = f"no two {unit}s have a value of two {' and '.join(table.names[1:])}s"
        if block.values.size and min(block.values.shape) > 1:
            value, because = float(block.values.mean()), f"every {unit} gave the same value"
            return Estimate(
                first.metric, value, None, None, n, items, unit=first.unit, because=because
            )
        return not_estimable(first.metric, because, n=n, n_items=items, unit=first.unit)
    lower, upper = (float(np.clip(end, *bounds)) for end in total.interval)
    only = t_interval(block.values.mean(axis=tuple(range(1, block.values.ndim))))
    floors = [row.floor for row in rows if row.floor is not None]
    levels = " and ".join(f"{size} {name}s" for name, size in list(block.sizes.items())[1:])
    remarks = dict.fromkeys(remark for row in rows for remark in row.remarks)
    cut = [
        Remark(RemarkKind.BLOCK, size, of, (name,))
        for (name, size), of in zip(block.sizes.items(), table.values.shape, strict=True)
        if size < of
    ]
    at_zero = [Remark(RemarkKind.AT_ZERO, names=term) for term in total.at_zero]
    return Estimate(
        first.metric,
        float(block.values.mean()),
        lower,
        upper,
        n,
        items,
        floor=float(np.mean(floors)) if len(floors) == len(rows) else None,
        method=(
            f"mean over {table.names[0]}s and {levels}, all random; total error with "
            "Satterthwaite's df"
        ),
        unit=first.unit,
        remarks=(*remarks, *cut, *at_zero, *few_degrees(total.df)),
        items_lower=float(np.clip(only[0], *bounds)) if only else None,
        items_upper=float(np.clip(only[1], *bounds)) if only else None,
        df=total.df,
    )
