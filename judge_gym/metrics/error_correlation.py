"""How alike judges err, and how many independent judges they are worth.

Judges that make the same mistakes add little to each other: errors are what scores leave when the
truth's part of them is taken off, or what a family of judges shares beyond two families.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judge_gym.counting import there_are
from judge_gym.metrics.agreement import ratio_or_nan
from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.estimate import (
    EPSILON,
    Estimate,
    jackknife_interval,
    jackknife_weights,
    not_estimable,
    with_interval,
)
from judge_gym.metrics.score_agreement import MIN_ITEMS, score_coefficient

_OWED = 5
_LEAST_OWED = 6
_ROUNDED = 1e-9


def error_correlation(
    x: FloatArray,
    y: FloatArray,
    truth: FloatArray,
    rng: np.random.Generator,
    cluster: IntArray | None = None,
) -> Estimate:
    """Return the correlation of two judges' errors at the same truth, over items, in [-1, 1].

    Near 1 a second judge repeats the mistakes of the first and adds no information. The part of a
    score that the truth explains is removed first, by a polynomial of at most `_OWED` terms, exact
    for that many true values: two judges that use only part of the scale have similar errors for
    that reason alone. Items of one `cluster` (numbered from 0, without a gap) are resampled
    together. Needs scores that vary at the same truth, and 4 items or clusters; 6 items where the
    truth varies.
    """
    n, metric = len(x), "error_correlation"
    clusters = np.arange(n) if cluster is None else cluster
    if because := _too_few_for_truth(truth):
        return not_estimable(metric, because, n=n, n_items=n)
    errors = _Residuals.of(np.column_stack([x, y]), truth, clusters)

    def correlation(weights: FloatArray) -> FloatArray:
        return np.asarray(errors.correlations(weights)[:, 0])

    first, second = errors.residuals.T
    return score_coefficient(metric, first, second, correlation, rng, clusters)


def effective_votes(
    scores: FloatArray,
    truth: FloatArray,
    cluster: IntArray | None = None,
) -> tuple[Estimate, Estimate]:
    """Return r̄, the mean correlation of k judges' errors over pairs, and k / (1 + (k - 1)·r̄).

    The second is the number of independent judges whose mean is as good as that of these k. The
    errors are those of `scores` (items x judges) as in `error_correlation`; pass errors
    themselves, such as 1 less the share correct, with a constant truth. r̄ lies in
    [-1/(k - 1), 1]. Interval: t on Fisher's scale for intraclass correlations,
    ½·ln((1 + (k - 1)·r̄) / (1 - r̄)), which ends where the range does. Its error is the larger of the
    jackknife errors over items of r̄ and of the mean covariance over the mean variance: correlations
    of few errors that are 0 or 1 jump, and items resampled miss r̄ in up to 18% of data sets of 16
    items, where this does in 2 to 8%. Needs two judges whose errors vary, and 4 items or clusters;
    6 items where the truth varies. Sources: Kish 1965, Survey Sampling, section 5.4 (design
    effect); Fisher 1925, Statistical Methods, section 39; Arvesen 1969, Annals of Mathematical
    Statistics 40.
    """
    n, judges = scores.shape
    clusters = np.arange(n) if cluster is None else cluster
    items = int(clusters.max(initial=-1)) + 1
    because = _too_few_for_truth(truth) or _obstacle(judges, items)
    if not because:
        errors = _Residuals.of(scores, truth, clusters)
        value = errors.mean_correlation(np.ones((1, items)))[0]
        if not np.isfinite(value):
            because = "the errors of one of the judges do not vary"
    if because:
        return _no_votes(because, n, n)
    ways = (errors.pooled_correlation, errors.mean_correlation)
    return _votes(float(value), ways, judges, n, items, _OF_ERRORS)


def votes_between_families(
    scores: FloatArray, family: IntArray, cluster: IntArray | None = None
) -> tuple[Estimate, Estimate]:
    """Return r̄ and the effective votes of judges (columns) where no truth is known.

    Without a truth an error that all judges share cannot be told from the item. Residuals from
    the mean of the same judges do not help: they sum to 0, so that their mean correlation is
    -1/(k - 1) whatever judges of one spread have in common, and leaving the judge or the pair out
    of the mean changes only the constant. What can be told is how much closer judges of one
    family are than judges of two. With v the mean variance over items, c the mean covariance of a
    pair of one family and c₀ of two families, a pair of one family correlates by
    (c - c₀)/(v - c₀), a pair of two by 0, and r̄ is their mean over all pairs: 0 in expectation
    where judges err independently. Errors shared across families are not in it: the figure is the
    most votes that the judges can be worth. Interval as in `effective_votes`. Needs two families,
    one of them with two judges, and 4 items.
    """
    items, judges = scores.shape
    first, second = np.triu_indices(judges, k=1)
    alike = family[first] == family[second]
    because = _obstacle(judges, items)
    if not because and (alike.all() or not alike.any()):
        because = (
            "no answer is known, and errors that judges share cannot be told from the items "
            "without two judges of one family and one of another"
        )
    if because:
        return _no_votes(because, items, items)
    centred = scores - scores.mean(axis=0)
    products = centred[:, first] * centred[:, second]
    per_item = np.column_stack(
        [
            products[:, alike].mean(axis=1),
            products[:, ~alike].mean(axis=1),
            (centred**2).mean(axis=1),
        ]
    )
    means = np.column_stack([centred, per_item])

    def mean_correlation(weights: FloatArray) -> FloatArray:
        sums = weights @ means / weights.sum(axis=1, keepdims=True)
        level, (within, between, spread) = sums[:, :judges], sums[:, judges:].T
        shared = level[:, first] * level[:, second]
        within = within - shared[:, alike].mean(axis=1)
        between = between - shared[:, ~alike].mean(axis=1)
        spread = spread - (level**2).mean(axis=1)
        return np.asarray(ratio_or_nan(within - between, spread - between) * alike.mean())

    value = float(mean_correlation(np.ones((1, items)))[0])
    if not np.isfinite(value):
        return _no_votes("the judges do not differ on any item", items, items)
    clusters = np.arange(items) if cluster is None else cluster

    def of_clusters(weights: FloatArray) -> FloatArray:
        return mean_correlation(weights[:, clusters])

    drawn = int(clusters.max()) + 1
    return _votes(value, (of_clusters,), judges, items, drawn, _OF_FAMILIES)


_OF_ERRORS = "mean correlation of errors over pairs of judges"
_OF_FAMILIES = "covariance within families beyond that between families, as a share of all pairs"


def _votes(
    value: float,
    ways: Sequence[Callable[[FloatArray], FloatArray]],
    judges: int,
    n: int,
    items: int,
    how: str,
) -> tuple[Estimate, Estimate]:
    """Return r̄ and the votes it makes of so many judges, with the interval of both.

    `ways` map weights (draws x items) to correlations; the larger of their jackknife errors counts.
    `items` counts those that are left out together as one, `n` all.
    """
    lowest = -1 / (judges - 1)

    def stretched(values: FloatArray) -> FloatArray:
        inside = np.clip(values, lowest + EPSILON, 1 - EPSILON)
        return np.asarray(np.log((1 + (judges - 1) * inside) / (1 - inside)) / 2)

    def votes(correlation: float) -> float:
        return judges / (1 + (judges - 1) * correlation)

    if value <= lowest + EPSILON:
        because = "the correlation is at the lower end of its range, where votes have no bound"
        return _no_votes(because, n, n)
    interval = None
    if value < 1 - EPSILON:
        weights, centre = jackknife_weights(items), float(stretched(np.array(value)))
        found = [jackknife_interval(centre, stretched(way(weights))) for way in ways]
        interval = min(filter(None, found), default=None)  # the widest
    over = "items" if items == n else "questions"
    method = f"{how}; jackknife over {over}, t interval on Fisher's scale"
    mean = Estimate(
        "mean_error_correlation", value, None, None, n, n, method=method, unit="coefficient"
    )
    worth = Estimate("effective_votes", votes(value), None, None, n, n, method=method, unit="votes")
    if interval is None:
        return with_interval(mean, None), with_interval(worth, None)
    ends = [
        (ratio - 1) / (ratio + judges - 1) for ratio in (float(np.exp(2 * end)) for end in interval)
    ]
    bounded = ends[0] > lowest + EPSILON
    return (
        with_interval(mean, (ends[0], ends[1])),
        with_interval(
            worth,
            (votes(ends[1]), votes(ends[0])) if bounded else None,
            absent="the correlation may be as low as it can be, where votes have no bound",
        ),
    )


def _no_votes(because: str, n: int, items: int) -> tuple[Estimate, Estimate]:
    return (
        not_estimable("mean_error_correlation", because, n=n, n_items=items, unit="coefficient"),
        not_estimable("effective_votes", because, n=n, n_items=items, unit="votes"),
    )


def _obstacle(judges: int, items: int) -> str:
    if judges < 2:
        return f"it compares two judges or more, and {there_are(judges)}"
    if items < MIN_ITEMS:
        return f"it needs {MIN_ITEMS} items in common, and {there_are(items)}"
    return ""


def _too_few_for_truth(truth: FloatArray) -> str:
    if len(np.unique(truth)) > 1 and len(truth) < _LEAST_OWED:
        return f"it needs {_LEAST_OWED} items where the truth varies, and {there_are(len(truth))}"
    return ""


@dataclass(frozen=True, eq=False)
class _Residuals:
    """What scores (items x judges) leave when the truth's part of them is taken off."""

    residuals: FloatArray
    spread: FloatArray
    """The range of each judge's scores: what is far below it is rounding."""
    owed: FloatArray
    """Items x polynomial terms of the truth."""
    cluster: IntArray

    @classmethod
    def of(cls, scores: FloatArray, truth: FloatArray, cluster: IntArray) -> "_Residuals":
        n = len(truth)
        terms = min(len(np.unique(truth)), _OWED, max(1, n // 3))
        owed = np.ones((n, terms))
        if n:
            owed = np.asarray(np.polynomial.legendre.legvander(_within_one(truth), terms - 1))
        residuals = scores - owed @ np.linalg.lstsq(owed, scores)[0]
        spread = np.ptp(residuals, axis=0) if n else np.zeros(scores.shape[1])
        return cls(residuals, spread, owed, cluster)

    @cached_property
    def _products(self) -> FloatArray:
        """Items x what is summed: of judges by pair, of terms by judge, of terms by term."""
        terms, judges = self.owed.shape[1], self.residuals.shape[1]
        first, second = np.triu_indices(judges)
        by_truth = self.owed[:, :, None] * self.residuals[:, None, :]
        square = self.owed[:, :, None] * self.owed[:, None, :]
        pairs = self.residuals[:, first] * self.residuals[:, second]
        return np.hstack(
            [pairs, by_truth.reshape(-1, terms * judges), square.reshape(-1, terms * terms)]
        )

    def correlations(self, weights: FloatArray) -> FloatArray:
        """Return the correlation of each pair of judges, draws x pairs; NaN without spread."""
        own, shared = self._moments(weights)
        first, second = np.triu_indices(own.shape[1], k=1)
        value = ratio_or_nan(shared, np.sqrt(own[:, first] * own[:, second]))
        return np.asarray(np.where(np.abs(value) > 1 - _ROUNDED, np.sign(value), value))

    def _moments(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the squares (draws x judges) and the products (draws x pairs) of errors."""
        terms, judges = self.owed.shape[1], self.residuals.shape[1]
        first, second = np.triu_indices(judges)
        sums = weights[:, self.cluster] @ self._products
        moment, by_truth, square = np.split(sums, np.cumsum([len(first), terms * judges]), axis=1)
        by_truth = by_truth.reshape(-1, terms, judges)
        square = square.reshape(-1, terms, terms)
        inverse = np.linalg.pinv(square, rcond=1e-10, hermitian=True)
        explained = np.einsum("rpi,rpq,rqj->rij", by_truth, inverse, by_truth, optimize=True)
        moment = moment - explained[:, first, second]
        own = moment[:, first == second]
        # What a draw leaves of errors that its truth explains is rounding, not spread.
        own = np.where(own > _ROUNDED * self.spread**2, own, 0.0)
        return own, np.asarray(moment[:, first < second])

    def mean_correlation(self, weights: FloatArray) -> FloatArray:
        """Return the mean over pairs, per draw; NaN where one of them has none."""
        return np.asarray(self.correlations(weights).mean(axis=1))

    def pooled_correlation(self, weights: FloatArray) -> FloatArray:
        """Return the mean product of pairs over the mean square, per draw."""
        own, shared = self._moments(weights)
        return np.asarray(ratio_or_nan(shared.mean(axis=1), own.mean(axis=1)))


def _within_one(values: FloatArray) -> FloatArray:
    """Return values scaled to [-1, 1]; unchanged where all are equal."""
    half = float(np.ptp(values)) / 2 if len(values) else 0.0
    return np.asarray((values - values.min()) / half - 1) if half > EPSILON else values
