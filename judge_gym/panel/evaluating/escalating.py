"""Whom to ask first, and when to ask one more: policies over reviews that are all there. Pure.

A policy has raters of a document asked one after the other, pools what they said (weighted by
calibration) and stops. All that it rests on, the order of the raters, their biases and weights and
what one more is expected to gain, is fitted to the other documents, and what it would have come to
is measured on this one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from judge_gym.counting import there_are
from judge_gym.metrics import pooling
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import UNIT_INTERVAL, Estimate, mean_over_items, not_estimable
from judge_gym.panel.agreement import Escalation
from judge_gym.panel.evaluating.figures import FEWEST_DOCUMENTS, NOT_NEGATIVE, UNIT, Scored

FEWEST_ALIKE = 5
"""Documents with as much disagreement, below which one more is expected to gain what it gains on
all."""
ONE, TWO, GAIN, ALL = "one", "two, all where they differ", "more while it pays", "all"
AS_FILED = "as the panel's file says"
"""The policy of a panel that escalates: its first raters in its order, by the scores as given."""


@dataclass(frozen=True)
class PanelPolicy:
    """A policy: its error, what it asks and costs a document, and what that is less than all.

    `saved_reviews` and `saved_cost` are shares of those of asking all, `loss` its error less that
    of asking all, paired by document. `total` is the cost of the reviews and of the errors, in US
    dollars a document.
    """

    name: str
    error: Estimate
    reviews: Estimate
    cost: Estimate
    saved_reviews: Estimate
    saved_cost: Estimate
    loss: Estimate
    total: Estimate
    totals: FloatArray = field(
        default_factory=lambda: np.empty(0), compare=False, repr=False, kw_only=True
    )
    """The total of each document, in the order of all policies; empty where it cannot be told."""


def dearer(policy: PanelPolicy, least: PanelPolicy) -> Estimate:
    """Return what a policy costs in all more than another, in US dollars, paired by document."""
    extra = policy.totals - least.totals
    return mean_over_items("total_difference", extra, n=len(extra), unit="USD")


@dataclass(frozen=True, eq=False)
class _Others:
    """The documents that a policy is fitted to: all but the one it is applied to."""

    scores: FloatArray
    truth: FloatArray
    scale: FloatArray
    record: pooling.KnownErrors

    def error(self, raters: Sequence[int]) -> FloatArray:
        """Return the absolute error of each document, for the pooled score of these raters."""
        return np.abs(_pooled(self.scores, raters, self.scale, self.record) - self.truth)

    def apart(self, scores: FloatArray, raters: Sequence[int]) -> FloatArray:
        """Return the range of these raters' scores without their biases, in whole points."""
        unbiased = (scores - self.record.bias)[..., list(raters)]
        return pooling.rounded(np.ptp(unbiased, axis=-1))

    def alike(self, scores: FloatArray, raters: Sequence[int]) -> BoolArray:
        """Return the documents on which these raters' range is that of `scores`."""
        alike = self.apart(self.scores, raters) == self.apart(scores, raters)
        return alike if alike.sum() >= FEWEST_ALIKE else np.ones_like(alike)


def policies(
    scored: Scored, prices: FloatArray, error_price: float, filed: Escalation | None = None
) -> list[PanelPolicy]:
    """Return the figures of each policy, from asking one rater to asking all, and of the `filed`.

    `scored` has one unit per document; `prices` is documents x raters, what each review cost in
    US dollars; `error_price` what one point of error is worth. A rater's price is known before it
    is asked: its mean over the other documents. Not estimable below four documents, or where a
    price is not known.
    """
    names = [ONE, *[TWO] * (len(scored.raters) > 2), GAIN, *[AS_FILED] * bool(filed), ALL]
    if because := _obstacle(scored, prices):
        return [_absent(name, because, len(scored.truth)) for name in names]
    was_asked = {name: np.zeros(scored.scores.shape, dtype=np.bool_) for name in names}
    final_scores = {name: np.zeros(len(scored.truth)) for name in names}
    for place in range(len(scored.truth)):
        for name, (chosen, score) in applied(scored, prices, error_price, place, filed).items():
            if name in was_asked:
                was_asked[name][place, chosen] = True
                final_scores[name][place] = score
    return [
        _figures(
            name,
            was_asked[name],
            final_scores[name],
            final_scores[ALL],
            scored,
            prices,
            error_price,
        )
        for name in names
    ]


def applied(
    scored: Scored,
    prices: FloatArray,
    error_price: float,
    place: int,
    filed: Escalation | None = None,
) -> dict[str, tuple[list[int], float]]:
    """Return policy → the raters it asks about the document in this place, and its score.

    The true score of that document plays no part; see `policies`.
    """
    rest = np.arange(len(scored.truth)) != place
    scores, truth = scored.scores[rest], scored.truth[rest]
    others = _Others(scores, truth, scored.scale, pooling.record(scores, truth))
    price, scores_here = prices[rest].mean(axis=0), scored.scores[place]
    everybody = list(range(len(price)))
    order, worth_it = _order(others, price, error_price, scores_here)
    chosen = {
        ONE: order[:1],
        TWO: everybody if others.apart(scores_here, order[:2]) else order[:2],
        GAIN: order[:worth_it],
        ALL: everybody,
    }
    if filed is not None:
        agree = np.ptp(scores_here[: filed.first]) <= filed.within
        chosen[AS_FILED] = everybody[: filed.first] if agree else everybody
    return {
        name: (raters, float(_pooled(scores_here[None], raters, scored.scale, others.record)[0]))
        for name, raters in chosen.items()
    }


def _order(
    others: _Others, price: FloatArray, error_price: float, scores: FloatArray
) -> tuple[list[int], int]:
    """Return the raters in the order to ask them, and how many are worth asking.

    First the calibrated cheapest, whose price and errors together cost least. Then each time the
    one whose expected gain, the error it took away where those asked lay as far apart as here, is
    worth most beyond its price; as soon as that is nothing, no more are worth it.
    """
    left = list(range(len(price)))
    first = min(
        left, key=lambda rater: price[rater] + error_price * float(others.error([rater]).mean())
    )
    raters, worth_it, going_on = [first], 1, True
    left.remove(first)
    while left:
        alike, before = others.alike(scores, raters), others.error(raters)
        net = {
            rater: error_price * float((before - others.error([*raters, rater]))[alike].mean())
            - price[rater]
            for rater in left
        }
        following = max(left, key=lambda rater: net[rater])
        going_on = going_on and net[following] > 0
        worth_it += going_on
        raters.append(following)
        left.remove(following)
    return raters, worth_it


def _pooled(
    scores: FloatArray, raters: Sequence[int], scale: FloatArray, record: pooling.KnownErrors
) -> FloatArray:
    among: IntArray = np.array(raters, dtype=np.int64)
    return pooling.weighted(scores[:, among], scale, record.of(among))


def _figures(
    name: str,
    was_asked: BoolArray,
    final_scores: FloatArray,
    by_all: FloatArray,
    scored: Scored,
    prices: FloatArray,
    error_price: float,
) -> PanelPolicy:
    n = len(final_scores)
    errors, errors_of_all = np.abs(final_scores - scored.truth), np.abs(by_all - scored.truth)
    costs, reviews = (was_asked * prices).sum(axis=1), was_asked.sum(axis=1).astype(np.float64)
    most, totals = prices.sum(axis=1), costs + error_price * errors
    saved_cost = (
        mean_over_items("saved_cost", (most - costs) / most.mean(), n=n, unit="share")
        if most.any()
        else not_estimable("saved_cost", "the reviews cost nothing", n=n, n_items=n)
    )
    return PanelPolicy(
        name,
        mean_over_items("absolute_error", errors, n=n, unit=UNIT, bounds=NOT_NEGATIVE),
        mean_over_items("reviews", reviews, n=n, unit="reviews", bounds=(1.0, was_asked.shape[1])),
        mean_over_items("cost", costs, n=n, unit="USD", bounds=NOT_NEGATIVE),
        mean_over_items(
            "saved_reviews",
            1 - reviews / was_asked.shape[1],
            n=n,
            unit="share",
            bounds=UNIT_INTERVAL,
        ),
        saved_cost,
        mean_over_items("error_loss", errors - errors_of_all, n=n, unit=UNIT),
        mean_over_items("total_cost", totals, n=n, unit="USD", bounds=NOT_NEGATIVE),
        totals=totals,
    )


def _obstacle(scored: Scored, prices: FloatArray) -> str:
    if scored.n_documents < FEWEST_DOCUMENTS:
        return f"it needs {FEWEST_DOCUMENTS} documents, and {there_are(scored.n_documents)}"
    unknown = [
        name for name, column in zip(scored.raters, prices.T, strict=True) if np.isnan(column).any()
    ]
    return f"what reviews by {', '.join(unknown)} cost is not known" if unknown else ""


def _absent(name: str, because: str, n: int) -> PanelPolicy:
    metrics = (
        "absolute_error", "reviews", "cost", "saved_reviews", "saved_cost", "error_loss",
        "total_cost",
    )  # fmt: skip
    return PanelPolicy(
        name, *(not_estimable(metric, because, n=n, n_items=n) for metric in metrics)
    )
