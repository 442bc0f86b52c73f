"""Figures over the facets of a sweep: total error, variance by facet, what to buy next, votes.

Groups that differ in nothing but a facet (the wording, the draw of the rubric) are one measurement
repeated. Figures over them have no entry of the facet in their scope.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from judge_gym.analysis.data import Origin, SweepData
from judge_gym.analysis.groups import Group, Scope, result_row
from judge_gym.design.axes import axes
from judge_gym.metrics.cells import IntArray
from judge_gym.metrics.estimate import (
    Estimate,
    ItemValues,
    Remark,
    RemarkKind,
    not_estimable,
    t_interval,
)
from judge_gym.metrics.facets import (
    DRAW,
    ITEM,
    WORDING,
    Table,
    complete_table,
    total_error,
)
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

FACETS = {axis.name: axis.name for axis in axes() if axis.facet} | {
    "wording": WORDING,
    "rubric_draw": DRAW,
}
"""Axis → the name of its facet."""

Measured = list[tuple[Group, ResultRow, ItemValues]]


def over_facets(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield each mean over items again, over all levels of the facets, with its total error."""
    measured: dict[str, Measured] = defaultdict(list)
    for group in groups:
        for row, values in group.measured:
            key = canonical_json([row.metric, without_facets(row.scope)])
            measured[key].append((group, row, values))
    for same in measured.values():
        varying = varying_facets([group for group, _, _ in same])
        if varying:
            yield _over_levels(same, varying)


def averaged(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Return the rows without those of one level whose figure over all levels is there."""
    whole = {(row.metric, row.scope_key) for row in rows}

    def repeated(row: ResultRow) -> bool:
        rest = without_facets(row.scope)
        return rest != row.scope and (row.metric, canonical_json(rest)) in whole

    return [row for row in rows if not repeated(row)]


def without_facets(scope: Scope) -> Scope:
    return {name: value for name, value in scope.items() if name not in FACETS}


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
    rows = [row for _, row, _ in same]
    names = (ITEM, *(FACETS[axis] for axis in varying))
    estimate = _total(rows, Table(names, table), samples, same[0][2].bounds)
    origin = Origin(any(row.simulated for row in rows), any(row.imported for row in rows))
    return result_row(estimate, without_facets(rows[0].scope), origin)


def _total(
    rows: Sequence[ResultRow], table: Table, samples: IntArray, bounds: tuple[float, float]
) -> Estimate:
    """Return the mean over items and levels, with both intervals, and the samples that it uses."""
    block, kept = complete_table(table)
    first, n = rows[0], int(samples[np.ix_(*kept)].sum())
    total, items = total_error(block), block.values.shape[0]
    if total is None:
        because = f"no two items have a value of two {' and '.join(table.names[1:])}s"
        if block.values.size and min(block.values.shape) > 1:
            because = "every item gave the same value under every one of them"
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
        method=f"mean over items and {levels}, all random; total error with Satterthwaite's df",
        unit=first.unit,
        remarks=(*remarks, *cut, *at_zero),
        items_lower=float(np.clip(only[0], *bounds)) if only else None,
        items_upper=float(np.clip(only[1], *bounds)) if only else None,
        df=total.df,
    )
