"""The design space over the whole grid: what each level of an axis does, everything else equal."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from judge_gym.analysis.data import Judge, SweepData
from judge_gym.analysis.effects import AxisPair, axis_pairs
from judge_gym.analysis.groups import Group, generator_of, result_row
from judge_gym.metrics.cells import CellMeans, IntArray, item_means, mean_scores
from judge_gym.metrics.ranking import (
    ControlledPair,
    concept_correlations,
    controlled_pair,
    pool_pairs,
    rank_levels,
)
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

Cells = Callable[[SweepData, Judge, IntArray], CellMeans]
"""(data, judge, items) → one value per item, of the judge's own arm."""


def rankings(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the pooled effect of each change of an axis, and the share of pairs a level wins.

    A level wins a pair when its verdicts are the higher ones: no level is better for that, it
    says which way an axis moves verdicts, and how often.
    """
    for metric, cells, unit in (
        ("axis_effect", _scores, "0-1 scale"),
        ("axis_effect_confidence", _confidences, "probability"),
    ):
        pairs = [
            _controlled(data, pair, metric, cells, unit)
            for axis, members in axis_pairs(data, groups)
            for pair in members
        ]
        for pooled in pool_pairs(pairs):
            scope = {"axis": pooled.axis, "from": pooled.start, "to": pooled.end}
            spread = "" if pooled.spread is None else f"; spread over settings {pooled.spread:.3f}"
            estimate = replace(pooled.pooled, metric=metric, method=pooled.pooled.method + spread)
            yield result_row(estimate, scope, data.origin)
        if metric == "axis_effect":
            for rank in rank_levels(pairs):
                estimate = replace(rank.wins, metric="axis_share_higher")
                yield result_row(estimate, {"axis": rank.axis, "level": rank.level}, data.origin)


def concepts_compared(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the rank correlation of mean scores between concepts, over what both were judged by."""
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for group in groups:
        for judge in group.judges:
            cells = _scores(data, judge, group.items)
            per_item, _ = item_means(cells.value, cells.present)
            if len(per_item):
                experiment = judge.experiment.model_dump(
                    mode="json", exclude={"tag", "concept", "replicates", "window", "country"}
                )
                point = canonical_json([experiment, judge.experiment.window.key])
                values[judge.experiment.concept][point] = float(per_item.mean())
    for (first, second), estimate in concept_correlations(values).items():
        yield result_row(estimate, {"pair": f"{first} and {second}"}, data.origin)


def _controlled(
    data: SweepData, pair: AxisPair, metric: str, cells: Cells, unit: str
) -> ControlledPair:
    items = np.arange(len(data.truth.value))
    before, after = (cells(data, judge, items) for judge in (pair.before, pair.after))
    levels = (str(pair.scope["from"]), str(pair.scope["to"]))
    rng = generator_of(metric, pair.scope)
    setting = canonical_json(pair.scope)
    return controlled_pair(pair.scope["axis"], levels, setting, before, after, rng, unit)


def _scores(data: SweepData, judge: Judge, items: IntArray) -> CellMeans:
    return mean_scores(data.verdicts([judge.of_kind("own")], items, judge.experiment.scale_size))


def _confidences(data: SweepData, judge: Judge, items: IntArray) -> CellMeans:
    return data.answered([judge.of_kind("own")], items).confidence()
