"""Judge scores on the scale of the truth, by the rising curve that fits a labelled slice best.

It calibrates a judge to an oracle and tests nothing: the curve rises by construction, whether the
judge is any good or not. The mean over all items is for `correction.prediction_powered_mean`.
"""

from dataclasses import dataclass

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.estimate import Estimate, not_estimable, with_interval
from judge_gym.metrics.intervals import LEVEL, t_quantile

RESAMPLES = 500
MIN_LABELLED = 5
POINTS = 11


@dataclass(frozen=True, eq=False)
class IsotonicCurve:
    """The truth to be expected at the judge's scores `at`, ascending; lines between them."""

    at: FloatArray
    truth: list[Estimate]


def isotonic_calibration(
    expert: FloatArray, judge: FloatArray, rng: np.random.Generator
) -> IsotonicCurve:
    """Return the least-squares rising curve of `expert` over `judge`, read at 11 even scores.

    Both hold one entry per labelled item; the curve is in the unit of the expert's scores and is
    read from the judge's lowest labelled score to its highest. Intervals resample items and take
    the further end of the t and the percentile interval, cut to the range of the expert's scores:
    a curve of steps is uneven, and they still hold the truth in about 90% of slices (measured at
    15 to 100 items), not 95%. Needs 5 labelled items; with fewer, or one judge score for all, the
    curve is one figure that says so. Source: Barlow et al. 1972, by pool-adjacent-violators.
    """
    n, metric = len(expert), "isotonic_truth"
    because = ""
    if n < MIN_LABELLED:
        because = f"it needs {MIN_LABELLED} labelled items, and there are {n}"
    elif not np.ptp(judge):
        because = "the judge gives every labelled item the same score"
    if because:
        return IsotonicCurve(judge[:1], [not_estimable(metric, because, n=n, n_items=n)])
    at = np.linspace(judge.min(), judge.max(), POINTS)
    levels, place = np.unique(judge, return_inverse=True)
    values = _curve(levels, place, expert, np.ones(n), at)
    drawn = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES).astype(np.float64)
    lower, upper = _ends(values, np.stack([_curve(levels, place, expert, w, at) for w in drawn]), n)
    bounds = (float(expert.min()), float(expert.max()))
    method = "isotonic regression; t and percentile interval, the wider end, items resampled"
    figures = [
        with_interval(Estimate(metric, value, None, None, n, n, method=method), (low, high), bounds)
        for value, low, high in zip(values.tolist(), lower, upper, strict=True)
    ]
    return IsotonicCurve(at, figures)


def _ends(values: FloatArray, curves: FloatArray, n: int) -> tuple[list[float], list[float]]:
    """Return the lower and upper ends at each score, from curves of resampled items."""
    half = t_quantile(n - 1) * curves.std(axis=0, ddof=1) * (n / (n - 1)) ** 0.5
    low, high = np.quantile(curves, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return np.minimum(values - half, low).tolist(), np.maximum(values + half, high).tolist()


def _curve(
    levels: FloatArray, place: IntArray, expert: FloatArray, weight: FloatArray, at: FloatArray
) -> FloatArray:
    """Return the curve at `at` under item weights."""
    from scipy.optimize import isotonic_regression

    # Items of one score share one value, so they enter as their weighted mean.
    total = np.bincount(place, weights=weight, minlength=len(levels))
    drawn = total > 0
    mean = np.bincount(place, weights=weight * expert, minlength=len(levels))[drawn] / total[drawn]
    fitted = isotonic_regression(mean, weights=total[drawn]).x
    return np.asarray(np.interp(at, levels[drawn], fitted))
