"""Swap sensitivity: what a rival's rubric (or a sham one) does to confidence and verdicts.

For one pair, pass the samples of one judge (`of_judges`); several judges are averaged within
the item. The sham arm, a second rubric of the judge's own, takes the same functions with
`Arm.SHAM`, and shows what "another rubric" alone does. Adjust over pairs with
`inference.holm_over`.
"""

from dataclasses import replace
from enum import StrEnum
from functools import partial

import numpy as np

from judge_gym.metrics.cells import (
    BoolArray,
    FloatArray,
    Probes,
    Verdicts,
    item_means,
    mean_scores,
)
from judge_gym.metrics.contrasts import paired_contrast, score_shift
from judge_gym.metrics.dealing import SINGLE_EPSILON, deal
from judge_gym.metrics.estimate import (
    UNIT_INTERVAL,
    Estimate,
    caution_below,
    mean_over_items,
    not_estimable,
)
from judge_gym.metrics.inference import PERMUTATIONS, permutation_p

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
