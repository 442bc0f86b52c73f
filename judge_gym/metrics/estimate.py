"""Estimates and their 95% intervals: the common output of the metrics.

Intervals: t over item values, Wilson, Wilson clustered by item, resampling of items. The item is
the unit, or its question where several items answer one (`cluster` numbers these from 0).
Replicates of a cell are never resampled, because they repeat one judge's reading of one text and
add no independent evidence.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from judge_gym import formats
from judge_gym.metrics.bounded_means import bounded_interval
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray

Interval = tuple[float, float]

LEVEL = 0.95
RESAMPLES = 2000
# Weights held at once while resampling: bounds memory, and fits a cache.
BLOCK = 500_000
# Two values closer than this are the same value up to rounding.
EPSILON = 1e-12


def t_interval(
    values: FloatArray, level: float = LEVEL, cluster: IntArray | None = None
) -> Interval | None:
    """Return mean ± t(n-1) · s/√n over item values (ddof 1); None for n < 2 or no spread.

    With a `cluster` of each value the values are those `of_clusters`.
    """
    if cluster is not None:
        values = of_clusters(values, cluster)
    if len(values) < 2 or np.ptp(values) <= EPSILON:
        return None
    mean = float(np.mean(values))
    half = t_quantile(len(values) - 1, level) * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return mean - half, mean + half


def of_clusters(values: FloatArray, cluster: IntArray) -> FloatArray:
    """Return a value for each cluster, whose mean is that of the values and whose spread is that of
    clusters: the `linearised_ratio` of their sums to their sizes."""
    sizes = np.bincount(cluster)
    if len(sizes) == len(values):
        return values
    return linearised_ratio(np.bincount(cluster, weights=values), sizes)


def linearised_ratio(sums: FloatArray | IntArray, sizes: IntArray) -> FloatArray:
    """Return Σ sums / Σ sizes plus the residual of each entry over the mean size.

    Their mean is the ratio, and their standard error is that of the ratio, linearised. Source:
    Cochran 1977, Sampling Techniques, section 6.4.
    """
    ratio = sums.sum() / sizes.sum()
    return np.asarray(ratio + (sums - ratio * sizes) / sizes.mean())


_COCHRAN = 25


def items_for_t(skewed: float) -> int:
    """Return the fewest items of values of this `skewness` whose t interval is dependable.

    n > 25·skewness². Source: Cochran 1977, Sampling Techniques.
    """
    return int(_COCHRAN * skewed**2) + 1


def skewness(values: FloatArray) -> float:
    """Return the size of the third standardised moment; 0 without spread."""
    apart = values - values.mean()
    spread = float((apart**2).mean()) ** 0.5
    return abs(float((apart**3).mean())) / spread**3 if spread > EPSILON else 0.0


@lru_cache(maxsize=4096)
def wilson(successes: float, trials: float, level: float = LEVEL) -> Interval:
    """Return the Wilson score interval of a proportion, in [0, 1]; needs trials > 0.

    Both numbers may be effective (fractional) sizes. Source: Wilson 1927, JASA 22.
    """
    if trials <= 0:
        raise ValueError("a proportion needs at least one trial")
    # Not by statsmodels, which every command that shows a share would import for 0.7 s.
    share, z = successes / trials, normal_quantile(level)
    scale = 1 + z * z / trials
    middle = (share + z * z / (2 * trials)) / scale
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * (trials * trials))) / scale
    # At a share of 0 and of 1 an end is exact, where the formula leaves a rounding error.
    lower = max(0.0, middle - half) if successes > 0 else 0.0
    return lower, min(1.0, middle + half) if successes < trials else 1.0


def largest_share_unseen(n: int, level: float = LEVEL) -> float:
    """Return the upper end of the share of items of a kind that is not among n: 1 - α^(1/n).

    Exact binomial, α = (1 - level)/2. Source: Clopper and Pearson 1934, Biometrika 26.
    """
    return 1.0 - float(((1 - level) / 2) ** (1 / n))


def items_for_share_unseen(share: float, level: float = LEVEL) -> int:
    """Return the fewest items whose `largest_share_unseen` lies below a share in (0, 1)."""
    return math.floor(math.log((1 - level) / 2) / math.log1p(-share)) + 1


def clustered_wilson(
    successes: IntArray, trials: IntArray, cluster: IntArray | None = None
) -> Interval:
    """Return the Wilson interval of a share whose trials come in items (arrays per item).

    The share keeps its value; its trials count as `effective_counts` says. With one trial per item
    this is the plain Wilson interval. Items of one `cluster` count together.
    """
    if cluster is not None:
        successes, trials = (
            np.bincount(cluster, weights=counts).astype(np.int64) for counts in (successes, trials)
        )
    return wilson(*effective_counts(successes, trials))


def effective_counts(
    successes: IntArray | FloatArray, trials: IntArray, level: float = LEVEL
) -> tuple[float, float]:
    """Return successes and trials as of independent trials, for trials that come in items.

    The share Σx/Σn keeps its value and the number of trials N becomes N / deff, where the
    design effect deff is the variance of the ratio estimator over items,
    G/(G-1) · Σ(x - p·n)² / N², divided by p(1-p)/N (Kish 1965), never below 1 (decision 26);
    the effective size is scaled by (z / t(G-1))² at `level` for the few items the variance rests
    on (Korn and Graubard 1998). A share of 0 or 1 shows no variance, so each item then counts
    once. With one trial per item the counts are as they are. Items without a trial are left out.
    """
    x, n = successes[trials > 0], trials[trials > 0]
    total, items = int(n.sum()), len(n)
    if total == items:
        return float(x.sum()), float(total)
    share = float(x.sum()) / total
    effective = float(items)
    if 0 < share < 1 and items > 1:
        variance = items / (items - 1) * float(((x - share * n) ** 2).sum()) / total**2
        effect = max(1.0, variance * total / (share * (1 - share)))
        scale = (normal_quantile(level) / t_quantile(items - 1, level)) ** 2
        effective = total / effect * scale
    return share * effective, effective


def resampled_interval(
    statistic: Callable[[FloatArray], FloatArray],
    n_items: int,
    rng: np.random.Generator,
    kind: IntArray | None = None,
    *,
    cluster: IntArray | None = None,
) -> Interval | None:
    """Return the interval of one statistic: of `resampled_intervals`, whose rows are just it.

    Items of one `cluster` are resampled together.
    """
    if cluster is not None:
        of_items = statistic
        statistic, n_items = lambda w: of_items(w[:, cluster]), int(cluster.max()) + 1
    (interval,) = resampled_intervals(
        lambda weights: statistic(weights)[None], 1, n_items, rng, kind
    )
    return interval


def resampled_intervals(
    statistics: Callable[[FloatArray], FloatArray],
    count: int,
    n_items: int,
    rng: np.random.Generator,
    kind: IntArray | None = None,
) -> list[Interval | None]:
    """Return estimate ± t(n-1) · SE of each statistic, the SE from resampling items together.

    `statistics` maps weights of shape (r, n_items), how often each item was drawn with
    replacement, to `count` rows of r values; with weights of one it gives the estimates. Draws
    in which a statistic is undefined (NaN) are left out. The SE carries √(n/(n-1)), so that for
    a mean this is the t interval: the percentile interval covers too little at 15 items. None
    for n < 2 or no spread. `kind` numbers items from 0 by what they add to the statistics; weights
    are then how often each kind was drawn, (r, kinds).
    """
    if n_items < 2:
        return [None] * count
    kind = np.arange(n_items) if kind is None else kind
    drawn = np.concatenate([statistics(w) for w in _resamples(kind, rng)], axis=1)
    centres = statistics(np.bincount(kind).astype(np.float64)[None])[:, 0]
    return [
        _resampled(float(centre), values[np.isfinite(values)], n_items)
        for centre, values in zip(centres, drawn, strict=True)
    ]


MANY_ITEMS = 10_000
"""Most items that are resampled `RESAMPLES` times."""
RESAMPLES_OF_MANY = 200
"""Draws of more items: the standard error of a standard error is then 5% of it."""
FEWEST_STUDENTISED = 10
"""Items from which quantiles of a resampled t statistic are better than those of Student's t."""


def studentised_interval(
    statistic: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    n_items: int,
    rng: np.random.Generator,
) -> Interval | None:
    """Return the bootstrap-t interval, which follows the skewness of the items.

    `statistic` maps weights as in `resampled_intervals` to values and their standard errors. With
    fewer than 10 items, and with more than 10,000, t(n-1). None for n < 2 or no spread. Sources:
    Efron 1981, Canadian Journal of Statistics 9; Hall 1988, Annals of Statistics 16.
    """
    (centre,), (error,) = statistic(np.ones((1, n_items)))
    if n_items < 2 or not error > EPSILON:
        return None
    half = t_quantile(n_items - 1) * error
    if n_items < FEWEST_STUDENTISED or n_items > MANY_ITEMS:
        return float(centre - half), float(centre + half)
    drawn = [statistic(weights) for weights in _resamples(np.arange(n_items), rng)]
    values, errors = (np.concatenate(part) for part in zip(*drawn, strict=True))
    varied = errors > EPSILON
    tail = (1 - LEVEL) / 2
    low, high = np.quantile((values[varied] - centre) / errors[varied], (tail, 1 - tail))
    return float(centre - high * error), float(centre - low * error)


def _draws(n_items: int) -> int:
    """Return how often items are resampled: of many, each draw takes long and moves little."""
    return RESAMPLES if n_items <= MANY_ITEMS else RESAMPLES_OF_MANY


def _resamples(kind: IntArray, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield weights (r, kinds), as many rows as draws, in blocks that fit a cache."""
    n_items, kinds = len(kind), int(kind.max()) + 1
    draws = _draws(n_items)
    rows = min(draws, max(1, BLOCK // n_items))
    for done in range(0, draws, rows):
        r = min(rows, draws - done)
        # Counting uniform draws is several times faster than drawing multinomial counts.
        chosen = kind[rng.integers(0, n_items, size=(r, n_items))]
        chosen += kinds * np.arange(r)[:, None]
        counts = np.bincount(chosen.ravel(), minlength=r * kinds)
        yield counts.reshape(r, kinds).astype(np.float64)


def _resampled(centre: float, draws: FloatArray, n_items: int) -> Interval | None:
    if len(draws) < _draws(n_items) // 2 or np.ptp(draws) <= EPSILON:
        return None
    error = float(np.std(draws, ddof=1)) * (n_items / (n_items - 1)) ** 0.5
    half = t_quantile(n_items - 1) * error
    return centre - half, centre + half


JACKKNIFE_BLOCKS = 500


def jackknife_weights(n_items: int) -> FloatArray:
    """Return weights (blocks, n_items), 0 for the items that a row leaves out and 1 for the others.

    One item a row, or with more than `JACKKNIFE_BLOCKS` every so manieth.
    """
    blocks = min(n_items, JACKKNIFE_BLOCKS)
    left_out = np.arange(n_items) % blocks == np.arange(blocks)[:, None]
    return np.where(left_out, 0.0, 1.0)


def jackknife_interval(value: float, left_out: FloatArray, level: float = LEVEL) -> Interval | None:
    """Return value ± t(n-1) · SE, SE² = (n-1)/n · Σ(leave-one-out - their mean)².

    None where a value is not finite or none differs. Source: Tukey 1958.
    """
    n = len(left_out)
    if n < 2 or not np.isfinite(left_out).all() or np.ptp(left_out) <= EPSILON:
        return None
    error = float(((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum()) ** 0.5)
    half = t_quantile(n - 1, level) * error
    return value - half, value + half


def t_quantile(df: float, level: float = LEVEL) -> float:
    """Return the two-sided quantile, by default of 95%, of Student's t with `df` degrees."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + level) / 2))


def normal_quantile(level: float = LEVEL) -> float:
    """Return the two-sided quantile of the normal distribution, by default of 95%: 1.96."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


UNBOUNDED = (-math.inf, math.inf)
UNIT_INTERVAL = (0.0, 1.0)
SIGNED_UNIT = (-1.0, 1.0)

NO_SPREAD = "it is the same for every item"
ONE_ITEM = "there is one item"
ALL_AGREE = "all items agree, and so do all draws of them"
"""Why resampled items give a perfect agreement no interval."""


class RemarkKind(StrEnum):
    """What a reader of a figure must know; the report has a sentence for each."""

    FEW_ITEMS = "few items"
    """`number` items, where `advised` are advised."""
    FEW_DEGREES = "few degrees of freedom"
    """`number` degrees of freedom, where `advised` are advised."""
    NEAR_FLOOR = "near the floor"
    """Fewer than `advised` replicates per cell: compare the figure with its floor."""
    TOO_LOW = "too low"
    """P - P0 is mostly too low at fewer than `advised` replicates per cell."""
    TOO_HIGH = "too high"
    """E is too high at fewer than `advised` replicates per cell."""
    CORRECTED_TOO_HIGH = "corrected too high"
    """The corrected P may be too high at fewer than `advised` replicates per cell."""
    DEPENDENT_REPLICATES = "dependent replicates"
    """Scores of a cell that were made close together are alike by `number` more than others."""
    INDEPENDENT_REPLICATES = "independent replicates"
    """P0 and p assume that replicates of a cell are independent of each other."""
    SAMPLES_LEFT_OUT = "samples left out"
    """`number` samples are left out, because the variable `names[0]` is missing."""
    PAIRS_LEFT_OUT = "pairs left out"
    """`number` pairs are left out, because their differences do not vary."""
    PEOPLE_LEFT_OUT = "people left out"
    """`number` people are left out, because they labelled fewer than `advised` items."""
    FEW_PEOPLE = "few people"
    """`number` people, where `advised` are advised."""
    RANDOM_LABELS = "random labels"
    """The figure needs labels of a random part of the items."""
    JUDGES_LEFT_OUT = "judges left out"
    """The judges `names` are left out, because they have no verdict."""
    NOT_APPLIED = "not applied"
    """The models `names[1:]` did not apply a value of the axis `names[0]`."""
    SERVED_MODELS = "served models"
    """The served models `names[1:]`, several or one of another name, answered for the judge
    `names[0]`, several of them in `number` cells."""
    AT_ZERO = "at zero"
    """The estimate is below 0, where no variance is, and was set to 0."""
    BLOCK = "block"
    """Of the facet `names[0]`, `number` of `advised` levels are in the complete crossing used."""
    POOLED_FACET = "pooled facet"
    """The figure pools `number` levels of the facet `names[0]`, such as wordings."""
    SHARED_LEVELS = "shared levels"
    """Of `advised` levels of the facet `names[0]`, the figure has the `number` that all judges in
    it have."""
    ITEMS_ALIKE = "items alike"
    """The figure counts items alike, and those of single levels count verdicts alike."""
    NOTHING_SWAPPED = "nothing swapped"
    """`number` items are left out, because no name of an actor in them was exchanged."""
    REFERENCES = "reference levels"
    """Coefficients compare with the levels `names` of the factors."""


@dataclass(frozen=True)
class Remark:
    """One thing that a reader of a figure must know; `kind` says what the other fields mean."""

    kind: RemarkKind
    number: float | None = None
    advised: float | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ItemValues:
    """The value of each of these items, whose mean a figure is, and the range of the figure.

    `n` counts the samples behind each value.
    """

    items: IntArray
    values: FloatArray
    n: IntArray
    bounds: tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """One figure of a table.

    `estimate` is None when the data cannot give the figure; `because` then says why, as the end
    of a sentence. With an estimate, `because` is empty or says why there is no interval. `lower`
    and `upper` are the 95% interval and come together. `n` counts samples and `n_items` the items
    they belong to. `floor` is the value expected under the null (the noise floor), `p` belongs to
    the test that `method` names. `remarks` are what a reader must know. No field is ever NaN or
    infinite.

    Where wordings or rubric draws vary, the interval is that of the total error, over items and
    over them, `df` its degrees of freedom, and `items_lower` and `items_upper` are the interval
    over items alone. `values` are the item values behind a mean, where they are at hand.
    """

    metric: str
    estimate: float | None
    lower: float | None
    upper: float | None
    n: int
    n_items: int
    floor: float | None = None
    p: float | None = None
    method: str = ""
    unit: str = ""
    because: str = ""
    remarks: tuple[Remark, ...] = ()
    items_lower: float | None = None
    items_upper: float | None = None
    df: float | None = None
    values: ItemValues | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what a table must not show: NaN, half an interval, a gap without a reason."""
        numbers = (
            *(self.estimate, self.lower, self.upper, self.floor, self.p),
            *(self.items_lower, self.items_upper, self.df),
        )
        if any(number is not None and not math.isfinite(number) for number in numbers):
            raise ValueError(f"{self.metric}: not a finite number in {numbers}")
        if (self.lower is None) != (self.upper is None):
            raise ValueError(f"{self.metric}: an interval has two ends")
        if self.estimate is None and not self.because:
            raise ValueError(f"{self.metric}: no estimate and no reason")

    @property
    def reason(self) -> str:
        """Why there is no estimate or no interval, as a sentence; empty when neither is missing."""
        return reason_of(self.estimate, self.because)


def remark_from(stored: Mapping[str, Any]) -> Remark:
    """Return a remark of its fields as JSON holds them."""
    names = tuple(stored["names"])
    return Remark(RemarkKind(stored["kind"]), stored["number"], stored["advised"], names)


def estimate_from(stored: Mapping[str, Any]) -> Estimate:
    """Return an estimate of its fields as JSON holds them."""
    remarks = tuple(map(remark_from, stored.get("remarks", ())))
    return Estimate(**{**stored, "remarks": remarks})


def reason_of(estimate: float | None, because: str) -> str:
    """Return "not estimable, because ..." or "no interval, because ..."; "" without a reason."""
    missing = "not estimable" if estimate is None else "no interval"
    return f"{missing}, because {because}" if because else ""


def not_estimable(
    metric: str, because: str, *, n: int = 0, n_items: int = 0, unit: str = ""
) -> Estimate:
    """Return the estimate that is missing, with the reason "not estimable, because ..."."""
    return Estimate(metric, None, None, None, n, n_items, unit=unit, because=because)


WIDEST = 0.5
"""The largest half-width of an interval within 0 to 1."""


def expected_half_width(
    metric: str, half: float, *, n: int, n_items: int, method: str, unit: str
) -> Estimate:
    """Return the half-width that an interval of a value in 0 to 1 is expected to have.

    Not estimable above `WIDEST`, as an interval by t of hardly any degrees of freedom is.
    """
    if half > WIDEST:
        because = "so little data have no interval within the scale"
        return not_estimable(metric, because, n=n, n_items=n_items, unit=unit)
    return Estimate(
        metric, half, None, None, n, n_items, method=method, unit=unit, because="it is expected"
    )


def remarked(estimate: Estimate, remark: Remark) -> Estimate:
    """Return the estimate with one more remark."""
    return replace(estimate, remarks=(*estimate.remarks, remark))


class Rescalable(formats.Interval, Protocol):
    """A figure with all that is in its unit: an `Estimate`, or a row of it."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def floor(self) -> float | None: ...
    @property
    def items_lower(self) -> float | None: ...
    @property
    def items_upper(self) -> float | None: ...


AnyFigure = TypeVar("AnyFigure", bound=Rescalable)
_IN_ITS_UNIT = ("estimate", "lower", "upper", "floor", "items_lower", "items_upper")


def rescaled(figure: AnyFigure, unit: float = 1.0, start: float = 0.0) -> AnyFigure:
    """Return a figure as start + unit · value, `unit` > 0: value, both intervals and the floor.

    Item values are left as they are.
    """
    ends = {name: getattr(figure, name) for name in _IN_ITS_UNIT}
    return replace(
        figure, **{name: start + unit * end for name, end in ends.items() if end is not None}
    )


def with_interval(
    estimate: Estimate,
    interval: Interval | None,
    bounds: tuple[float, float] = UNBOUNDED,
    *,
    absent: str = NO_SPREAD,
) -> Estimate:
    """Return the estimate with this interval cut to the metric's range, or with why it has none."""
    if interval is None:
        return replace(estimate, because=absent)
    low, high = bounds
    return replace(estimate, lower=max(low, interval[0]), upper=min(high, interval[1]))


def mean_over_items(
    metric: str,
    per_item: FloatArray,
    *,
    n: int | IntArray,
    unit: str,
    bounds: tuple[float, float] = UNBOUNDED,
    items: IntArray | BoolArray | None = None,
    cluster: IntArray | None = None,
) -> Estimate:
    """Return the mean of the item values with its t interval, cut to `bounds`.

    `items` says which items they are of, by number or as a mask; `n`, the samples, is then an
    array with an entry per item. With a `cluster` of each value the interval is over clusters.
    Needs one item for the mean, and two that differ, or clusters, for the interval.
    """
    n_items, by_item, n = len(per_item), np.asarray(n), int(np.sum(n))
    if n_items == 0:
        return not_estimable(metric, "no item qualifies", n=n, unit=unit)
    mean = float(np.mean(per_item))
    numbers = np.flatnonzero(items) if items is not None and items.dtype == np.bool_ else items
    values = None
    if numbers is not None:
        if by_item.shape != per_item.shape:
            raise ValueError(f"{metric}: items come with a number of samples each")
        values = ItemValues(numbers.astype(np.int64), per_item, by_item, bounds)
    estimate = Estimate(
        metric, mean, None, None, n, n_items, method=f"mean over items, t interval{by(cluster)}",
        unit=unit, values=values,
    )  # fmt: skip
    absent = ONE_ITEM if n_items == 1 else NO_SPREAD
    return with_interval(estimate, t_interval(per_item, cluster=cluster), bounds, absent=absent)


def by(cluster: IntArray | None) -> str:
    """Return what a method says where items of one question count together; else nothing."""
    return "" if cluster is None else " by question"


class BoundedMethod(StrEnum):
    """Methods of differences whose interval is not by t: few items moved, or all moved alike."""

    ALL_ALIKE = "mean over items; interval by exact binomial, where every item moved alike"
    """Of a `mean_difference` without spread."""
    FEW_MOVED = "mean over items; interval by Gaffke's bound, where few items moved far"
    """Of a `mean_difference` whose spread is due to few items."""
    LIMITS_ALIKE = "limit of agreement; interval by exact binomial, where every item moved alike"
    """Of the limits of agreement of differences without spread."""


def mean_difference(
    metric: str,
    differences: FloatArray,
    *,
    unit: str,
    widest: float,
    question: IntArray | None = None,
) -> Estimate:
    """Return the mean paired difference of items, each within ± `widest`, with its interval.

    Where several items answer one `question`, by t over questions. Otherwise:

    By t where n > 25·skewness² (`items_for_t`). Otherwise few items moved far: the interval is
    `bounded_interval`. Of items that moved by `widest` or not at all, its end on that side is
    Clopper and Pearson's of the share that did. Where all n have one difference c, fewer than
    1 - α^(1/n) have another one, and the mean lies within c ± this share of the way from c to
    ± `widest`, α = 2.5% a side. Needs two items for the interval.
    """
    bounds = (-widest, widest)
    n = len(differences)
    found = mean_over_items(metric, differences, n=n, unit=unit, bounds=bounds, cluster=question)
    by_t = found.because != NO_SPREAD and n >= 2 and n >= items_for_t(skewness(differences))
    if question is not None or n < 2 or by_t:
        return found
    is_alike = found.because == NO_SPREAD
    method = BoundedMethod.ALL_ALIKE if is_alike else BoundedMethod.FEW_MOVED
    ends = bounded_interval(differences, bounds, LEVEL)
    return with_interval(replace(found, method=method, because=""), ends, bounds)


def caution_below(estimate: Estimate, items: int) -> Estimate:
    """Return the estimate, with a remark when it rests on fewer than `items` items."""
    if estimate.estimate is None or estimate.n_items >= items:
        return estimate
    return remarked(estimate, Remark(RemarkKind.FEW_ITEMS, estimate.n_items, items))


def widened_to_permutation(estimate: Estimate, below: float) -> Estimate:
    """Return the estimate with an upper end that excludes a value only if permutation does too.

    Divergences and distances of few samples are skewed to the right, so that their t interval lies
    too low: of judges that do not differ it is wholly below 0 in 5 to 10% of data sets. `below` is
    the distance of the 2.5% quantile from the mean when samples are permuted between judges;
    the interval that inverts this permutation test ends that far above the estimate, and the
    further of both ends is taken, at most 1. Source: Ernst 2004, Statistical Science 19.
    """
    if estimate.estimate is None or estimate.upper is None:
        return estimate
    upper = max(estimate.upper, estimate.estimate + below)
    method = f"{estimate.method}; upper end at least that of the permutation test"
    return replace(estimate, upper=min(SIGNED_UNIT[1], upper), method=method)
