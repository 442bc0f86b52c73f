"""Judge scores on the scale of the truth, by the rising curve that fits a labelled slice best.

It is for reading and tests nothing: the curve rises by construction, whether the judge is any good
or not. The mean over all items is for `correction.prediction_powered_mean`.
"""

from dataclasses import dataclass

import numpy as np

from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate, not_estimable

MIN_LABELLED = 20
POINTS = 11
_NO_INTERVAL = "no interval"


@dataclass(frozen=True, eq=False)
class IsotonicCurve:
    """The truth to be expected at the judge's scores `at`, ascending; lines between them."""

    at: FloatArray
    truth: list[Estimate]


def isotonic_calibration(expert: FloatArray, judge: FloatArray) -> IsotonicCurve:
    """Return the least-squares rising curve of `expert` over `judge`, read at 11 even scores.

    Both hold one entry per labelled item; the curve is in the unit of the expert's scores and is
    read from the judge's lowest labelled score to its highest. It has no interval: resampling is
    not consistent for it, and held the truth in 61 to 83% of slices whose labels lie at an end of
    the scale. Needs 20 labelled items; with fewer, or one judge score for all, the curve is one
    figure that says so. Source: Barlow et al. 1972, by pool-adjacent-violators.
    """
    from scipy.optimize import isotonic_regression

    n, metric = len(expert), "isotonic_truth"
    because = ""
    if n < MIN_LABELLED:
        because = f"it needs {MIN_LABELLED} labelled items, and there are {n}"
    elif not np.ptp(judge):
        because = "the judge gives every labelled item the same score"
    if because:
        return IsotonicCurve(judge[:1], [not_estimable(metric, because, n=n, n_items=n)])
    # Items of one score share one value, so they enter as their mean.
    levels, place, count = np.unique(judge, return_inverse=True, return_counts=True)
    mean = np.bincount(place, weights=expert) / count
    at = np.linspace(levels[0], levels[-1], POINTS)
    values = np.interp(at, levels, isotonic_regression(mean, weights=count.astype(np.float64)).x)
    method = "isotonic regression"
    figures = [
        Estimate(metric, value, None, None, n, n, method=method, reason=_NO_INTERVAL)
        for value in values.tolist()
    ]
    return IsotonicCurve(at, figures)
