"""Position and label bias: does a verdict follow where a stage stands, or which letter it has?

Identified only while display varies between the replicates of a cell: with a fixed order, the
first stage and the first position are one thing. What a fixed display does to the scores is
then the paired `contrasts.score_shift` between experiments with and without randomisation.
"""

from dataclasses import dataclass, replace

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray, Samples, item_means
from judge_gym.metrics.dealing import by_layout, deals_of_each, one_of_each, shuffles
from judge_gym.metrics.estimate import SIGNED_UNIT, Estimate, mean_over_items, not_estimable
from judge_gym.metrics.inference import PERMUTATIONS, permutation_p


@dataclass(frozen=True, kw_only=True, eq=False)
class Displays(Samples):
    """Scored point verdicts with what they were shown: stages are numbered 1..`n_stages`.

    `stage` is the verdict, `shown_first` the stage displayed first, `lettered_a` the stage that
    carried the letter A, all per sample.
    """

    stage: IntArray
    shown_first: IntArray
    lettered_a: IntArray
    n_stages: int


def position_bias(
    displays: Displays, rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> Estimate:
    """Return the share of verdicts for the stage displayed first, beyond what is due; in [-1, 1].

    Due without bias is the mean over the permutations of displays within cells: 0 remains of a
    judge that does not see the order, also where a stage (a tie) can never stand first. Of a
    judge that follows the order with probability b, b·(1 - 1/S) remains where the order is drawn
    at random, and b/2 of pairs shown in both orders. t interval over items; one-sided p by those
    permutations. Needs a cell whose displays differ.
    """
    return _bias("position_bias", displays, displays.shown_first, rng, permutations)


def label_bias(
    displays: Displays, rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> Estimate:
    """Return the share of verdicts for the stage lettered A, beyond what is due; in [-1, 1].

    As `position_bias`, with letters for places.
    """
    return _bias("label_bias", displays, displays.lettered_a, rng, permutations)


def _bias(
    metric: str,
    displays: Displays,
    marked: IntArray,
    rng: np.random.Generator,
    permutations: int,
) -> Estimate:
    """Return the excess share of verdicts at the marked stage.

    Of each cell: its share of hits less the mean share over all permutations of its displays,
    averaged over the judges of an item, then over items. One-sided p: displays are permuted
    within the cell while verdicts stay, which holds each cell's distribution of stages fixed.
    """
    order = np.argsort(displays.cell, kind="stable")
    rows, marked = displays.rows(order), marked[order]
    if not _varies(marked, rows.cell):
        because = "the display does not vary between the replicates of any cell"
        return not_estimable(metric, because, n=len(rows), unit="share")
    hits = (marked == rows.stage).astype(np.float64)
    weight = _weights(rows)
    null = _dealt_hits(rows, marked, weight, rng, permutations)
    cells = rows.means((hits - _due(rows, marked, rows.stage)) * _spread(rows, marked, weight))
    per_item, _ = item_means(cells.value, cells.present)
    estimate = mean_over_items(metric, per_item, n=len(rows), unit="share", bounds=SIGNED_UNIT)
    method = "share less its mean under permutation within cells (p too), t interval over items"
    return replace(estimate, p=permutation_p(float(hits @ weight), null), method=method)


def _due(rows: Displays, marked: IntArray, stage: IntArray) -> FloatArray:
    """Return, for each sample, the share of its cell's displays that mark its `stage`."""
    _, cell = np.unique(rows.cell, return_inverse=True)
    width = rows.n_stages + 1
    counts = np.bincount(cell * width + marked, minlength=(cell.max() + 1) * width)
    return np.asarray(counts[cell * width + stage] / np.bincount(cell)[cell])


def _spread(rows: Displays, marked: IntArray, weight: FloatArray) -> float:
    """Return how much more displays vary over all cells than within one.

    A few displays drawn at random repeat themselves, so that permuting them undoes too little of
    a bias: 1 - 1/n of it, for n displays of a cell. The variance of a mark falls short alike.
    """
    overall = np.bincount(marked, weights=weight)
    return float((1 - (overall**2).sum()) / (1 - weight @ _due(rows, marked, marked)))


def _dealt_hits(
    rows: Displays,
    marked: IntArray,
    weight: FloatArray,
    rng: np.random.Generator,
    permutations: int,
) -> FloatArray:
    """Return the weighted hits of each deal of the marked stages within the cells (ascending)."""
    cells, starts, sizes = np.unique(rows.cell, return_index=True, return_counts=True)
    stage, total = rows.stage.astype(np.uint32), np.zeros(permutations)
    deals = deals_of_each(len(cells), permutations)
    for (size,), chosen in by_layout(sizes[:, None]):
        place = starts[chosen][:, None] + np.arange(size)
        hits = np.empty((len(chosen), deals), dtype=np.float32)
        for groups, columns, dealt in shuffles(marked[place], rows.n_stages + 1, deals, rng):
            hits[groups, columns] = (dealt == stage[place[groups]][:, None]).sum(axis=-1)
        total += one_of_each(hits, weight[starts[chosen]], permutations, rng)
    return total


def _weights(rows: Samples) -> FloatArray:
    """Return each sample's weight in the mean over items of judges' cell means; they sum to 1."""
    sizes = rows.sizes()
    judges = (sizes > 0).sum(axis=0)
    items = int((judges > 0).sum())
    return np.asarray(1 / (items * judges[rows.item] * sizes[rows.judge, rows.item]))


def _varies(marked: IntArray, cell: IntArray) -> bool:
    """Return whether two neighbours of one cell differ in their marked stage."""
    return bool(((marked[1:] != marked[:-1]) & (cell[1:] == cell[:-1])).any())
