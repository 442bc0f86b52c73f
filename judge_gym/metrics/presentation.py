"""Effects of what a judge is shown: a rival's rubric, the position and the letter of a stage.

Swap sensitivity takes the samples of one judge for one pair (`of_judges`); several judges are
averaged within the item. The sham arm, a second rubric of the judge's own, uses the same functions
with `Arm.SHAM` and shows the effect of any other rubric. Adjust over pairs with
`inference.holm_over`.

Position and label bias are identified only while the display varies between the replicates of a
cell: with a fixed order, first stage and first position are the same. The effect of a fixed display
on scores is `inference.score_shift` between experiments with and without randomisation.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

import numpy as np

from judge_gym.metrics.cells import (
    BoolArray,
    FloatArray,
    IntArray,
    Probes,
    Samples,
    Verdicts,
    item_means,
    mean_scores,
)
from judge_gym.metrics.estimate import (
    SIGNED_UNIT,
    UNIT_INTERVAL,
    Estimate,
    caution_below,
    mean_over_items,
    not_estimable,
)
from judge_gym.metrics.inference import PERMUTATIONS, paired_contrast, permutation_p, score_shift
from judge_gym.metrics.permutation import (
    SINGLE_EPSILON,
    by_layout,
    deal,
    deals_of_each,
    one_of_each,
    shuffles,
)

ADVISED_ITEMS = 15


class Arm(StrEnum):
    """Which rubric replaced the judge's own."""

    SWAP = "swap"
    SHAM = "sham"


def swap_sensitivity(
    own: Probes, other: Probes, rng: np.random.Generator, arm: Arm = Arm.SWAP
) -> Estimate:
    """Return mean probe under the other rubric - mean probe under the own one, in [-1, 1].

    Negative: the judge is less sure that experts would agree. Paired per (judge, item); paired
    t interval and exact sign-flip p. 15 items advised, 34 to find d_z = 0.5.
    """
    metric = f"{arm.value}_sensitivity"
    effect = paired_contrast(metric, own.confidence(), other.confidence(), rng, "probability")
    return caution_below(effect, ADVISED_ITEMS)


def verdict_shift(
    own: Verdicts, other: Verdicts, rng: np.random.Generator, arm: Arm = Arm.SWAP
) -> Estimate:
    """Return the mean signed move of the verdict on the 0-1 scale, other - own, in [-1, 1]."""
    return caution_below(score_shift(f"{arm.value}_verdict_shift", own, other, rng), ADVISED_ITEMS)


def verdict_change(
    own: Verdicts,
    other: Verdicts,
    rng: np.random.Generator,
    arm: Arm = Arm.SWAP,
    permutations: int = PERMUTATIONS,
) -> Estimate:
    """Return the mean over items of |mean score under the other rubric - under the own|.

    On the 0-1 scale, in [0, 1]. Noise alone makes it positive: `floor` is its mean, and `p` its
    upper tail, when the samples of a cell are dealt to the two rubrics at random. Interval: t
    over items. Needs one cell with both rubrics, and several replicates for a floor below it.
    """
    metric, unit = f"{arm.value}_verdict_change", "0-1 scale"
    if own.sizes().shape != other.sizes().shape:
        raise ValueError(f"{metric}: the rubrics index different judges or items")
    if own.n_stages != other.n_stages:
        raise ValueError(f"{metric}: the rubrics have scales of different length")
    both = (own.sizes() > 0) & (other.sizes() > 0)
    if not both.any():
        because = "no judge has verdicts of one item under both rubrics"
        return not_estimable(metric, because, unit=unit)
    moved = np.abs(mean_scores(other).value - mean_scores(own).value)
    per_item, kept = item_means(moved, both)
    # The weight of each cell in the mean over items: judges of one item share its weight.
    weight = (both / (np.maximum(both.sum(axis=0), 1) * kept.sum()))[both]
    cells = _side_by_side(own, other, both)
    null = deal(cells, partial(_absolute_difference, own.n_stages), rng, permutations, weight)
    estimate = mean_over_items(metric, per_item, n=len(cells), unit=unit, bounds=UNIT_INTERVAL)
    method = "mean over items, t interval; floor and p by permutation within cells"
    p = permutation_p(float(per_item.mean()), null.means, SINGLE_EPSILON)
    floor = float(weight @ null.per_item)
    return caution_below(replace(estimate, floor=floor, p=p, method=method), ADVISED_ITEMS)


def _side_by_side(own: Verdicts, other: Verdicts, both: BoolArray) -> Verdicts:
    """Return the verdicts of the cells in `both`: the cells as items, the two rubrics as judges."""
    cell = np.concatenate([own.cell, other.cell])
    rows = both.ravel()[cell]
    return Verdicts(
        judge=np.repeat([0, 1], [len(own), len(other)])[rows],
        item=(np.cumsum(both.ravel()) - 1)[cell[rows]],
        stages=np.concatenate([own.stages, other.stages])[rows],
        n_judges=2,
        n_items=int(both.sum()),
        n_stages=own.n_stages,
    )


def _absolute_difference(n_stages: int, p: FloatArray) -> FloatArray:
    """Return |mean score of the one - of the other|, of distributions (deals, 2, stages)."""
    scale = np.arange(n_stages, dtype=p.dtype) / (n_stages - 1)
    return np.asarray(np.abs((p[:, 1] - p[:, 0]) @ scale))


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
