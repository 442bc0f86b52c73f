"""Whether a judge favours answers of its own family, or long ones, to the same questions.

With people's labels the difference of judge less people is bias. Without them a judge may be right
to prefer those answers: then it is a difference, and no more.
"""

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import Estimate, mean_over_items, not_estimable
from judge_gym.metrics.system_scores import SystemScores

_BIAS_BOUNDS, _DIFFERENCE_BOUNDS = (-2.0, 2.0), (-1.0, 1.0)


def favour_bias(metric: str, judged: SystemScores, chosen: BoolArray, left: BoolArray) -> Estimate:
    """Return how much more of judge less people the chosen answers get than the others, in [-2, 2].

    Mean over questions that have both kinds, answered by systems of both, of the mean of judge less
    people over the chosen answers less that over the others; t interval over questions. Answers
    `left` out are of neither. Needs labels of both kinds of answers to a question.
    """
    apart = judged.judge - judged.people
    return _difference(metric, judged, apart, judged.both & ~left, chosen, _BIAS_BOUNDS)


def favour_difference(
    metric: str, judged: SystemScores, chosen: BoolArray, left: BoolArray
) -> Estimate:
    """Return how much higher the judge scores the chosen answers than the others, in [-1, 1].

    As `favour_bias`, of the judge's scores alone: no bias, as the answers may be better.
    """
    readable = judged.readable & ~left
    return _difference(metric, judged, judged.judge, readable, chosen, _DIFFERENCE_BOUNDS)


def _difference(
    metric: str,
    judged: SystemScores,
    values: FloatArray,
    used: BoolArray,
    chosen: BoolArray,
    bounds: tuple[float, float],
) -> Estimate:
    clusters = int(judged.cluster.max(initial=-1)) + 1
    sums, counts = np.zeros((2, clusters)), np.zeros((2, clusters), dtype=np.int64)
    for side, of in enumerate((used & chosen, used & ~chosen)):
        sums[side] = np.bincount(judged.cluster[of], values[of], minlength=clusters)
        counts[side] = np.bincount(judged.cluster[of], minlength=clusters)
    both = (counts > 0).all(axis=0)
    if not both.any():
        return not_estimable(metric, "no question has answers of both kinds", unit="share")
    means = sums[:, both] / counts[:, both]
    n = int(counts[:, both].sum())
    return mean_over_items(metric, means[0] - means[1], n=n, unit="share", bounds=bounds)


def longer(length: IntArray, cluster: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return which answers are longer than the median of their question's, and which are as long.

    `length` in characters, by answer.
    """
    median = np.zeros(len(length))
    order = np.argsort(cluster, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1):
        median[part] = np.median(length[part]) if len(part) else 0.0
    return np.asarray(length > median), np.asarray(length == median)
