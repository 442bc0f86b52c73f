"""Scores of several raters, pooled into one score: by a fixed rule, or by their known errors.

Scores are units x raters, integers on one scale. A unit has one true score. `KnownErrors` are
fitted to true scores. `records_without` fits the record of a unit on all other documents, so that
no score is evaluated on the truth it was fitted to.
"""

from dataclasses import dataclass

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.estimate import EPSILON
from judge_gym.metrics.masses import Masses, betp, dempster, singletons

ROUNDING = 1 / 12
"""Variance, in squared points, that scores have by being whole numbers."""


@dataclass(frozen=True, eq=False)
class KnownErrors:
    """Errors of raters on units with a known truth; one entry per rater, or a row per unit.

    `bias` is the mean of score - truth and `variance` that of the same (ddof 1) with `ROUNDING`
    added, so that no rater counts as free of error. `reliability` is the share of scores that
    were right by Laplace's rule, (right + 1)/(n + 2), in (0, 1).
    """

    bias: FloatArray
    variance: FloatArray
    reliability: FloatArray

    def of(self, raters: IntArray) -> "KnownErrors":
        """Return the record of these raters, in this order."""
        return KnownErrors(
            self.bias[..., raters], self.variance[..., raters], self.reliability[..., raters]
        )


def record(scores: FloatArray, truth: FloatArray) -> KnownErrors:
    """Return the errors of raters on these units; needs two."""
    return _record(len(truth), *(part.sum(axis=0) for part in _parts(scores, truth)))


def records_without(scores: FloatArray, truth: FloatArray, document: IntArray) -> KnownErrors:
    """Return for each unit (row) the errors of raters on all other documents.

    `document` numbers them from 0. Needs two units outside each document.
    """
    n_documents = int(document.max()) + 1
    per_document = [_summed(part, document, n_documents) for part in _parts(scores, truth)]
    n = len(truth) - np.bincount(document, minlength=n_documents)
    others = [part.sum(axis=0) - part for part in per_document]
    result = _record(n[:, None], *others)
    return KnownErrors(
        result.bias[document], result.variance[document], result.reliability[document]
    )


def mean(scores: FloatArray) -> FloatArray:
    """Return the mean score of each unit."""
    return np.asarray(scores.mean(axis=1))


def median(scores: FloatArray) -> FloatArray:
    """Return the median score of each unit; of an even number the mean of the middle two."""
    return np.asarray(np.median(scores, axis=1))


def majority(scores: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the most frequent score; of ties their mean.

    `scale` holds all possible scores. Ties broken to one side would make raters look severe or
    lenient.
    """
    counts = (scores[:, :, None] == scale).sum(axis=1).astype(np.float64)
    return _largest(counts, scale)


def dempster_shafer(scores: FloatArray, scale: FloatArray, reliability: FloatArray) -> FloatArray:
    """Return the score of the highest pignistic probability after Dempster's rule.

    Each rater's score has the mass `reliability` (below 1); the rest is on the frame (Shafer's
    discount). Ties as in `majority`. The rule assumes independent raters and nominal scores: 2 and
    3 contradict each other as much as 1 and 5.
    """
    steps = len(scale)
    sets = np.append(singletons(steps), (1 << steps) - 1)
    by_unit = np.broadcast_to(reliability, scores.shape)
    sources = []
    for score, trust in zip(scores.T, by_unit.T, strict=True):
        on_scores = (score[:, None] == scale) * trust[:, None]
        rest = 1 - trust[:, None]
        sources.append(Masses(sets, np.concatenate([on_scores, rest], axis=1), steps))
    combined = dempster(sources).masses
    assert combined is not None  # no mass is 1, so no conflict is total
    return _largest(betp(combined), scale)


def weighted(scores: FloatArray, scale: FloatArray, rater_record: KnownErrors) -> FloatArray:
    """Return the mean of the scores less each rater's bias, weighted by inverse error variance.

    Cut to the scale. The best linear pool of raters whose errors are independent (Bates and
    Granger 1969, Operational Research Quarterly 20).
    """
    weight = np.broadcast_to(1 / rater_record.variance, scores.shape)
    pooled = ((scores - rater_record.bias) * weight).sum(axis=1) / weight.sum(axis=1)
    return np.asarray(np.clip(pooled, scale[0], scale[-1]))


def rounded(pooled: FloatArray) -> FloatArray:
    """Return the nearest whole scores, halves up."""
    return np.asarray(np.floor(pooled + 0.5 + EPSILON))


def _largest(support: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the mean of the scores with the largest support of each unit."""
    top = support >= support.max(axis=1, keepdims=True) - EPSILON
    return np.asarray((top * scale).sum(axis=1) / top.sum(axis=1))


def _parts(scores: FloatArray, truth: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the terms whose sums make a record: errors, their squares, and whether it is 0."""
    errors = scores - truth[:, None]
    return errors, errors**2, (errors == 0).astype(np.float64)


def _record(
    n: int | IntArray, errors: FloatArray, squares: FloatArray, right: FloatArray
) -> KnownErrors:
    bias = errors / n
    variance = (squares - n * bias**2) / (n - 1)
    return KnownErrors(bias, np.maximum(variance, 0.0) + ROUNDING, (right + 1) / (n + 2))


def _summed(part: FloatArray, document: IntArray, n_documents: int) -> FloatArray:
    """Return the sums by document, documents x raters."""
    sums = np.zeros((n_documents, part.shape[1]))
    np.add.at(sums, document, part)
    return sums
