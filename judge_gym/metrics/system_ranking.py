"""The ranking of systems by a judge's scores and people's labels, and which labels to buy next."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import (
    EPSILON,
    LEVEL,
    SIGNED_UNIT,
    UNIT_INTERVAL,
    Estimate,
    not_estimable,
    t_quantile,
    with_interval,
)
from judge_gym.metrics.expert_labels import MIN_LABELLED, are_shares
from judge_gym.metrics.inference import kendall_tau_b
from judge_gym.metrics.system_scores import SystemScores

MIN_SCORES = 5
"""Fewest answers of a system with a score that a judge ranks by itself."""
_DRAWS = 4000
_DECIMALS = 12
"""To which means are taken to be equal."""
_PRIOR = 2
"""Labels with the residual variance of all systems that each system's own variance is shrunk by."""
_PORTIONS = 25
"""Portions that labels are planned in."""
_GAIN = 1e-4
"""Pairs that a move must add to the forecast."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Systems by what people say of them, as far as scores and labels tell.

    Arrays by system; `ranked` says which have enough labels, the others are NaN. `judged` is the
    judge's own mean, `corrected` people's mean by the judge's scores and the labels, `scored` the
    same of the answers alone that the judge scored; `lower` and `upper` are of `corrected`, and
    hold for all systems at once, with 95%.
    `covariance` is of `corrected`, `critical` the quantile of the largest |difference| / error of
    any pair, and `freedom` the degrees of freedom of errors. `draws` (draws x systems) are
    of where people's means may lie. `residual` is the variance of a label about what the judge
    says of it, `labels` the number of answers with a label, `left` of those without.
    """

    judged: FloatArray
    scored: FloatArray
    corrected: FloatArray
    lower: FloatArray
    upper: FloatArray
    ranked: BoolArray
    covariance: FloatArray
    critical: float
    draws: FloatArray
    labels: IntArray
    residual: FloatArray
    left: IntArray
    questions: IntArray
    """The number of questions with a labelled answer, by system."""

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """The two systems of every pair of ranked ones."""
        return _pairs(self.ranked)

    @cached_property
    def differences(self) -> FloatArray:
        """The first system's corrected mean less the second's, by pair."""
        first, second = self.pairs
        return np.asarray(self.corrected[first] - self.corrected[second])

    @cached_property
    def errors(self) -> FloatArray:
        """The standard error of each difference."""
        return np.sqrt(_pair_variance(self.covariance, *self.pairs))

    @cached_property
    def outcomes(self) -> IntArray:
        """1 where the first system of a pair is better, -1 where worse, 0 where labels cannot tell.

        Over all pairs together at most 5% of rankings have one that is wrong.
        """
        shown = np.abs(self.differences) > self.critical * np.maximum(self.errors, EPSILON)
        return np.where(shown, np.sign(self.differences), 0).astype(np.int64)

    @cached_property
    def order(self) -> IntArray:
        """The ranked systems, best first."""
        number = np.flatnonzero(self.ranked)
        return number[np.argsort(-self.corrected[number], kind="stable")]

    @property
    def inversions(self) -> int:
        """Pairs that the judge's means order against people's of the same answers; ties are none.

        Answers that the judge did not score are in `expected_inversions`.
        """
        first, second = self.pairs
        raw = self.judged[first] - self.judged[second]
        return int((raw * (self.scored[first] - self.scored[second]) < 0).sum())

    def expected_inversions(self) -> Estimate:
        """Return the mean number of pairs that the judge orders against people, with 95% of draws.

        From 0 to the number of pairs. A pair counts a half where the judge's means are equal, and
        about a half where people's may be: whoever ties all systems inverts half of the pairs.
        """
        metric, unit = "expected_inversions", "pairs"
        first, second = self.pairs
        if not len(first):
            return not_estimable(metric, "it needs two systems with labels", unit=unit)
        raw = np.sign(self.judged[first] - self.judged[second])
        apart = self.draws[:, first] - self.draws[:, second]
        wrong = np.where(raw == 0, 0.5, raw * apart < 0).sum(axis=1)
        low, high = np.quantile(wrong, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        mean = float(wrong.mean())
        n, method = int(self.labels.sum()), "draws of people's means, clustered by question"
        estimate = Estimate(
            metric, mean, None, None, n, int(self.ranked.sum()), method=method,
            unit=unit,
        )  # fmt: skip
        # The mean of draws of which fewer than 2.5% invert a pair lies above their quantiles.
        return with_interval(estimate, (min(float(low), mean), max(float(high), mean)))

    def mean_of(self, system: int) -> Estimate:
        """Return people's mean of a system, with an interval of its own: t over its questions."""
        return self._alone(
            "system_mean", float(self.corrected[system]), float(self.covariance[system, system]),
            [system], UNIT_INTERVAL,
        )  # fmt: skip

    def difference_of(self, first: int, second: int) -> Estimate:
        """Return the second system's mean less the first's, with an interval of its own."""
        of_both = np.array([first]), np.array([second])
        variance = float(_pair_variance(self.covariance, *of_both)[0])
        apart = float(self.corrected[second] - self.corrected[first])
        return self._alone("system_difference", apart, variance, [first, second], SIGNED_UNIT)

    def _alone(
        self,
        metric: str,
        value: float,
        variance: float,
        systems: list[int],
        bounds: tuple[float, float],
    ) -> Estimate:
        n = int(self.labels[systems].sum())
        if not self.ranked[systems].all():
            because = labels_needed(self.labels[systems].tolist()) or NO_SCORE
            return not_estimable(metric, because, n=n, n_items=n, unit="share")
        half = t_quantile(max(1, int(self.questions[systems].min()) - 1)) * variance**0.5
        method = "labels and scores, prediction-powered; t interval over questions"
        estimate = Estimate(metric, value, None, None, n, n, method=method, unit="share")
        ends = (value - half, value + half) if half > EPSILON else None
        return with_interval(estimate, ends, bounds)

    def tau(self) -> Estimate:
        """Return Kendall's τ-b of the judge's means with the corrected ones, in [-1, 1]."""
        metric, number = "ranking_tau", np.flatnonzero(self.ranked)
        n = len(number)
        test = kendall_tau_b(self.judged[number], self.corrected[number]) if n > 1 else None
        if test is None:
            return not_estimable(metric, "systems do not differ", n=n, n_items=n)
        first, second = self.pairs
        raw = np.sign(self.judged[first] - self.judged[second])
        agreed = (raw * np.sign(self.draws[:, first] - self.draws[:, second])).sum(axis=1)
        drawn = agreed / np.sqrt(np.count_nonzero(raw) * len(raw))  # draws have no ties
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        method = "Kendall's τ-b; interval: draws of people's means"
        estimate = Estimate(metric, test[0], None, None, n, n, method=method)
        return with_interval(estimate, (float(low), float(high)), SIGNED_UNIT)


NO_SCORE = "the judge scored no answer of a system"
"""Why a system with enough labels is not ranked."""


def labels_needed(labels: Sequence[int]) -> str:
    """Return why systems with so many labels are not compared, and how many more each needs.

    Empty where all have enough: as many as a corrected mean needs, whichever command compares them.
    """
    if min(labels) >= MIN_LABELLED:
        return ""
    have = " and ".join(map(str, labels))
    more = " and ".join(str(max(0, MIN_LABELLED - count)) for count in labels)
    needs = f"it needs {MIN_LABELLED} labelled items of each system"
    return f"{needs}, and there are {have}: {more} more"


def ranking(
    judged: SystemScores,
    rng: np.random.Generator,
    least_labels: int = MIN_LABELLED,
    *,
    shrunk: bool = True,
) -> Ranking:
    """Rank systems by people's mean, estimated from all the judge's scores and people's labels.

    mean(labels) + λ·(mean score of all answers - mean score of labelled ones), by system, with one
    λ for all (prediction-powered inference with a tuned weight; Angelopoulos, Duchi and Zrnic 2023,
    arXiv 2311.01453). Labels of a system must be a random part of its answers; where every
    answer has one, it is their mean. An unreadable answer of the judge counts as its mean score,
    since labels correct any score: left out, those that it would not judge would leave people's
    mean, too. A system without any readable one, or with fewer than `least_labels` labels, is not
    ranked. Errors: the covariance of influences summed by question, a system's label variance at
    least that shrunk towards all systems', and that of half a label that is as far from the judge's
    scores as a label may be. If not `shrunk`, it is that of its own labels: the interval of a
    difference over the same questions is then the paired t. Simultaneous: quantile of the largest
    |t| of draws from that covariance, with the degrees of freedom of the system with the fewest
    labelled questions, for pairs twice as many (Hothorn, Bretz and Westfall 2008, Biometrical
    Journal 50).
    """
    # Equal means differ in their last bits by the order of the rows.
    own = judged.means(judged.judge, judged.readable).round(_DECIMALS)
    scored = _corrected(judged)[0].round(_DECIMALS)
    judged = judged.filled()
    labels = judged.labels
    answers = np.bincount(judged.system, minlength=judged.n_systems)
    ranked = (labels >= least_labels) & np.isfinite(own)
    of_all, weight = _corrected(judged)
    corrected = np.where(ranked, of_all, np.nan).round(_DECIMALS)
    covariance, residual = _errors(judged, weight, ranked, shrunk=shrunk)
    questions = judged.questions(judged.both)
    least = max(int(questions[ranked].min()), 2) if ranked.any() else MIN_SCORES
    of_systems = _t_draws(covariance, least - 1, rng)
    # A difference has the errors of two systems.
    draws = _t_draws(covariance, 2 * (least - 1), rng)
    first, second = _pairs(ranked)
    spread = np.sqrt(np.diag(covariance))
    half = _largest(of_systems[:, ranked], spread[ranked]) * spread
    apart = np.sqrt(np.maximum(_pair_variance(covariance, first, second), EPSILON))
    return Ranking(
        judged=own,
        scored=scored,
        corrected=np.clip(corrected, *UNIT_INTERVAL),
        lower=np.clip(corrected - half, *UNIT_INTERVAL),
        upper=np.clip(corrected + half, *UNIT_INTERVAL),
        ranked=ranked,
        covariance=covariance,
        critical=_largest(draws[:, first] - draws[:, second], apart),
        draws=corrected + draws,
        labels=labels,
        residual=residual,
        left=answers - labels,
        questions=questions,
    )


def _corrected(judged: SystemScores) -> tuple[FloatArray, float]:
    """Return people's means by the scores and labels of scored answers, and the weight of scores.

    NaN of a system without both.
    """
    raw = judged.means(judged.judge, judged.readable)
    of_labels = judged.means(judged.judge, judged.both)
    people = judged.means(judged.people, judged.both)
    weight = _tuned(judged, of_labels, people)
    return people + weight * (raw - of_labels), weight


def _errors(
    judged: SystemScores, weight: float, ranked: BoolArray, *, shrunk: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the covariance of corrected means, and by system the shrunk variance of a label.

    Scores and labels of a system count G / (G - 1) for the G questions that it has of each: of one
    label a question, their variance is that of n - 1 degrees of freedom.
    """
    labels, both, system = judged.labels, judged.both, judged.system
    raw = judged.means(judged.judge, judged.readable)
    answers = np.bincount(system[judged.readable], minlength=judged.n_systems)
    residual = judged.people - weight * judged.judge
    apart = residual - judged.means(residual, both)[system]
    influence = np.zeros((int(judged.cluster.max(initial=0)) + 1, judged.n_systems))
    score = weight * (judged.judge - raw[system])
    for chosen, part, n in ((judged.readable, score, answers), (both, apart, labels)):
        of = chosen & ranked[system]
        by = n / np.sqrt(_unbiased(judged.questions(chosen)))
        np.add.at(influence, (judged.cluster[of], system[of]), part[of] / by[system[of]])
    squares = np.bincount(system[both], apart[both] ** 2, minlength=judged.n_systems)
    freedom = np.maximum(labels - 1, 0)
    widest = _range(judged.people[both], apart[both])
    pooled = max(squares.sum() / max(1, freedom.sum()), (widest / (labels.sum() + 2)) ** 2)
    own = squares / np.maximum(freedom, 1)
    # Labels that all agree say little of how many do not: as if half a label more did not.
    missed = 0.5 / (labels + 1)
    least = np.maximum(own, (squares + _PRIOR * pooled) / (freedom + _PRIOR))
    least = np.maximum(least, missed * (1 - missed) * widest**2)
    covariance = influence.T @ influence
    if shrunk:
        covariance += np.diag((least - own) / np.maximum(labels, 1))
    return covariance, least


def _range(labels: FloatArray, residual: FloatArray) -> float:
    """Return how far a label may be from what the judge says of it, less a constant.

    Of verdicts 1. Of graded labels the range of their residuals, so that it does not depend on the
    declared scale and is small for a good judge; of the labels themselves where residuals agree.
    """
    if are_shares(labels, UNIT_INTERVAL):
        return 1.0
    return next((apart for of in (residual, labels) if (apart := float(np.ptp(of))) > EPSILON), 1.0)


def _pairs(ranked: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the two systems of every pair of ranked ones."""
    number = np.flatnonzero(ranked)
    first, second = np.triu_indices(len(number), 1)
    return number[first], number[second]


def _largest(draws: FloatArray, errors: FloatArray) -> float:
    """Return the 95% quantile over draws of the largest |value| / error."""
    ratios = np.abs(draws) / np.maximum(errors, EPSILON)
    return float(np.quantile(ratios.max(axis=1, initial=0), LEVEL))


def _tuned(judged: SystemScores, of_labels: FloatArray, people: FloatArray) -> float:
    """Return λ in [0, 1]: cov(label, score) / var(score) within systems, less for many labels."""
    system, both = judged.system[judged.both], judged.both
    score = judged.judge[both] - of_labels[system]
    squares = float((score**2).sum())
    if squares <= EPSILON:
        return 0.0
    slope = float((score * (judged.people[both] - people[system])).sum()) / squares
    share = float(both.sum()) / max(1, int(judged.readable.sum()))
    return float(np.clip(slope / (1 + share), *UNIT_INTERVAL))


def _unbiased(clusters: IntArray) -> FloatArray:
    return np.where(clusters > 1, clusters / np.maximum(clusters - 1, 1), 1.0)


def _pair_variance(covariance: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    own = np.diag(covariance)
    return np.maximum(own[first] + own[second] - 2 * covariance[first, second], 0.0)


def _t_draws(covariance: FloatArray, freedom: int, rng: np.random.Generator) -> FloatArray:
    """Return draws of a multivariate t about 0 (draws x systems)."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = rng.standard_normal((_DRAWS, len(covariance))) @ root.T
    return np.asarray(normal / np.sqrt(rng.chisquare(freedom, (_DRAWS, 1)) / freedom))


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """How many of the next labels to draw at random from each system's unlabelled answers.

    The forecasts are numbers of pairs decided: now, with as many labels spread evenly, and with
    `counts`.
    """

    counts: IntArray
    now: float
    evenly: float
    planned: float


def labels_to_buy(found: Ranking, more: int) -> LabelPlan:
    """Return which systems' answers to label next to decide the most pairs.

    Forecast: Σ over pairs of the chance that the next estimate of a difference lies beyond
    critical·error. It is today's and that of the new labels, which are about today's difference
    shrunk by the spread of systems beyond error, weighed by their precision (preposterior analysis;
    Raiffa and Schlaifer 1961, Applied Statistical Decision Theory). A label of a system lowers its
    variance as 1/n. From an even spread, portions move from one system to
    another while the forecast grows, so it never lies below the even one.
    """
    first, second = found.pairs
    n, base = np.maximum(found.labels, 1), found.errors**2
    # Of few labels the shrunk variance may be more than all that the mean's error has.
    of_labels = np.minimum(found.residual / n, np.diag(found.covariance))

    def forecast(counts: IntArray) -> float:
        less = of_labels * counts / (n + counts)
        return _decided(found, np.minimum(less[first] + less[second], base * (1 - EPSILON)))

    room = np.where(found.ranked, found.left, 0)
    even = counts = spread_evenly(room, more)
    best, portion = forecast(even), max(1, more // _PORTIONS)
    unit = np.eye(len(n), dtype=np.int64)
    while True:
        moves = [
            counts + (unit[to] - unit[of]) * size
            for of in np.flatnonzero(counts)
            for to in np.flatnonzero(counts < room)
            if of != to and (size := min(portion, counts[of], room[to] - counts[to])) > 0
        ]
        values = [forecast(moved) for moved in moves]
        if not moves or max(values) <= best + _GAIN:
            break
        best, counts = max(values), moves[int(np.argmax(values))]
    return LabelPlan(counts, float(np.count_nonzero(found.outcomes)), forecast(even), best)


def decided_at_random(found: Ranking, more: int) -> float:
    """Return how many pairs of systems `more` labels of pairs of answers at random decide.

    The forecast of `labels_to_buy`. A label is of both systems of its pair, and an error of a
    difference falls as 1/√n of their labels.
    """
    first, second = found.pairs
    each = more * found.left / max(1.0, found.left.sum() / 2)
    share = np.minimum(each, found.left) / np.maximum(found.labels + each, 1)
    return _decided(found, found.errors**2 * (share[first] + share[second]) / 2)


def _decided(found: Ranking, gone: FloatArray) -> float:
    """Return the expected number of pairs decided once so much of each variance is gone."""
    from scipy.special import ndtr

    base, apart = found.errors**2, np.abs(found.differences)
    spread = max(float((apart**2 - base).mean()), 0.0) if len(base) else 0.0
    shrunk = spread / np.maximum(spread + base, EPSILON)
    share = gone / np.maximum(base, EPSILON)  # the weight of new labels
    middle = apart * (1 - share * (1 - shrunk))
    error = np.sqrt(np.maximum(share * (share * shrunk * base + base - gone), EPSILON**2))
    bound = found.critical * np.sqrt(base - gone)
    return float((ndtr((middle - bound) / error) + ndtr((-middle - bound) / error)).sum())


def spread_evenly(room: IntArray, total: int) -> IntArray:
    """Return counts, at most `room` each and `total` together, that differ as little as can be."""
    counts = np.zeros(len(room), dtype=np.int64)
    for _ in range(min(total, int(room.sum()))):
        counts[np.where(counts < room, counts, np.iinfo(np.int64).max).argmin()] += 1
    return counts
