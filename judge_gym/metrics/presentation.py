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
    permutation_null,
    permutations_per_group,
    sampled_sums,
    shuffles,
)

ADVISED_ITEMS = 15


class SwapArm(StrEnum):
    """Which rubric replaced the judge's own."""

    SWAP = "swap"
    SHAM = "sham"


def swap_sensitivity(
    own: Probes, other: Probes, rng: np.random.Generator, arm: SwapArm = SwapArm.SWAP
) -> Estimate:
    """Return mean probe under the other rubric - mean probe under the own one, in [-1, 1].

    Negative: the judge is less sure that experts would agree. Paired per (judge, item); paired
    t interval and exact sign-flip p. 15 items advised, 34 to find d_z = 0.5.
    """
    metric = f"{arm.value}_sensitivity"
    effect = paired_contrast(metric, own.confidence(), other.confidence(), rng, "probability")
    return caution_below(effect, ADVISED_ITEMS)


def verdict_shift(
    own: Verdicts, other: Verdicts, rng: np.random.Generator, arm: SwapArm = SwapArm.SWAP
) -> Estimate:
    """Return the mean signed move of the verdict on the 0-1 scale, other - own, in [-1, 1]."""
    return caution_below(score_shift(f"{arm.value}_verdict_shift", own, other, rng), ADVISED_ITEMS)


def verdict_change(
    own: Verdicts,
    other: Verdicts,
    rng: np.random.Generator,
    arm: SwapArm = SwapArm.SWAP,
    permutations: int = PERMUTATIONS,
) -> Estimate:
    """Return the mean over items of |mean score under the other rubric - under the own|.

    On the 0-1 scale, in [0, 1]. Noise alone makes it positive: `floor` is its mean, and `p` its
    upper tail, when the samples of a cell are permuted between the two rubrics. Interval: t
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
    null = permutation_null(
        cells, partial(_absolute_difference, own.n_stages), rng, permutations, weight
    )
    samples = np.where(both, own.sizes() + other.sizes(), 0).sum(axis=0)
    estimate = mean_over_items(
        metric, per_item, n=samples[kept], unit=unit, bounds=UNIT_INTERVAL, items=kept
    )
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
    """Return |mean score first - second| of distributions (permutations, 2, stages)."""
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
    """Return the excess share of verdicts for the stage displayed first, in [-1, 1].

    The share expected without bias is the mean over permutations of displays within cells. The
    excess is 0 for a judge that ignores the order, also where a stage (a tie) is never first. For
    a judge that follows the order with probability b it is b·(1 - 1/S) with a random order, and
    b/2 for pairs shown in both orders. t interval over items; one-sided p by those
    permutations. Needs a cell whose displays differ.
    """
    return _bias("position_bias", displays, displays.shown_first, rng, permutations)


def label_bias(
    displays: Displays, rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> Estimate:
    """Return the excess share of verdicts for the stage with the letter A, in [-1, 1].

    As `position_bias`, for letters instead of positions.
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
    within the cell while verdicts stay, which keeps each cell's distribution of stages.
    """
    order = np.lexsort((displays.stage, marked, displays.cell))
    rows, marked = displays.rows(order), marked[order]
    if not _varies(marked, rows.cell):
        because = "the display does not vary between the replicates of any cell"
        return not_estimable(metric, because, n=len(rows), unit="share")
    hits = (marked == rows.stage).astype(np.float64)
    weight = _weights(rows)
    null = _permuted_hits(rows, marked, weight, rng, permutations)
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

    Permuting n random displays of a cell removes only 1 - 1/n of a bias, because displays repeat.
    The variance of a mark within a cell is too small by the same factor.
    """
    overall = np.bincount(marked, weights=weight)
    return float((1 - (overall**2).sum()) / (1 - weight @ _due(rows, marked, marked)))


def _permuted_hits(
    rows: Displays,
    marked: IntArray,
    weight: FloatArray,
    rng: np.random.Generator,
    permutations: int,
) -> FloatArray:
    """Return the weighted hits of each permutation of marked stages within cells (ascending)."""
    cells, starts, sizes = np.unique(rows.cell, return_index=True, return_counts=True)
    stage, total = rows.stage.astype(np.uint32), np.zeros(permutations)
    per_group = permutations_per_group(len(cells), permutations)
    for (size,), chosen in by_layout(sizes[:, None]):
        place = starts[chosen][:, None] + np.arange(size)
        hits = np.empty((len(chosen), per_group), dtype=np.float32)
        for groups, columns, permuted in shuffles(marked[place], rows.n_stages + 1, per_group, rng):
            hits[groups, columns] = (permuted == stage[place[groups]][:, None]).sum(axis=-1)
        total += sampled_sums(hits, weight[starts[chosen]], permutations, rng)
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
