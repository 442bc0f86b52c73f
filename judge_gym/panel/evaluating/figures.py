"""What raters and their panel get right of known scores, and what a second family adds: pure.

A unit is what has one true score: a whole document, or an item of one. The units of a document
count together in every interval, and the documents alike in every mean.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judge_gym.counting import there_are
from judge_gym.metrics import pooling
from judge_gym.metrics.accuracy import kappa_of_tables
from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.error_correlation import effective_votes, error_correlation
from judge_gym.metrics.estimate import UNBOUNDED, Estimate, mean_over_items, not_estimable

FEWEST_DOCUMENTS = 4
"""Documents from which on something is fitted to the others of each."""
MEAN, MEDIAN, MAJORITY = "mean", "median", "majority"
DEMPSTER_SHAFER, WEIGHTED, ARBITER = "Dempster-Shafer", "calibrated", "arbiter"
UNIT = "points"
"""Errors are in scores of the panel's own scale."""
NOT_NEGATIVE = (0.0, np.inf)


@dataclass(frozen=True, eq=False)
class Scored:
    """What raters said of units with known truth, all of them of each unit.

    `scores` is units x raters, `truth` and `document` (from 0, without a gap) an entry per unit,
    `scale` all scores there are, `families` that of each rater, `arbiter` its score of each unit,
    None where it gives none.
    """

    raters: Sequence[str]
    families: Sequence[str]
    scores: FloatArray
    truth: FloatArray
    document: IntArray
    scale: FloatArray
    arbiter: FloatArray | None = None

    @property
    def n_documents(self) -> int:
        return int(self.document.max(initial=-1)) + 1


@dataclass(frozen=True)
class WayFigures:
    """A way to come to a score: its mean absolute error, bias, share exactly right, and κ.

    `gained` is the error of the rater that errs least on these documents, less that of the way,
    paired by document: above 0 the way is the better one. It leans to the rater, who was picked by
    the same documents.
    """

    name: str
    error: Estimate
    bias: Estimate
    accuracy: Estimate
    kappa: Estimate
    gained: Estimate


@dataclass(frozen=True)
class RaterPairErrors:
    """How far the errors of two raters go together."""

    raters: tuple[str, str]
    same_family: bool
    correlation: Estimate


@dataclass(frozen=True)
class SecondFamily:
    """The error of a rater pooled with one of its family, and with one of another family.

    Means over all raters that can be paired both ways. `gained` is the first less the second,
    paired by document: above 0 a second family takes more error away than a second persona.
    `unbiased` says whether each rater's own bias was taken off before.
    """

    unbiased: bool
    persona: Estimate
    family: Estimate
    gained: Estimate


def ways(scored: Scored, rng: np.random.Generator) -> list[WayFigures]:
    """Return the figures of each rater alone, of each way to pool all of them, and of the arbiter.

    What is pooled by reliabilities or weights has those of the other documents.
    """
    pooled = pooled_scores(scored)
    errors = {
        name: _by_document(np.abs(values - scored.truth), scored)
        for name, values in pooled.items()
        if values is not None
    }
    best = min(scored.raters, key=lambda name: float(errors[name].mean()))
    return [
        _way(name, values, scored, errors[best] - errors[name], rng)
        if values is not None
        else _not_fitted(name, scored)
        for name, values in pooled.items()
    ]


def pooled_scores(scored: Scored) -> dict[str, FloatArray | None]:
    """Return each way with its score of every unit, None for one that cannot be fitted."""
    scores, scale, record = scored.scores, scored.scale, _known(scored)
    pooled: dict[str, FloatArray | None] = dict(zip(scored.raters, scores.T, strict=True))
    pooled |= {
        MEAN: pooling.mean(scores),
        MEDIAN: pooling.median(scores),
        MAJORITY: pooling.majority(scores, scale),
        DEMPSTER_SHAFER: pooling.dempster_shafer(scores, scale, record.reliability)
        if record
        else None,
        WEIGHTED: pooling.weighted(scores, scale, record) if record else None,
    }
    return pooled if scored.arbiter is None else pooled | {ARBITER: scored.arbiter}


def pairs(scored: Scored, rng: np.random.Generator) -> list[RaterPairErrors]:
    """Return how far the errors of each two raters go together."""
    return [
        RaterPairErrors(
            (scored.raters[i], scored.raters[j]),
            scored.families[i] == scored.families[j],
            error_correlation(
                scored.scores[:, i], scored.scores[:, j], scored.truth, rng, scored.document
            ),
        )
        for i, j in combinations(range(len(scored.raters)), 2)
    ]


def votes(scored: Scored) -> tuple[Estimate, Estimate]:
    """Return the mean correlation of raters' errors, and how many independent raters they make."""
    return effective_votes(scored.scores, scored.truth, scored.document)


def second_family(scored: Scored) -> list[SecondFamily]:
    """Return what a second family adds over a second persona, as scored and without biases.

    Two opposite biases cancel whatever the families; what is left without them is what errors
    that do not go together add.
    """
    partners = _partners(scored.families)
    reason = _no_partners(scored.families) if not partners else ""
    record = _known(scored)
    without = None if record is None else scored.scores - record.bias
    few = f"it needs {FEWEST_DOCUMENTS} documents, and {there_are(scored.n_documents)}"
    return [
        _second_family(scored, scored.scores, partners, reason, unbiased=False),
        _second_family(scored, without, partners, reason or few, unbiased=True),
    ]


def _way(
    name: str, scores: FloatArray, scored: Scored, gained: FloatArray, rng: np.random.Generator
) -> WayFigures:
    errors, n = scores - scored.truth, len(scores)
    widest = float(scored.scale[-1] - scored.scale[0])
    rounded = np.clip(pooling.rounded(scores), scored.scale[0], scored.scale[-1])
    right = np.bincount(scored.document, weights=rounded == scored.truth).astype(np.int64)
    accuracy = clustered_share("accuracy", right, np.bincount(scored.document))
    return WayFigures(
        name,
        _mean("absolute_error", np.abs(errors), scored, (0.0, widest)),
        _mean("bias", errors, scored, (-widest, widest)),
        accuracy,
        kappa_of_tables(_tables(rounded, scored), rng, quadratic=True),
        mean_over_items("error_gained", gained, n=n, unit=UNIT, bounds=(-widest, widest)),
    )


def _not_fitted(name: str, scored: Scored) -> WayFigures:
    n = scored.n_documents
    because = f"it is fitted to other documents, needs {FEWEST_DOCUMENTS}, and {there_are(n)}"
    absent = {
        field: not_estimable(metric, because, n=len(scored.truth), n_items=n)
        for field, metric in _METRICS.items()
    }
    return WayFigures(name, **absent)


_METRICS: Mapping[str, str] = {
    "error": "absolute_error",
    "bias": "bias",
    "accuracy": "accuracy",
    "kappa": "cohens_kappa_quadratic",
    "gained": "error_gained",
}


def _known(scored: Scored) -> pooling.KnownErrors | None:
    """Return how raters err by the other documents, None where there are too few of them."""
    if scored.n_documents < FEWEST_DOCUMENTS:
        return None
    return pooling.records_without(scored.scores, scored.truth, scored.document)


def _tables(scores: FloatArray, scored: Scored) -> FloatArray:
    """Return documents x true scores x scores said: counts."""
    size, low = len(scored.scale), scored.scale[0]
    code = (scored.document * size + (scored.truth - low).astype(np.int64)) * size
    code = code + (scores - low).astype(np.int64)
    counts = np.bincount(code, minlength=scored.n_documents * size * size)
    return counts.reshape(scored.n_documents, size, size).astype(np.float64)


def _mean(metric: str, values: FloatArray, scored: Scored, bounds: tuple[float, float]) -> Estimate:
    per_document = _by_document(values, scored)
    return mean_over_items(metric, per_document, n=len(values), unit=UNIT, bounds=bounds)


def _by_document(values: FloatArray, scored: Scored) -> FloatArray:
    """Return the mean of each document's units."""
    return np.asarray(np.bincount(scored.document, weights=values) / np.bincount(scored.document))


def _partners(families: Sequence[str]) -> dict[int, tuple[list[int], list[int]]]:
    """Return rater → the others of its family and those of another, where there are both."""
    partners = {}
    for i, family in enumerate(families):
        others = [j for j in range(len(families)) if j != i]
        own = [j for j in others if families[j] == family]
        foreign = [j for j in others if families[j] != family]
        if own and foreign:
            partners[i] = (own, foreign)
    return partners


def _no_partners(families: Sequence[str]) -> str:
    if len(set(families)) == 1:
        return f"all raters are of one family, {families[0]}"
    return "no two raters are of one family"


def _second_family(
    scored: Scored,
    scores: FloatArray | None,
    partners: Mapping[int, tuple[list[int], list[int]]],
    reason: str,
    *,
    unbiased: bool,
) -> SecondFamily:
    names = ("error_with_persona", "error_with_family", "error_gained_by_family")
    if scores is None or not partners:
        absent = (not_estimable(name, reason, n=len(scored.truth), unit=UNIT) for name in names)
        return SecondFamily(unbiased, *absent)

    def error(i: int, others: Sequence[int]) -> FloatArray:
        both = [np.abs((scores[:, i] + scores[:, j]) / 2 - scored.truth) for j in others]
        return np.asarray(np.mean(both, axis=0))

    persona = np.mean([error(i, own) for i, (own, _) in partners.items()], axis=0)
    family = np.mean([error(i, foreign) for i, (_, foreign) in partners.items()], axis=0)
    return SecondFamily(
        unbiased,
        _mean(names[0], persona, scored, NOT_NEGATIVE),
        _mean(names[1], family, scored, NOT_NEGATIVE),
        _mean(names[2], persona - family, scored, UNBOUNDED),
    )
