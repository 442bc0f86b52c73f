"""Paired effects: the same judge on the same items under two conditions.

It serves the swap and sham arms, the tone effect (raw against neutralized) and randomisation
switched on or off. Conditions are compared within a cell, never as two pools of samples.
"""

from dataclasses import replace

import numpy as np

from judge_gym.metrics.cells import CellMeans, FloatArray, Verdicts, item_means, mean_scores
from judge_gym.metrics.estimate import SIGNED_UNIT, Estimate, mean_over_items, not_estimable
from judge_gym.metrics.inference import sign_flip_p


def paired_contrast(
    metric: str, before: CellMeans, after: CellMeans, rng: np.random.Generator, unit: str
) -> Estimate:
    """Return `paired_difference` with the two-sided p of sign flips of the item differences."""
    estimate = paired_difference(metric, before, after, unit)
    if estimate.estimate is None:
        return estimate
    differences, _ = _differences(before, after)
    method = "mean paired difference over items, t interval; p by sign flips"
    return replace(estimate, p=sign_flip_p(differences, rng), method=method)


def paired_difference(metric: str, before: CellMeans, after: CellMeans, unit: str) -> Estimate:
    """Return the mean over items of (after - before), for values in [0, 1]; range [-1, 1].

    Differences are taken between cell means, only in cells that both conditions hold, and
    averaged over the judges of an item. Interval: paired t over items. Needs one shared item,
    two that differ for the interval.
    """
    if before.n.shape != after.n.shape:
        raise ValueError(f"{metric}: the conditions index different judges or items")
    differences, n = _differences(before, after)
    if not len(differences):
        return not_estimable(
            metric, "no judge has samples of one item under both conditions", unit=unit
        )
    return mean_over_items(metric, differences, n=n, unit=unit, bounds=SIGNED_UNIT)


def _differences(before: CellMeans, after: CellMeans) -> tuple[FloatArray, int]:
    """Return the difference of each item that both conditions hold, and the samples behind them."""
    both = before.present & after.present
    differences, _ = item_means(after.value - before.value, both)
    return differences, int(before.n[both].sum() + after.n[both].sum())


def score_shift(
    metric: str, before: Verdicts, after: Verdicts, rng: np.random.Generator
) -> Estimate:
    """Return the paired mean difference of verdicts on the 0-1 scale, after - before.

    Positive: `after` puts the same items higher on the scale. See `paired_contrast`.
    """
    return paired_contrast(metric, mean_scores(before), mean_scores(after), rng, "0-1 scale")
