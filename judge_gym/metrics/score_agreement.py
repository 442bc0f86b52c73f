"""Agreement of scores: of two judges, or of judges with the truth, on the same items.

The score of an item is its mean over runs. Correlation is not agreement: two judges with the same
ranking may differ by 40 points. Intervals of coefficients are t intervals on Fisher's scale, with
the standard error of resampling items, and so stay within the coefficient's range. Perfect
agreement shows no spread: its interval reaches to (n - 3)/(n + 1), what one more item could make of
τ-b.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.counting import there_are
from judge_gym.metrics.agreement import ratio_or_nan
from judge_gym.metrics.cells import FloatArray, IntArray, numbered
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import (
    EPSILON,
    LEVEL,
    SIGNED_UNIT,
    BoundedMethod,
    Estimate,
    Interval,
    effective_counts,
    jackknife_interval,
    jackknife_weights,
    largest_share_unseen,
    mean_difference,
    normal_quantile,
    not_estimable,
    resampled_interval,
    t_interval,
    t_quantile,
    wilson,
    with_interval,
)
from judge_gym.metrics.inference import MOST_ITEMS, POWER, kendall_tau_b

MIN_ITEMS = 4
_FURTHEST_APART = 100.0
_POINTS_APART = (-_FURTHEST_APART, _FURTHEST_APART)
BEYOND_LIMITS = 0.05
"""The share of differences outside the limits of agreement."""


def bland_altman(
    first: FloatArray, second: FloatArray, question: IntArray | None = None
) -> list[Estimate]:
    """Return the bias (mean of second - first) and the limits of agreement, in points.

    Over questions, where several items answer one: n is then the number of items that would have
    the variance of the bias if they were independent.

    The limits, bias ± 1.96·s, hold 95% of normal differences of items; they and all intervals are
    cut to ±100, beyond which no difference lies. t intervals; the variance of a limit is
    s²·(1/n + 1.96²/(2(n - 1))). Where all differences are equal, the bias is `mean_difference`,
    and so are the limits if at most 5% of items may have another difference by the exact binomial,
    from 72 items on; with fewer, they may lie anywhere outside it. Needs two items. Source: Bland
    and Altman 1999, Statistical Methods in Medical Research 8.
    """
    differences = second - first
    n = len(differences)
    names, unit = ("agreement_lower", "agreement_upper"), "points"
    bias = mean_difference(
        "agreement_bias", differences, unit=unit, widest=_FURTHEST_APART, question=question
    )
    if n < 2:
        because = f"it needs 2 items, and {there_are(n)}"
        return [bias, *(not_estimable(name, because, n=n, n_items=n, unit=unit) for name in names)]
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    z = normal_quantile()
    worth, df = _independent_items(differences, question)
    half = t_quantile(df) * spread * (1 / worth + z**2 / (2 * (worth - worth / n))) ** 0.5
    limits = []
    for name, sign in zip(names, (-1, 1), strict=True):
        limit = float(np.clip(mean + sign * z * spread, *_POINTS_APART))
        estimate = Estimate(name, limit, None, None, n, n, method="limit of agreement", unit=unit)
        ends = limit - half, limit + half
        if np.ptp(differences) <= EPSILON:
            estimate = replace(estimate, method=BoundedMethod.LIMITS_ALIKE)
            shown = largest_share_unseen(n) < BEYOND_LIMITS
            other = limit if shown else sign * _FURTHEST_APART
            ends = min(limit, other), max(limit, other)
        limits.append(with_interval(estimate, ends, _POINTS_APART))
    return [bias, *limits]


def _independent_items(differences: FloatArray, question: IntArray | None) -> tuple[float, float]:
    """Return how many independent items have the variance of the mean of these, at most all; df."""
    n, variance = len(differences), float(differences.var(ddof=1))
    if question is None or variance <= EPSILON:
        return float(n), n - 1.0
    interval = t_interval(differences, cluster=question)
    df = len(np.unique(question)) - 1.0
    if interval is None:
        return 1.0, 1.0
    error = (interval[1] - interval[0]) / 2 / t_quantile(df)
    return min(float(n), variance / error**2) if error > EPSILON else float(n), df


def concordance(x: FloatArray, y: FloatArray, rng: np.random.Generator) -> Estimate:
    """Return Lin's concordance correlation, 2·s12 / (s1² + s2² + (m1 - m2)²), in [-1, 1].

    1 only where every score is the same. Needs 4 items, and scores that vary. Source: Lin 1989,
    Biometrics 45.
    """

    def coefficient(weights: FloatArray) -> FloatArray:
        first, second, shared, apart = _moments(x, y, weights, np.arange(len(x)))
        return ratio_or_nan(2 * shared, first + second + apart**2)

    return score_coefficient("concordance", x, y, coefficient, rng)


def rank_agreement(x: FloatArray, y: FloatArray, rng: np.random.Generator) -> Estimate:
    """Return Kendall's τ-b, corrected for ties, in [-1, 1], with the p of no association.

    Needs 4 items, and scores that vary. Memory grows with the square of the items. Source:
    Kendall 1945, Biometrika 33.
    """
    orders = [np.sign(np.subtract.outer(side, side)) for side in (x, y)]
    products = (orders[0] * orders[1], orders[0] ** 2, orders[1] ** 2)

    def tau(weights: FloatArray) -> FloatArray:
        shared, first, second = (((weights @ part) * weights).sum(axis=1) for part in products)
        return ratio_or_nan(shared, np.sqrt(first * second))

    estimate = score_coefficient("rank_agreement", x, y, tau, rng)
    test = kendall_tau_b(x, y) if estimate.estimate is not None else None
    return replace(estimate, p=test[1]) if test else estimate


def label_agreement(
    labels: FloatArray,
    judged: FloatArray,
    *,
    level: float = LEVEL,
    cluster: IntArray | None = None,
) -> Estimate:
    """Return Lin's concordance of a judge's scores with people's labels, at most 1; 0 is chance.

    For two verdicts it is Cohen's κ, for whole steps κ with quadratic weights. Both arrays are (n,)
    or (n, d): with a column per class, 1 or 0, it is the unweighted κ of classes. The interval is t
    on Fisher's scale with the jackknife error or, if wider, what Wilson's interval of the share of
    labels missed makes of it with two misses by chance added: a handful of misses says little of
    how many there are. For the lower end, misses count as (Σd²)²/Σd⁴ of one size. It lay above the
    true value in at most 6% of sets of verdicts and steps and in up to 8% where 5% or, of 30
    labels, 30% on a scale of points are missed by a random amount, the upper below it in at most 5%
    (10 to 200 labels), but in up to 17% where 15 labels or fewer mostly have the highest score.
    `level` is that of the interval. Items of one `cluster` (numbered from 0, without a gap) are
    left out together, and their misses count as `effective_counts` says. Needs 4 labels that vary.
    """
    metric, n = "label_agreement", len(labels)
    cluster = np.arange(n) if cluster is None else cluster
    n_items = int(cluster.max()) + 1 if n else 0
    if n_items < MIN_ITEMS or np.ptp(labels, axis=0).max() <= EPSILON:
        few = f"texts with a label and a score: {n_items}"
        because = "all labels are the same" if n_items >= MIN_ITEMS else few
        return not_estimable(metric, because, n=n, n_items=n_items)
    labels, judged = labels.reshape(n, -1), judged.reshape(n, -1)
    missed = ((labels - judged) ** 2).sum(axis=1)
    apart = float(_independent(labels, judged, np.ones((1, n)))[0])
    value = 1 - float(missed.mean()) / apart
    left_out = jackknife_weights(n_items)[:, cluster]
    shares = ratio_or_nan(left_out, left_out.sum(axis=1, keepdims=True))
    agreements = 1 - ratio_or_nan(shares @ missed, _independent(labels, judged, left_out))
    near = jackknife_interval(value, agreements, level)
    ends: list[float] = []
    if near is not None and abs(value) < 1 - EPSILON:
        half = (near[1] - near[0]) / 2 / (1 - value**2)
        ends = [float(np.tanh(np.arctanh(value) + step)) for step in (-half, half)]
    differ = share_differing(labels, judged)
    trials = np.bincount(cluster)
    sums = np.bincount(cluster, missed > EPSILON)
    least, most = worst_and_best(
        missed, differ, apart, level=level, weight=effective_counts(sums, trials, level)[1] / n
    )
    method = "Lin's concordance with labels; t interval on Fisher's scale or Wilson's of misses"
    return with_interval(
        Estimate(
            metric, value, None, None, n, n_items, method=method, unit="agreement beyond chance"
        ),
        (min([value, *ends, least]), max([value, *ends, most])),
        SIGNED_UNIT,
    )


@dataclass(frozen=True, eq=False)
class AnswersAgreement:
    """How a judge agrees with the labels of answers, of which several may have one text."""

    met: Estimate
    """The share of labels that are met, of all answers; those without a score meet none."""
    beyond_chance: Estimate
    """`label_agreement` of the answers with a score."""
    text: IntArray
    """The text of each answer with a score, numbered from 0."""

    @property
    def hits(self) -> int:
        """How many labels are met."""
        return round((self.met.estimate or 0.0) * self.met.n)


def answers_agreement(
    labels: FloatArray,
    judged: FloatArray,
    times: IntArray,
    unscored: IntArray,
    near: float,
    question: IntArray | None = None,
) -> AnswersAgreement:
    """Return it from a label and a score for each text, in one unit, both (n,).

    A label is met within `near`. `times` is how many answers each text stands for, `unscored` the
    same of texts with a label and no score. Intervals are clustered by text, or by the `question`
    of each, of those without a score at the end.
    """
    text = np.repeat(np.arange(len(labels)), times)
    met = clustered_share(
        "labels_met",
        np.append((np.abs(labels - judged) <= near) * times, np.zeros_like(unscored)),
        np.append(times, unscored),
        None if question is None else numbered(question),
    )
    cluster = text if question is None else numbered(question[text])
    agreed = label_agreement(labels[text], judged[text], cluster=cluster)
    if agreed.estimate is not None:
        agreed = replace(agreed, n_items=len(np.unique(text)))
    return AnswersAgreement(met, agreed, text)


def agreement_gain(
    labels: FloatArray, before: FloatArray, after: FloatArray, question: IntArray | None = None
) -> Estimate:
    """Return how much better a judge agrees with labels than the one before it, on the same texts.

    The difference of Lin's concordances (of two verdicts: of Cohen's κ), after less before; all
    arrays are (n,), in [-2, 2]. t interval with SE² = jackknife SE² over texts + 2·g²/n², where g
    is the root mean square of what single texts, where the judges differ, add to n times the gain:
    as if one more text had gained and one more had lost (Agresti and Min 2005, Statistics in
    Medicine 24, for shares). Without it four texts that gain and none that loses would exclude 0.
    Of judges that agree equally well with people, it lay above 0 in at most 3% of sets of 10 to 100
    texts, and below 0 as often (verdicts, five steps, points). Of judges that differ by up to 0.7
    it lay above the true gain in at most 5% of sets of 15 to 120 texts, and below it in at most
    8%. Needs 4 labels that vary. Over questions, where several texts answer one.
    """
    metric, n = "agreement_gain", len(labels)
    unit = "agreement beyond chance"
    cluster = np.arange(n) if question is None else numbered(question)
    if n < MIN_ITEMS or np.ptp(labels) <= EPSILON:
        because = (
            "all labels are the same" if n >= MIN_ITEMS else f"texts with a label and scores: {n}"
        )
        return not_estimable(metric, because, n=n, n_items=n, unit=unit)
    found = _gained(labels, before, after, cluster)
    over = "texts" if question is None else "questions"
    method = f"Lin's concordance with labels, after less before; jackknife over {over}, t interval"
    estimate = Estimate(metric, found.value, None, None, n, n, method=method, unit=unit)
    if not (np.abs(before - after) > EPSILON).any():
        return with_interval(
            estimate, None, absent="the two judges agree with each other on every text"
        )
    if found.by_text is None:
        return with_interval(estimate, None, absent="but for one text all labels are the same")
    questions = len(np.unique(cluster))
    if questions < 2:
        return with_interval(estimate, None, absent="all texts answer one question")
    half = found.half(questions)
    return with_interval(estimate, (found.value - half, found.value + half), (-2.0, 2.0))


def texts_for_gain(labels: FloatArray, before: FloatArray, after: FloatArray) -> int | None:
    """Return with how many texts the interval of `agreement_gain` excludes 0 in 80% of draws.

    If the gain, or loss, and the spread over texts are as in these. Of 2,000 sets of that size 79
    to 84% exclude 0 of verdicts and of five steps, and 89 to 97% of points, whose gain and its
    error rise together. None without an interval, and above a million.
    """
    if agreement_gain(labels, before, after).lower is None:
        return None
    found = _gained(labels, before, after, np.arange(len(labels)))

    def spare(texts: int) -> float:
        varies = normal_quantile(2 * POWER - 1) * found.error(texts)
        return abs(found.value) - found.half(texts) - varies

    if spare(MOST_ITEMS) < 0:
        return None
    return bisect_left(range(MOST_ITEMS), 0.0, lo=MIN_ITEMS, key=spare)


@dataclass(frozen=True)
class _Gained:
    """A gain in agreement on n texts, and what its error is made of."""

    value: float
    by_text: float | None
    """n times the squared standard error over texts; None without one."""
    single: float
    """The mean square of what single texts, where the judges differ, add to n times the gain."""

    def error(self, texts: int) -> float:
        """Return the standard error of the gain on so many texts."""
        return math.sqrt((self.by_text or 0.0) / texts)

    def half(self, texts: int) -> float:
        """Return half the interval on so many texts: as if one more had gained, and one lost."""
        added = 2 * self.single / texts**2
        return t_quantile(texts - 1) * math.sqrt(self.error(texts) ** 2 + added)


def _gained(
    labels: FloatArray, before: FloatArray, after: FloatArray, cluster: IntArray
) -> _Gained:
    n, columns = len(labels), labels[:, None]
    questions = int(cluster.max()) + 1
    scores = [judged[:, None] for judged in (before, after)]
    missed = [((columns - judged) ** 2).sum(axis=1) for judged in scores]

    def gain(weights: FloatArray) -> FloatArray:
        shares = weights / weights.sum(axis=1, keepdims=True)
        of_before, of_after = (
            1 - ratio_or_nan(shares @ of_texts, _independent(columns, judged, weights))
            for of_texts, judged in zip(missed, scores, strict=True)
        )
        return np.asarray(of_after - of_before)

    everything = np.ones((1, n))
    value = float(gain(everything)[0])
    left_out = np.full(1, np.nan)
    if questions > 1:
        left_out = gain(jackknife_weights(questions)[:, cluster])
    near = jackknife_interval(0.0, left_out)
    by_text = 0.0 if near is None else questions * (near[1] / t_quantile(questions - 1)) ** 2
    apart = [float(_independent(columns, judged, everything)[0]) for judged in scores]
    differ = np.abs(before - after) > EPSILON
    added = np.bincount(cluster, missed[0] / apart[0] - missed[1] / apart[1]) * questions / n
    single = added[np.bincount(cluster, differ) > 0]
    return _Gained(
        value,
        by_text if np.isfinite(left_out).all() else None,
        float((single**2).mean()) if differ.any() else 0.0,
    )


def _independent(labels: FloatArray, judged: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mean squared distance of labels and scores of different draws, per row."""
    shares = weights / weights.sum(axis=1, keepdims=True)
    squares = (labels**2).sum(axis=1) + (judged**2).sum(axis=1)
    return np.asarray(shares @ squares - 2 * ((shares @ labels) * (shares @ judged)).sum(axis=1))


def share_differing(first: FloatArray, second: FloatArray) -> float:
    """Return the share of pairs of a row of each, (n, d) and (m, d), that are not the same."""
    _, place = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
    one, other = (
        np.bincount(side, minlength=place.max() + 1)
        for side in np.split(place.ravel(), [len(first)])
    )
    return 1 - float(one @ other) / (len(first) * len(second))


def worst_and_best(
    missed: FloatArray,
    differ: float,
    apart: float,
    *,
    level: float = LEVEL,
    weight: float = 1.0,
) -> tuple[float, float]:
    """Return the agreement at the ends of Wilson's interval of the share of items missed.

    `missed` are squared distances per item, `apart` their mean of independent draws, of which a
    share `differ` is not 0. Two misses by chance are added. For the worst case, misses of unequal
    size count as fewer of one size. `weight` is how many independent items each one counts as.
    """
    total, n = float(missed.sum()) * weight, len(missed) * weight
    count = float((missed > EPSILON).sum()) * weight
    effective = total**2 / (float((missed**2).sum()) * weight) if count else 0.0

    def size(misses: float) -> float:
        return (total / apart + 2 / differ) / (misses + 2)

    return (
        1 - wilson(effective, n, level)[1] * size(effective),
        1 - wilson(count, n, level)[0] * size(count),
    )


def score_alpha(table: FloatArray, rng: np.random.Generator) -> Estimate:
    """Return Krippendorff's α for interval data of `table` (items x judges), at most 1.

    NaN where a judge gave an item no score; items that one judge alone scored are left out. 0 is
    chance. Interval: t with the standard error of resampling items. Needs an item that two
    judges scored, and scores that vary. Source: Krippendorff 2019, Content Analysis, chapter 12.
    """
    metric, unit = "krippendorff_alpha_scores", "agreement beyond chance"
    shared = table[(~np.isnan(table)).sum(axis=1) > 1]
    present = ~np.isnan(shared)
    size = present.sum(axis=1).astype(np.float64)
    n, n_items = int(size.sum()), len(shared)
    if not n_items:
        return not_estimable(metric, "no item was scored by two judges", unit=unit)
    values = np.where(present, shared - shared[present].mean(), 0.0)
    total, squares = values.sum(axis=1), (values**2).sum(axis=1)
    # Of ordered pairs: Σ (x - y)² = 2·(m·Σx² - (Σx)²).
    within = 2 * (size * squares - total**2) / (size - 1)

    def alpha(weights: FloatArray) -> FloatArray:
        count = weights @ size
        expected = 2 * (count * (weights @ squares) - (weights @ total) ** 2) / (count - 1)
        return 1 - ratio_or_nan(weights @ within, expected)

    value = float(alpha(np.ones((1, n_items)))[0])
    if not np.isfinite(value):
        return not_estimable(metric, "all scores are the same", n=n, n_items=n_items, unit=unit)
    method = "interval data, runs averaged; t interval, items resampled"
    estimate = Estimate(metric, value, None, None, n, n_items, method=method, unit=unit)
    return with_interval(estimate, resampled_interval(alpha, n_items, rng), (-1.0, 1.0))


def _moments(
    first: FloatArray, second: FloatArray, weights: FloatArray, cluster: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return both variances (divisor n), the covariance and the difference of means, per row.

    `weights` are rows x clusters.
    """
    # About the common mean, so that no digits are lost where scores hardly differ.
    middle = (first.mean() + second.mean()) / 2
    x, y = first - middle, second - middle
    sums = [
        np.bincount(cluster, weights=part) for part in (np.ones_like(x), x, y, x**2, y**2, x * y)
    ]
    n, *totals = (weights @ part for part in sums)
    mean_x, mean_y, square_x, square_y, product = (total / n for total in totals)
    return (
        square_x - mean_x**2,
        square_y - mean_y**2,
        product - mean_x * mean_y,
        mean_x - mean_y,
    )


def score_coefficient(
    metric: str,
    first: FloatArray,
    second: FloatArray,
    statistic: Callable[[FloatArray], FloatArray],
    rng: np.random.Generator,
    cluster: IntArray | None = None,
) -> Estimate:
    """Return a coefficient in [-1, 1] with its t interval on Fisher's scale, items resampled.

    `statistic` maps weights of items, or of the `cluster` of each, to values (draws). Needs 4 items
    or clusters, and two sides that vary.
    """
    size = len(first)
    n = size if cluster is None else int(cluster.max(initial=-1)) + 1
    if n < MIN_ITEMS:
        because = f"it needs {MIN_ITEMS} items in common, and {there_are(n)}"
        return not_estimable(metric, because, n=size, n_items=n)
    if min(np.ptp(first), np.ptp(second)) <= EPSILON:
        return not_estimable(metric, "one of the two is the same for all items", n=size, n_items=n)
    value = float(np.clip(statistic(np.ones((1, n)))[0], -1.0, 1.0))
    method = "over items; t interval on Fisher's scale, items resampled"
    if abs(value) >= 1 - EPSILON:
        method = "over items; to what one item more could make of it"
    estimate = Estimate(metric, value, None, None, size, n, method=method, unit="coefficient")
    return with_interval(estimate, _on_fishers_scale(value, statistic, n, rng))


def _on_fishers_scale(
    value: float, statistic: Callable[[FloatArray], FloatArray], n: int, rng: np.random.Generator
) -> Interval | None:
    if abs(value) >= 1 - EPSILON:
        # τ of a perfect order and one item more that is out of order with every other.
        ends = sorted((value, value * (n - 3) / (n + 1)))
        return ends[0], ends[1]

    def stretched(weights: FloatArray) -> FloatArray:
        values = statistic(weights)
        inside = np.abs(values) < 1 - EPSILON
        return np.arctanh(values, where=inside, out=np.full_like(values, np.nan))

    interval = resampled_interval(stretched, n, rng)
    return None if interval is None else (float(np.tanh(interval[0])), float(np.tanh(interval[1])))
