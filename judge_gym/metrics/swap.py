"""Swap sensitivity: what a rival's rubric (or a sham one) does to confidence and verdicts.

For one pair, pass the samples of one judge (`of_judges`); several judges are averaged within
the item. The sham arm, a second rubric of the judge's own, takes the same functions with
`Arm.SHAM`, and shows what "another rubric" alone does. Adjust over pairs with
`inference.holm_over`.
"""

from dataclasses import replace
from enum import StrEnum

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, Probes, Verdicts, scores
from judge_gym.metrics.contrasts import paired_contrast, score_shift
from judge_gym.metrics.estimate import (
    UNIT_INTERVAL,
    Estimate,
    caution_below,
    mean_over_items,
    not_estimable,
)
from judge_gym.metrics.inference import (
    PERMUTATIONS,
    permutation_p,
    segment_means,
    shuffles_within,
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
    both = ((own.sizes() > 0) & (other.sizes() > 0)).ravel()
    if not both.any():
        because = "no judge has verdicts of one item under both rubrics"
        return not_estimable(metric, because, unit=unit)
    cell, segment, score = _side_by_side(own, other, both)
    observed = _absolute_differences(score, segment)
    _, item, judges = np.unique(
        np.flatnonzero(both) % own.n_items, return_inverse=True, return_counts=True
    )
    weight = 1 / judges[item]
    null = np.concatenate(
        [
            _absolute_differences(score[order], segment) @ weight / len(judges)
            for order in shuffles_within(cell, rng, permutations)
        ]
    )
    per_item = np.bincount(item, observed * weight).astype(np.float64)
    estimate = mean_over_items(metric, per_item, n=len(cell), unit=unit, bounds=UNIT_INTERVAL)
    method = "mean over items, t interval; floor and p by permutation within cells"
    p = permutation_p(float(per_item.mean()), null)
    return caution_below(
        replace(estimate, floor=float(null.mean()), p=p, method=method), ADVISED_ITEMS
    )


def _side_by_side(
    own: Verdicts, other: Verdicts, both: BoolArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return cell, segment (2·cell + rubric, ascending) and score (n, 1) of the cells in `both`."""
    cell = np.concatenate([own.cell, other.cell])
    segment = 2 * cell + np.repeat([0, 1], [len(own), len(other)])
    score = np.concatenate([scores(own), scores(other)])
    rows = np.argsort(segment, kind="stable")
    rows = rows[both[cell[rows]]]
    return cell[rows], segment[rows], score[rows][:, None]


def _absolute_differences(score: FloatArray, segment: IntArray) -> FloatArray:
    """Return |other - own| per cell, (..., cells), from scores sorted into cell and rubric."""
    means = segment_means(score, segment)[..., 0]
    return np.abs(means[..., 1::2] - means[..., 0::2])
