"""Scores as a file has them, on a scale of their own: mean, distance and correlation.

Stages are steps. Scores with half points, or with more values than a rubric has stages, say more.
"""

from collections.abc import Iterator

import numpy as np

from judge_gym.metrics.accuracy import rank_correlation
from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.estimate import Estimate, mean_over_items

UNIT = "points as written"


def written_figures(item: IntArray, score: FloatArray, known: FloatArray) -> Iterator[Estimate]:
    """Yield the figures of a judge's scores, all in the points of the file.

    `item` and `score` are of judgements, `known` of items, NaN where it is not known.
    `written_mean`: mean by item, then over items; t interval over items. `written_error`: mean of
    |score - known|, taken alike. `written_correlation`: Spearman's ρ between mean scores and known
    values, interval as in `rank_correlation`; needs 4 items. The last two only where any is known.
    """
    mean, judged = _by_item(item, score, len(known))
    yield mean_over_items("written_mean", mean[judged > 0], n=len(score), unit=UNIT)
    if np.isnan(known).all():
        return
    has = ~np.isnan(known[item])
    error, times = _by_item(item[has], np.abs(score[has] - known[item[has]]), len(known))
    kept = times > 0
    n = int(has.sum())
    yield mean_over_items("written_error", error[kept], n=n, unit=UNIT, bounds=(0.0, float("inf")))
    yield rank_correlation("written_correlation", mean[kept], known[kept], n=n)


def _by_item(item: IntArray, value: FloatArray, n_items: int) -> tuple[FloatArray, IntArray]:
    """Return the mean value of each item (0 without any), and how many it has."""
    times = np.bincount(item, minlength=n_items)
    total = np.bincount(item, weights=value, minlength=n_items)
    return total / np.maximum(times, 1), times
