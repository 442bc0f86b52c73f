"""Several raters' scores of one thing, pooled into one: by rule, or by how each of them errs.

Scores are units x raters, whole numbers of one scale; a unit is what has one true score. What is
fitted to true scores is a `Record`, and `records_without` fits that of each unit on the documents
it does not belong to: nothing is judged on the truth it was fitted to.
"""

from dataclasses import dataclass

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.estimate import EPSILON
from judge_gym.metrics.masses import Masses, betp, dempster, singletons

ROUNDING = 1 / 12
"""Variance, in squared points, that scores have by being whole numbers."""


@dataclass(frozen=True, eq=False)
class Record:
    """How raters erred where the truth is known; `raters` entries each, or a row of them per unit.

    `bias` is the mean of score - truth and `variance` that of the same (ddof 1) with `ROUNDING`
    added, so that nobody is taken to be without error. `reliability` is the share of scores that
    were right by Laplace's rule, (right + 1)/(n + 2), in (0, 1).
    """

    bias: FloatArray
    variance: FloatArray
    reliability: FloatArray

    def of(self, raters: IntArray) -> "Record":
        """Return that of these raters, in the order given."""
        return Record(
            self.bias[..., raters], self.variance[..., raters], self.reliability[..., raters]
        )


def record(scores: FloatArray, truth: FloatArray) -> Record:
    """Return how raters erred on these units; needs two."""
    return _record(len(truth), *(part.sum(axis=0) for part in _parts(scores, truth)))


def records_without(scores: FloatArray, truth: FloatArray, document: IntArray) -> Record:
    """Return, a row per unit, how raters erred on the units of all other documents.

    `document` numbers them from 0. Needs two units outside each document.
    """
    n_documents = int(document.max()) + 1
    of_document = [_summed(part, document, n_documents) for part in _parts(scores, truth)]
    n = len(truth) - np.bincount(document, minlength=n_documents)
    others = [part.sum(axis=0) - part for part in of_document]
    result = _record(n[:, None], *others)
    return Record(result.bias[document], result.variance[document], result.reliability[document])


def mean(scores: FloatArray) -> FloatArray:
    """Return the mean score of each unit."""
    return np.asarray(scores.mean(axis=1))


def median(scores: FloatArray) -> FloatArray:
    """Return the median score of each unit, of two in the middle their mean."""
    return np.asarray(np.median(scores, axis=1))


def majority(scores: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the score given most often, and the mean of those that are, where several are.

    `scale` are all scores there are. A tie broken to either side would make raters severe or
    lenient that are neither.
    """
    given = (scores[:, :, None] == scale).sum(axis=1).astype(np.float64)
    return _largest(given, scale)


def dempster_shafer(scores: FloatArray, scale: FloatArray, reliability: FloatArray) -> FloatArray:
    """Return the score that the raters' evidence speaks for most, by Dempster's rule.

    Each rater gives its score the mass `reliability` (below 1) and the rest to all scores alike,
    Shafer's discount; what is combined goes by pignistic probability, ties as in `majority`. The
    rule takes raters for independent and scores for names: 2 and 3 contradict as 1 and 5 do.
    """
    steps = len(scale)
    sets = np.append(singletons(steps), (1 << steps) - 1)
    by_unit = np.broadcast_to(reliability, scores.shape)
    sources = []
    for said, trusted in zip(scores.T, by_unit.T, strict=True):
        on_scores = (said[:, None] == scale) * trusted[:, None]
        rest = 1 - trusted[:, None]
        sources.append(Masses(sets, np.concatenate([on_scores, rest], axis=1), steps))
    combined = dempster(sources).masses
    assert combined is not None  # no mass is 1, so no conflict is total
    return _largest(betp(combined), scale)


def weighted(scores: FloatArray, scale: FloatArray, known: Record) -> FloatArray:
    """Return the mean of the scores less each rater's bias, weighted by inverse error variance.

    Held within the scale. The best linear pool of raters whose errors are independent (Bates and
    Granger 1969, Operational Research Quarterly 20).
    """
    weight = np.broadcast_to(1 / known.variance, scores.shape)
    pooled = ((scores - known.bias) * weight).sum(axis=1) / weight.sum(axis=1)
    return np.asarray(np.clip(pooled, scale[0], scale[-1]))


def rounded(pooled: FloatArray) -> FloatArray:
    """Return the nearest whole scores, halves up."""
    return np.asarray(np.floor(pooled + 0.5 + EPSILON))


def _largest(support: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the mean of the scores with the largest support of each unit."""
    top = support >= support.max(axis=1, keepdims=True) - EPSILON
    return np.asarray((top * scale).sum(axis=1) / top.sum(axis=1))


def _parts(scores: FloatArray, truth: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what records are sums of: errors, their squares, and whether there is none."""
    errors = scores - truth[:, None]
    return errors, errors**2, (errors == 0).astype(np.float64)


def _record(
    n: int | IntArray, errors: FloatArray, squares: FloatArray, right: FloatArray
) -> Record:
    bias = errors / n
    variance = (squares - n * bias**2) / (n - 1)
    return Record(bias, np.maximum(variance, 0.0) + ROUNDING, (right + 1) / (n + 2))


def _summed(part: FloatArray, document: IntArray, n_documents: int) -> FloatArray:
    """Return the sums by document, documents x raters."""
    sums = np.zeros((n_documents, part.shape[1]))
    np.add.at(sums, document, part)
    return sums
