"""A mean of judge scores corrected by a slice of items that experts scored as well."""

import numpy as np

from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate, not_estimable, with_interval
from judge_gym.metrics.intervals import EPSILON, normal_quantile

MIN_LABELLED = 2


def prediction_powered_mean(
    expert: FloatArray, judge: FloatArray, judge_alone: FloatArray, *, tuned: bool = True
) -> Estimate:
    """Return the experts' mean over all items, from few expert and many judge scores; their unit.

    λ · mean(judge_alone) + mean(expert - λ·judge): unbiased whatever the judge's errors are, as
    long as the labelled items (`expert`, `judge`: one entry each) are a random part. λ = 1, or
    the value that minimises the variance when `tuned`, so that a useless judge costs nothing.
    Normal interval. Needs two labelled items and two others. Sources: Angelopoulos et al. 2023,
    Science 382; Angelopoulos, Duchi and Zrnic 2023 for λ.
    """
    metric, few, many = "prediction_powered_mean", len(expert), len(judge_alone)
    if min(few, many) < MIN_LABELLED:
        because = f"it needs 2 labelled items and 2 others, and there are {few} and {many}"
        return not_estimable(metric, because, n=few + many, n_items=few + many)
    weight = _tuned_weight(expert, judge, judge_alone) if tuned else 1.0
    rectified = expert - weight * judge
    mean = float(weight * judge_alone.mean() + rectified.mean())
    variance = weight**2 * judge_alone.var() / many + rectified.var() / few
    half = normal_quantile() * float(variance) ** 0.5
    method = f"judge scores corrected by {few} labelled items, weight {weight:.2f}; normal interval"
    estimate = Estimate(metric, mean, None, None, few + many, few + many, method=method)
    return with_interval(estimate, (mean - half, mean + half) if half > EPSILON else None)


def _tuned_weight(expert: FloatArray, judge: FloatArray, judge_alone: FloatArray) -> float:
    """Return cov(expert, judge) / ((1 + n/N) · var(judge)), cut to [0, 1]."""
    spread = float(np.concatenate([judge, judge_alone]).var(ddof=1))
    if spread <= EPSILON:
        return 0.0
    shared = float(((expert - expert.mean()) * (judge - judge.mean())).mean())
    return float(np.clip(shared / ((1 + len(expert) / len(judge_alone)) * spread), 0.0, 1.0))
