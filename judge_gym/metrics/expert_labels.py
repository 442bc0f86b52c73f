"""Judge scores corrected by the labels that experts gave to a part of the items.

Prediction-powered figures need labels of a random part of the items. Rogan-Gladen needs them to be
random among the items of each true class only, and one sensitivity and specificity for all items.
"""

from dataclasses import dataclass

import numpy as np

from judge_gym.counting import counted, there_are
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import (
    EPSILON,
    SIGNED_UNIT,
    UNBOUNDED,
    UNIT_INTERVAL,
    Estimate,
    items_for_t,
    mean_over_items,
    normal_quantile,
    not_estimable,
    skewness,
    t_quantile,
    with_interval,
)
from judge_gym.metrics.inference import welch

MIN_LABELLED = 20
"""Fewest labelled items with an interval."""
MIN_OTHERS = 2
"""Fewest other items."""
POINTS = 11
"""Points at which an isotonic curve is stored, evenly spaced over the judge's scores."""
_NO_INTERVAL = "resampling is not consistent for an isotonic curve"


def prediction_powered_mean(
    expert: FloatArray,
    judge: FloatArray,
    judge_alone: FloatArray,
    *,
    tuned: bool = True,
    published: bool = False,
    bounds: tuple[float, float] = UNBOUNDED,
) -> Estimate:
    """Return the experts' mean over all items, from few expert and many judge scores; their unit.

    λ · mean(judge_alone) + mean(expert - λ·judge): unbiased whatever the judge's errors are, as
    long as the labelled items (`expert`, `judge`: one entry each) are a random part. λ = 1, or
    the value that minimises the variance when `tuned`, so that a useless judge costs nothing.
    Estimate and interval are cut to `bounds`, the scale.

    Interval: t with n - 2 degrees of freedom over n labelled items. Needs 20 of them, two others,
    and n > 25·skewness² (Cochran 1977) of labels and of corrections. Under these conditions
    its coverage was 94 to 98% for 20 to 100 labels on five kinds of scores. Labels that crowd at
    one end, where it fails, are refused in 95% of sets of up to 50.

    Labels that are all at the ends of the scale are shares, and none of them crowds: their interval
    is that t of the items with one more of each label and judgement, at the ends, among those with
    a label, and two of each judgement among the others (Agresti and Caffo 2000, The American
    Statistician 54, for differences of shares). It held shares from 0.5 to 0.98 in 94.9 to 100% of
    sets of 20 to 80 labels by five judges, and missed them on one side in at most 3.9%.

    The normal interval as `published` needs two labelled items; its coverage was 78% with 5 labels
    and 90% with 15. Sources: Angelopoulos et al. 2023, Science 382; Angelopoulos, Duchi and Zrnic
    2023 for λ.
    """
    metric, few = "prediction_powered_mean", len(expert)
    part = Labelled(expert, judge, judge_alone)
    means = _corrected_means(part, bounds, tuned=tuned, published=published)
    if isinstance(means, str):
        return not_estimable(metric, means, n=part.n, n_items=part.n)
    found, middle = means
    half = normal_quantile() * found.published_error if published else middle.half
    kind = "normal" if published else "t"
    method = (
        f"judge scores corrected by {few} labelled items, weight {found.weight:.2f}; {kind} "
        "interval"
    )
    at = float(np.clip(found.mean, *bounds))
    estimate = Estimate(metric, at, None, None, part.n, part.n, method=method)
    ends = min(middle.mean - half, at), max(middle.mean + half, at)
    return with_interval(estimate, ends if half > EPSILON else None, bounds)


@dataclass(frozen=True)
class _CorrectedMean:
    """A mean with the variances of its two parts: of the labels' `rectified`, and of the others."""

    mean: float
    weight: float
    rectified: float
    """The variance of what labels correct, before it is divided by their number."""
    others: float
    """The variance of the weighted mean of the judge's other scores."""
    labels: int
    skewness: float

    @property
    def df(self) -> int:
        return self.labels - 2

    @property
    def error(self) -> float:
        return float((self.rectified / self.df + self.others) ** 0.5)

    @property
    def published_error(self) -> float:
        return float((self.rectified / self.labels + self.others) ** 0.5)

    @property
    def half(self) -> float:
        return t_quantile(self.df) * self.error


def _corrected_means(
    part: "Labelled", scale: tuple[float, float], *, tuned: bool, published: bool = False
) -> tuple[_CorrectedMean, _CorrectedMean] | str:
    """Return the mean, and the one that its interval is around; a reason where there is none."""
    few, many, least = len(part.expert), len(part.judge_alone), 2 if published else MIN_LABELLED
    if few >= least and many < 2:
        there = f"{'is' if many else 'are'} {many or 'none'}"
        return f"it needs 2 items without a label, and there {there}"
    if few < least:
        short = {"labelled": least - few, "other": 2 - many}
        more = " and ".join(f"{n} {kind}" for kind, n in short.items() if n > 0)
        return (
            f"it needs {least} labelled items and 2 others, and there are {few} and {many}: "
            f"{more} more"
        )
    found = _corrected_mean(part.expert, part.judge, part.judge_alone, tuned=tuned)
    if published:
        return found, found
    if are_shares(part.expert, scale):
        with_each = _with_each(part.expert, part.judge, part.judge_alone, scale)
        return found, _corrected_mean(*with_each, tuned=tuned)
    enough = items_for_t(found.skewness)
    if few < enough:
        return (
            f"{few} labels crowd at one end: an interval of so few is not dependable, and "
            f"{enough - few} more like them would do; there are {counted(many, 'other')}"
        )
    return found, found


def are_shares(labels: FloatArray, scale: tuple[float, float]) -> bool:
    """Whether all labels are at the ends of the scale."""
    return set(np.unique(labels)) <= set(scale)


def _corrected_mean(
    expert: FloatArray, judge: FloatArray, judge_alone: FloatArray, *, tuned: bool
) -> _CorrectedMean:
    weight = _tuned_weight(expert, judge, judge_alone) if tuned else 1.0
    rectified = expert - weight * judge
    return _CorrectedMean(
        float(weight * judge_alone.mean() + rectified.mean()),
        weight,
        float(rectified.var()),
        weight**2 * float(judge_alone.var()) / len(judge_alone),
        len(expert),
        max(skewness(expert), skewness(rectified)),
    )


def _with_each(
    expert: FloatArray, judge: FloatArray, judge_alone: FloatArray, scale: tuple[float, float]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return them with one more item of each label and judgement at the ends of the scale.

    A judge that gives everything one score gives these the same.
    """
    scores = np.concatenate([judge, judge_alone])
    ends = np.array(scale) if np.ptp(scores) > EPSILON else scores[:2]
    return (
        np.append(expert, np.repeat(scale, 2)),
        np.append(judge, np.tile(ends, 2)),
        np.append(judge_alone, np.tile(ends, 2)),
    )


def _tuned_weight(expert: FloatArray, judge: FloatArray, judge_alone: FloatArray) -> float:
    """Return cov(expert, judge) / ((1 + n/N) · var(judge)), cut to [0, 1]."""
    spread = float(np.concatenate([judge, judge_alone]).var(ddof=1))
    if spread <= EPSILON:
        return 0.0
    shared = float(((expert - expert.mean()) * (judge - judge.mean())).mean())
    return float(np.clip(shared / ((1 + len(expert) / len(judge_alone)) * spread), 0.0, 1.0))


def labels_mean(labels: FloatArray, *, bounds: tuple[float, float] = UNBOUNDED) -> Estimate:
    """Return the mean of labels alone, in their unit.

    t interval. Labels that are all at the ends of the scale, `bounds`, are shares: theirs is that t
    of four more labels, two at each end (Agresti and Coull 1998, The American Statistician 52), as
    `prediction_powered_mean` has it of a judge that says nothing.
    """
    metric, n = "labels_mean", len(labels)
    if not n or not are_shares(labels, bounds):
        return mean_over_items(metric, labels, n=n, unit="score", bounds=bounds)
    at, of_four_more = float(labels.mean()), np.append(labels, np.repeat(bounds, 2))
    df = len(of_four_more) - 2
    half = t_quantile(df) * float(of_four_more.var() / df) ** 0.5
    middle = float(of_four_more.mean())
    method = "share of labels; t interval of four more, two at each end of the scale"
    found = Estimate(metric, at, None, None, n, n, method=method, unit="score")
    return with_interval(found, (min(middle - half, at), max(middle + half, at)), bounds)


def labels_difference(
    first: FloatArray, second: FloatArray, *, bounds: tuple[float, float] = UNBOUNDED
) -> Estimate:
    """Return the mean of the second labels less that of the first, as of independent items.

    t interval after Welch, which needs two labels of each. Labels that are all at the ends of the
    scale, `bounds`, have that of four more, two at each end, as `labels_mean` has it of each side.
    """
    metric, n = "labels_difference", len(first) + len(second)
    if not len(first) or not len(second):
        return not_estimable(metric, "one of them has no label", n=n, n_items=n)
    apart = (bounds[0] - bounds[1], bounds[1] - bounds[0])
    at = float(second.mean() - first.mean())
    method = "difference of means of labels; t interval, Welch"
    found = Estimate(metric, at, None, None, n, n, method=method)
    if min(len(first), len(second)) < 2:
        return with_interval(found, None, apart, absent="it needs two labels of each")
    ends = np.repeat(bounds, 2)
    first, second = (
        np.append(side, ends) if are_shares(side, bounds) else side for side in (first, second)
    )
    if not (np.ptp(first) or np.ptp(second)):
        return with_interval(found, None, apart)
    low, high = welch(first, second)[0]
    return with_interval(found, (min(low, at), max(high, at)), apart)


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labels of a part of the items, the judge's scores of the same, and of all other items."""

    expert: FloatArray
    judge: FloatArray
    judge_alone: FloatArray
    rows: FloatArray | None = None
    """In how many rows each item stands, those with a label first; None is one each."""
    sure: BoolArray | None = None
    """Which items are labelled whatever is drawn (`in_many_rows`), in the same order."""
    question: IntArray | None = None
    """What each item answers, in the same order, where several share one."""

    @property
    def n(self) -> int:
        """The number of items."""
        return len(self.expert) + len(self.judge_alone)

    @property
    def is_too_small(self) -> bool:
        """Whether it has fewer labelled or other items than a corrected mean needs."""
        return len(self.expert) < MIN_LABELLED or len(self.judge_alone) < MIN_OTHERS

    @property
    def weight(self) -> FloatArray:
        """The share of all rows that each item has, those with a label first."""
        rows = np.ones(self.n) if self.rows is None else self.rows
        return np.asarray(rows / rows.sum())

    @property
    def is_sure(self) -> BoolArray:
        """`sure`, none of them by default."""
        return np.zeros(self.n, dtype=np.bool_) if self.sure is None else self.sure


def prediction_powered_difference(
    first: Labelled,
    second: Labelled,
    *,
    scale: tuple[float, float] = UNBOUNDED,
    names: tuple[str, str] = ("the first", "the second"),
) -> Estimate:
    """Return the experts' mean of the second system less that of the first; their unit.

    `scale` is that of the labels, and a reason uses `names` of the systems. One judge scored both
    systems, and experts labelled a random part of each. Each mean is corrected by its own labels,
    so that the judge may favour a system. Systems have items of their own; where both answer the
    same items, pass the differences to `prediction_powered_mean`.

    Interval: t with Welch's degrees of freedom from n - 2 of each. Both systems need what
    `prediction_powered_mean` needs, and shares have its interval, of each system by itself. Source:
    as there, for the difference of two means.
    """
    metric, n = "prediction_powered_difference", first.n + second.n
    of_parts, obstacles = [], []
    for name, part in zip(names, (first, second), strict=True):
        means = _corrected_means(part, scale, tuned=True)
        if isinstance(means, str):
            obstacles.append(f"{name}: {means}")
        elif means[1].half <= EPSILON:
            obstacles.append(f"{name}: the labels do not vary")
        else:
            of_parts.append(means)
    if obstacles:
        return not_estimable(metric, "; ".join(obstacles), n=n, n_items=n)
    (one, around_one), (other, around_other) = of_parts
    variance = around_one.error**2 + around_other.error**2
    welch = variance**2 / sum(mean.error**4 / mean.df for mean in (around_one, around_other))
    middle, half = around_other.mean - around_one.mean, t_quantile(welch) * variance**0.5
    labels = f"{len(first.expert)} and {len(second.expert)} labelled items"
    method = f"judge scores corrected by {labels}; t interval, Welch"
    bounds = (scale[0] - scale[1], scale[1] - scale[0])
    at = float(np.clip(other.mean - one.mean, *bounds))
    estimate = Estimate(metric, at, None, None, n, n, method=method)
    return with_interval(estimate, (min(middle - half, at), max(middle + half, at)), bounds)


@dataclass(frozen=True)
class Screened:
    """How a judge marks items: `positive` of `tested` items without a label, and, of items with
    one, `hits` of `truly` that are positive and `passes` of `not_truly` that are negative.

    Counts may be fractions, the mean over a judge's replicates. `effects` are the design effects
    of the shares `positive`, `hits` and `passes`, above 1 where items share questions.
    """

    positive: float
    tested: int
    hits: float
    truly: int
    passes: float
    not_truly: int
    effects: tuple[float, float, float] = (1.0, 1.0, 1.0)


MIN_OF_CLASS = 5
"""Fewest labelled items of each true class for a correction by sensitivity and specificity."""


def rogan_gladen(screened: Screened) -> Estimate:
    """Return the share of items without a label that are truly positive, in [0, 1].

    (AP + Sp - 1) / (Se + Sp - 1) with the share AP of these items that the judge marks, and its
    sensitivity Se and specificity Sp on labelled items (Rogan and Gladen 1978, American Journal of
    Epidemiology 107), cut to [0, 1]. It leaves out the labelled items' own share. Interval over
    both samples: Lang and Reiczigel 2014, Preventive Veterinary Medicine 113, which adds
    pseudo-observations to all three shares. Needs 5 labelled items of each class, one item without
    a label, and a judge better than chance: the lower end of the 95% interval of Se + Sp - 1 is
    above 0. Its coverage was 95 to 100% with 16 to 30 labels (docs/reference/coverage.md) and 95 to
    98% with 60 or more.
    """
    metric, labelled = "rogan_gladen_share", screened.truly + screened.not_truly
    n, unit = screened.tested + labelled, "share"
    because = _screening_obstacle(screened)
    if because:
        return not_estimable(metric, because, n=n, n_items=n, unit=unit)
    se, sp = screened.hits / screened.truly, screened.passes / screened.not_truly
    share = (screened.positive / screened.tested + sp - 1) / (se + sp - 1)
    parts = _adjusted(screened)
    z = normal_quantile()
    at = (parts.ap + parts.sp - 1) / parts.youden
    shift = 2 * z**2 * (at * parts.var_se - (1 - at) * parts.var_sp)
    variance = parts.var_ap + at**2 * parts.var_se + (1 - at) ** 2 * parts.var_sp
    half = z * variance**0.5 / parts.youden
    method = (
        f"of the {screened.tested} items without a label; "
        f"corrected by sensitivity {se:.2f} (of {screened.truly}) and specificity {sp:.2f} "
        f"(of {screened.not_truly}); Lang-Reiczigel interval"
    )
    cut = float(np.clip(share, *UNIT_INTERVAL))
    estimate = Estimate(metric, cut, None, None, n, n, method=method, unit=unit)
    middle = at + shift
    # Where the point estimate is cut to an end, the interval may lie beside it.
    interval = min(middle - half, cut), max(middle + half, cut)
    return with_interval(estimate, interval, UNIT_INTERVAL)


def rogan_gladen_difference(
    first: Screened, second: Screened, *, effects: tuple[float, float, float] = (1.0, 1.0, 1.0)
) -> Estimate:
    """Return the share of truly positive items of the second system less that of the first.

    (AP₂ - AP₁) / (Se + Sp - 1): sensitivity and specificity are those of the labelled items of both
    systems together, so the judge must err alike on both; in [-1, 1]. Interval: the variance of
    Rogan and Gladen by the delta method, with the pseudo-observations of Lang and Reiczigel 2014.
    `effects` are those of both together. Needs what `rogan_gladen` needs.
    """
    metric = "rogan_gladen_difference"
    both = Screened(
        first.positive + second.positive,
        first.tested + second.tested,
        first.hits + second.hits,
        first.truly + second.truly,
        first.passes + second.passes,
        first.not_truly + second.not_truly,
        effects,
    )
    n, unit = both.tested + both.truly + both.not_truly, "share"
    because = _screening_obstacle(both)
    if not because and not (first.tested and second.tested):
        because = "every item of a system has a label"
    if because:
        return not_estimable(metric, because, n=n, n_items=n, unit=unit)
    youden = both.hits / both.truly + both.passes / both.not_truly - 1
    apparent = second.positive / second.tested - first.positive / first.tested
    parts, one, other = _adjusted(both), _adjusted(first), _adjusted(second)
    at = (other.ap - one.ap) / parts.youden
    variance = one.var_ap + other.var_ap + at**2 * (parts.var_se + parts.var_sp)
    half = normal_quantile() * variance**0.5 / parts.youden
    method = (
        f"of the {both.tested} items without a label; "
        f"corrected by Se + Sp - 1 = {youden:.2f} of both systems; delta interval"
    )
    cut = float(np.clip(apparent / youden, *SIGNED_UNIT))
    estimate = Estimate(metric, cut, None, None, n, n, method=method, unit=unit)
    return with_interval(estimate, (min(at - half, cut), max(at + half, cut)), SIGNED_UNIT)


@dataclass(frozen=True)
class _Adjusted:
    """Shares with pseudo-observations, and their variances; `youden` is Se + Sp - 1."""

    ap: float
    se: float
    sp: float
    var_ap: float
    var_se: float
    var_sp: float

    @property
    def youden(self) -> float:
        return self.se + self.sp - 1


def _adjusted(screened: Screened) -> _Adjusted:
    z = normal_quantile()
    tested, truly, not_truly = screened.tested + z**2, screened.truly + 2, screened.not_truly + 2
    ap = (screened.positive + z**2 / 2) / tested
    se, sp = (screened.hits + 1) / truly, (screened.passes + 1) / not_truly
    variances = (
        effect * share * (1 - share) / n
        for effect, share, n in zip(
            screened.effects, (ap, se, sp), (tested, truly, not_truly), strict=True
        )
    )
    return _Adjusted(ap, se, sp, *variances)


def _screening_obstacle(screened: Screened) -> str:
    least = min(screened.truly, screened.not_truly)
    if least < MIN_OF_CLASS:
        return (
            f"it needs {MIN_OF_CLASS} labelled items of each class, and there are "
            f"{screened.truly} and {screened.not_truly}"
        )
    if not screened.tested:
        return "every item has a label"
    parts = _adjusted(screened)
    if parts.youden - normal_quantile() * (parts.var_se + parts.var_sp) ** 0.5 <= 0:
        return "the judge may be no better than chance (sensitivity + specificity - 1 may be 0)"
    return ""


@dataclass(frozen=True, eq=False)
class IsotonicCurve:
    """The expected truth at the judge's scores `at` (ascending), linear between them."""

    at: FloatArray
    truth: list[Estimate]


def isotonic_calibration(expert: FloatArray, judge: FloatArray) -> IsotonicCurve:
    """Return the least-squares rising curve of `expert` over `judge`, read at 11 even scores.

    Both hold one entry per labelled item; the curve is in the unit of the expert's scores and is
    read from the judge's lowest labelled score to its highest. It has no interval: resampling is
    not consistent for it, and covered the truth in 61 to 83% of slices whose labels lie at an end
    of the scale. Needs 20 labelled items; with fewer, or one judge score for all, the curve is one
    figure that is not estimable. Source: Barlow et al. 1972, by pool-adjacent-violators.
    """
    from scipy.optimize import isotonic_regression

    n, metric = len(expert), "isotonic_truth"
    because = ""
    if n < MIN_LABELLED:
        because = f"it needs {MIN_LABELLED} labelled items, and {there_are(n)}"
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
        Estimate(metric, value, None, None, n, n, method=method, because=_NO_INTERVAL)
        for value in values.tolist()
    ]
    return IsotonicCurve(at, figures)
