"""Figures over the facets of a sweep: total error, variance by facet, what to buy next, votes.

Groups that differ in nothing but a facet (the wording, the draw of the rubric) are one measurement
repeated. Figures over them have no entry of the facet in their scope.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from judge_gym.analysis.data import Origin, SweepData, select
from judge_gym.analysis.groups import Group, Scope, result_row
from judge_gym.analysis.judges import is_subset, known_truth
from judge_gym.design.axes import axes
from judge_gym.metrics.accuracy import ADVISED_ITEMS
from judge_gym.metrics.cells import FloatArray, IntArray, scores
from judge_gym.metrics.estimate import (
    Estimate,
    ItemValues,
    Remark,
    RemarkKind,
    caution_below,
    not_estimable,
    t_interval,
)
from judge_gym.metrics.facets import (
    DRAW,
    HIGHEST_VARIANCE,
    ITEM,
    JUDGE,
    WORDING,
    FacetCells,
    NextStep,
    Table,
    complete_table,
    facet_components,
    half_width,
    next_steps,
    total_error,
)
from judge_gym.metrics.score_agreement import effective_votes, votes_between_families
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow
from judge_gym.store.sweep_data import Asked

FACETS = {axis.name: axis.name for axis in axes() if axis.facet} | {
    "wording": WORDING,
    "rubric_draw": DRAW,
}
"""Axis → the name of its facet."""
TARGET = 0.8
"""The half-width that a next step is to reach, as a share of the present one."""

Measured = list[tuple[Group, ResultRow, ItemValues]]


def over_facets(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield each mean over items again, over all levels of the facets, with its total error."""
    measured: dict[str, Measured] = defaultdict(list)
    for group in groups:
        for row, values in group.measured:
            key = canonical_json([row.metric, _without_facets(row.scope)])
            measured[key].append((group, row, values))
    for same in measured.values():
        varying = _varying([group for group, _, _ in same])
        if varying:
            yield _over_levels(same, varying)


def averaged(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Return the rows without those of one level whose figure over all levels is there."""
    whole = {(row.metric, row.scope_key) for row in rows}

    def repeated(row: ResultRow) -> bool:
        rest = _without_facets(row.scope)
        return rest != row.scope and (row.metric, canonical_json(rest)) in whole

    return [row for row in rows if not repeated(row)]


def _without_facets(scope: Scope) -> Scope:
    return {name: value for name, value in scope.items() if name not in FACETS}


def _varying(groups: Sequence[Group]) -> dict[str, list[Any]]:
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
    return result_row(estimate, _without_facets(rows[0].scope), origin)


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


@dataclass(frozen=True, eq=False)
class _Scored:
    """Scored samples of groups that differ in facets alone: a value and a code per facet each.

    `known` says whether the value is 1 for a verdict at the known answer, else the 0-1 score.
    """

    names: tuple[str, ...]
    codes: tuple[IntArray, ...]
    values: FloatArray
    known: bool


def variances(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the variance of single scores by facet, and what more levels of each would buy."""
    for same in _repeated(groups):
        arms = [own for group in same for own in group.own_arms]
        scope = _without_facets(same[0].scope)
        suffix, origin = same[0].mixed, data.origin_of(arms)
        scored = _scored(same)
        components, known = facet_components(
            FacetCells.of(scored.names, scored.codes, scored.values), HIGHEST_VARIANCE
        )
        of = "share correct" if scored.known else "0-1 score"
        for component in components:
            named = replace(
                component,
                metric=f"variance_component{suffix}",
                method=f"{component.method}; of the {of}",
            )
            yield result_row(named, {**scope, "term": component.metric}, origin)
        if known is None:
            continue
        now = half_width(known, known.sizes, known.replicates)
        asked = [judge.asked for group in same for judge in group.judges]
        for step in next_steps(known, TARGET * now):
            for estimate in _bought(step, asked, len(scored.values)):
                named = replace(estimate, metric=estimate.metric + suffix)
                yield result_row(named, {**scope, "part": step.facet}, origin)
        width = Estimate(
            f"half_width{suffix}", now, None, None, len(scored.values), known.sizes[ITEM],
            method=f"expected half-width of the 95% interval of the mean {of}, all facets random",
            unit=of,
        )  # fmt: skip
        yield result_row(width, scope, origin)


def _repeated(groups: Sequence[Group]) -> list[list[Group]]:
    """Return the groups in sets that differ in facets alone."""
    same: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        same[canonical_json(_without_facets(group.scope))].append(group)
    return list(same.values())


def _scored(same: Sequence[Group]) -> _Scored:
    """Return the scored samples of the own arms of these groups, by item, judge and facet."""
    varying = _varying(same)
    models = sorted({group.judges[place].model for group in same for place in group.present})
    known = all(_truth(group) is not None for group in same)
    columns: list[tuple[IntArray, ...]] = []
    values = []
    for group in same:
        verdicts, truth = group.own, _truth(group)
        judge = np.array(
            [models.index(one.model) if one.model in models else 0 for one in group.judges]
        )
        kept = np.ones(len(verdicts), dtype=np.bool_)
        value = scores(verdicts)
        if known and truth is not None:
            kept = truth[verdicts.item] > 0
            value = (verdicts.stages == 1 << np.maximum(truth[verdicts.item] - 1, 0)).astype(float)
        experiment = group.judges[0].experiment
        levels = [
            np.full(int(kept.sum()), of.index(getattr(experiment, axis)))
            for axis, of in varying.items()
        ]
        columns.append((group.items[verdicts.item[kept]], judge[verdicts.judge[kept]], *levels))
        values.append(value[kept])
    item, *codes = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    names = [ITEM, JUDGE, *(FACETS[axis] for axis in varying)]
    codes = [np.unique(item, return_inverse=True)[1], *codes]
    used = [place for place, name in enumerate(names) if name != JUDGE or len(models) > 1]
    return _Scored(
        tuple(names[place] for place in used),
        tuple(codes[place].astype(np.int64) for place in used),
        np.concatenate(values),
        known,
    )


def _truth(group: Group) -> IntArray | None:
    """Return the true stage of each item, 0 where unknown; None of sets and without answers."""
    return None if is_subset(group) else known_truth(group, 0)


def _errors(group: Group, truth: IntArray) -> FloatArray:
    """Return the share of wrong answers, items x present judges, on items of known truth.

    Without a verdict an answer about a pair is wrong, as in `accuracy_of_all`; about other items it
    is none, so that an abstention is no error.
    """
    judge, rows = select(group.data.samples, [group.own_arms[place] for place in group.present])
    item = np.searchsorted(group.items, rows.item)
    answered = (rows.stages > 0) | group.judges[0].experiment.judges_pairs
    wrong = answered & (rows.stages != 1 << np.maximum(truth[item] - 1, 0))
    counts = np.zeros((2, len(group.items), len(group.present)))
    for count, among in zip(counts, (wrong, answered), strict=True):
        np.add.at(count, (item, judge), among)
    known = (truth > 0) & (counts[1] > 0).all(axis=1)
    shares: FloatArray = counts[0, known] / counts[1, known]
    return shares


def _bought(step: NextStep, asked: Sequence[Asked], n: int) -> Iterator[Estimate]:
    """Yield the levels of a facet that reach the target, and what they add to ask and to pay.

    In proportion to what the judges were asked, whether or not it could be read: every item, arm
    and probe of theirs.
    """
    levels, more, probes, cost = (
        ("next_step_levels", "levels"),
        ("next_step_judgements", "judgements"),
        ("next_step_probes", "probes"),
        ("next_step_cost", "USD"),
    )
    if step.levels is None or step.share is None:
        for metric, unit in (levels, more, probes, cost):
            yield not_estimable(
                metric, "no number of them up to 100 times as many is enough", n=n, unit=unit
            )
        return
    method = f"fewest that bring the expected half-width to {TARGET:.0%} of the present one"
    yield Estimate(
        levels[0], float(step.levels), None, None, n, 0,
        floor=step.now, method=method, unit=levels[1],
    )  # fmt: skip
    method += "; in proportion to all judgements and probes of these judges"
    added = (
        (more, float(sum(one.judgements for one in asked))),
        (probes, float(sum(one.probes for one in asked))),
        (cost, _total_cost(asked)),
    )
    for (metric, unit), total in added:
        if total is None:
            because = "the price of a judgement or probe is not known"
            yield not_estimable(metric, because, n=n, unit=unit)
        else:
            value = step.share * total
            yield Estimate(metric, value, None, None, n, 0, method=method, unit=unit)


def _total_cost(asked: Sequence[Asked]) -> float | None:
    costs = [one.cost for one in asked if one.cost is not None]
    return sum(costs) if len(costs) == len(asked) else None


def votes(group: Group) -> Iterator[ResultRow]:
    """Yield the mean correlation of the judges' errors, and how many independent ones they make."""
    truth = _truth(group)
    if truth is not None:
        table = _errors(group, truth)
        figures = effective_votes(table, np.zeros(len(table)))
        # Of errors that are 0 or 1, few items hold few errors (decision 0026).
        figures = (
            caution_below(figures[0], ADVISED_ITEMS),
            caution_below(figures[1], ADVISED_ITEMS),
        )
    else:
        verdicts = group.own.of_judges(group.present)
        table = verdicts.means(scores(verdicts)).value[:, group.common].T
        names = [group.judges[place].experiment.family for place in group.present]
        family = np.unique(names, return_inverse=True)[1].astype(np.int64)
        figures = votes_between_families(table, family)
    for estimate in figures:
        yield group.across(estimate)
