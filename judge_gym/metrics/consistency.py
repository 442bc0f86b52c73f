"""Outcome rates of samples, and the internal consistency of a judge on one item.

Low variance alone is no virtue, because a constant judge has none. The ICC is reported beside it:
the share of a verdict's variance that distinguishes items.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

import numpy as np

from judge_gym.counting import there_are
from judge_gym.metrics.agreement import ratio_or_nan
from judge_gym.metrics.cells import (
    FloatArray,
    IntArray,
    Samples,
    Verdicts,
    item_means,
    mean_scores,
    scores,
)
from judge_gym.metrics.estimate import (
    EPSILON,
    NO_SPREAD,
    ONE_ITEM,
    SIGNED_UNIT,
    UNIT_INTERVAL,
    Estimate,
    by,
    clustered_wilson,
    mean_over_items,
    not_estimable,
    resampled_interval,
    with_interval,
)


@dataclass(frozen=True, eq=False)
class OutcomeCounts:
    """Samples by outcome, each an array with one count per item."""

    scored: IntArray
    abstained: IntArray
    unparseable: IntArray
    refused: IntArray
    failed: IntArray


def outcome_rates(counts: OutcomeCounts, cluster: IntArray | None = None) -> list[Estimate]:
    """Return the rates of abstention, unparseable, refused and failed samples, each in [0, 1].

    Abstention is abstained / (scored + abstained): a judgement that was made. The other three
    are shares of all samples. Interval: Wilson clustered by item or `cluster`. Needs one sample.
    """
    judged = counts.scored + counts.abstained
    everything = judged + counts.unparseable + counts.refused + counts.failed
    return [
        clustered_share("abstention_rate", counts.abstained, judged, cluster),
        clustered_share("unparseable_rate", counts.unparseable, everything, cluster),
        clustered_share("refused_rate", counts.refused, everything, cluster),
        clustered_share("failed_rate", counts.failed, everything, cluster),
    ]


def clustered_share(
    metric: str, successes: IntArray, trials: IntArray, cluster: IntArray | None = None
) -> Estimate:
    """Return Σ successes / Σ trials, in [0, 1], with its Wilson interval clustered by item.

    Both arrays hold a count per item, those of one `cluster` count together. Needs one trial.
    """
    n = int(trials.sum())
    if n == 0:
        return not_estimable(metric, "there is no sample to count", unit="share")
    estimate = Estimate(
        metric,
        int(successes.sum()) / n,
        None,
        None,
        n,
        int((trials > 0).sum()),
        method=f"share of samples, Wilson interval clustered{by(cluster) or ' by item'}",
        unit="share",
    )
    return with_interval(estimate, clustered_wilson(successes, trials, cluster))


MIN_REPLICATES = 3
FAR_APART = 0.5
"""Distance on the 0-1 scale from which verdicts that exclude each other are looked at."""


@dataclass(frozen=True)
class ReplicateConflict:
    """Incompatible verdicts in one cell, that is pairs without a common stage.

    `widest` is the largest distance of an incompatible pair on the 0-1 scale, 0 without any.
    `share` is the share of incompatible pairs, in [0, 1]: the self-conflict of the cell.
    """

    widest: float
    share: float


def replicate_conflict(stages: Sequence[int], n_stages: int) -> ReplicateConflict:
    """Return the conflict among the verdicts (bitmasks, two or more) of one cell.

    The distance of two sets is that of their mean stages over S - 1.
    """
    pairs = list(combinations(stages, 2))
    if not pairs:
        raise ValueError("a conflict needs two verdicts")
    apart = [(first, second) for first, second in pairs if not first & second]
    widest = max(
        (abs(_mean_stage(first) - _mean_stage(second)) for first, second in apart), default=0.0
    )
    return ReplicateConflict(widest / (n_stages - 1), len(apart) / len(pairs))


def _mean_stage(stages: int) -> float:
    return fmean(place for place in range(stages.bit_length()) if stages >> place & 1)


def mean_score(verdicts: Verdicts) -> Estimate:
    """Return the mean 0-1 score, in [0, 1]: of pairs the share won by the second text.

    0 is the lowest stage and 1 the highest; a tie counts half. Replicates are averaged by item,
    then items; t interval over items. Needs one verdict.
    """
    metric, unit = "mean_score", "0-1 scale"
    if not len(verdicts):
        return not_estimable(metric, "no verdict was scored", unit=unit)
    cells = mean_scores(verdicts)
    per_item, kept = item_means(cells.value, cells.present)
    return mean_over_items(
        metric,
        per_item,
        n=cells.n.sum(axis=0)[kept],
        unit=unit,
        bounds=UNIT_INTERVAL,
        items=kept,
        cluster=verdicts.cluster(kept),
    )


def replicate_variance(verdicts: Verdicts) -> Estimate:
    """Return the mean variance (ddof 1) of the 0-1 scores over the replicates of a cell.

    In [0, 1/3] (half the replicates at either end), comparable across scales. Cells are averaged
    over the judges of an item, then over the items on which every judge has 3 scored replicates;
    t interval over items. Needs one item.
    """
    metric, unit = "replicate_variance", "squared 0-1 scale"
    common = verdicts.common_items(MIN_REPLICATES)
    kept = verdicts.rows(common[verdicts.item])
    if not common.any():
        because = f"no item has {MIN_REPLICATES} scored replicates of every judge"
        return not_estimable(metric, because, n=len(kept), unit=unit)
    within = squares_within(kept, scores(kept)).reshape(kept.n_judges, kept.n_items)[:, common]
    sizes = kept.sizes()[:, common]
    per_item = (within / (sizes - 1)).mean(axis=0)
    return mean_over_items(
        metric, per_item, n=sizes.sum(axis=0), unit=unit, bounds=UNIT_INTERVAL, items=common
    )


def time_correlation(verdicts: Verdicts, time: FloatArray, rng: np.random.Generator) -> Estimate:
    """Return how much more replicates that follow each other in time agree than others of a cell.

    `time` is when each sample was answered. With d the 0-1 scores of a cell less their mean, in
    order of time, and R = Σ d(k)·d(k+1): Σ (R - E[R]) / (n - 1) over cells, divided by Σ s². 0
    where the order does not matter, as P0 and its p assume, and about 1 where each repeats the
    last. p: two-sided, from the exact mean and variance of R over all orders of a cell, summed
    over cells. It cannot see what all replicates of a cell share, such as one run at one time.
    Interval: t with the standard error of resampling items. Needs a cell with 3 replicates that
    differ. Source: Wald and Wolfowitz 1943, Annals of Mathematical Statistics 14.
    """
    metric, unit = "replicate_time_correlation", "correlation"
    values, sizes = scores(verdicts), verdicts.sizes().ravel()
    kept = sizes[verdicts.cell] >= MIN_REPLICATES
    order = np.lexsort((time, verdicts.cell))
    order = order[kept[order]]
    cell = verdicts.cell[order]
    deviation = (values - verdicts.means(values).value.ravel()[verdicts.cell])[order]

    def by_cell(of: FloatArray, where: IntArray) -> FloatArray:
        return np.bincount(where, of, len(sizes)).astype(np.float64)

    next_to = np.flatnonzero(cell[1:] == cell[:-1])
    square, fourth = by_cell(deviation**2, cell), by_cell(deviation**4, cell)
    serial = by_cell(deviation[next_to] * deviation[next_to + 1], cell[next_to])
    used = np.flatnonzero(square > EPSILON)
    items, number = np.unique(used % verdicts.n_items, return_inverse=True)
    n = int(sizes[used].sum())
    if not len(used):
        because = f"no cell has {MIN_REPLICATES} scored replicates that differ"
        return not_estimable(metric, because, n=n, unit=unit)
    size, square, fourth = sizes[used].astype(np.float64), square[used], fourth[used]
    apart = serial[used] + square / size
    above = np.bincount(number, apart / (size - 1))
    below = np.bincount(number, square / (size - 1))
    z = float(apart.sum() / _serial_variance(size, square, fourth).sum() ** 0.5)

    def ratio(weights: FloatArray) -> FloatArray:
        return np.asarray(ratio_or_nan(weights @ above, weights @ below))

    value = float(above.sum() / below.sum())
    method = "neighbours in time within a cell; p over the orders of each; items resampled"
    estimate = Estimate(
        metric, value, None, None, n, len(items), p=math.erfc(abs(z) / 2**0.5), method=method,
        unit=unit,
    )  # fmt: skip
    absent = ONE_ITEM if len(items) == 1 else NO_SPREAD
    interval = resampled_interval(ratio, len(items), rng)
    return with_interval(estimate, interval, absent=absent)


def _serial_variance(n: FloatArray, square: FloatArray, fourth: FloatArray) -> FloatArray:
    """Return the variance of Σ d(k)·d(k+1) over all orders of n values with Σd = 0, by cell.

    By products of two pairs that are the same, share one value, or share none.
    """
    same = (square**2 - fourth) / n
    one = 2 * (2 * fourth - square**2) / (n * (n - 1))
    none = (3 * square**2 - 6 * fourth) / (n * (n - 1))
    return np.asarray(same + one + none - (square / n) ** 2)


def replicate_icc(verdicts: Verdicts, rng: np.random.Generator) -> Estimate:
    """Return `one_way_icc` of the 0-1 scores of one judge's verdicts."""
    return one_way_icc("replicate_icc", verdicts, scores(verdicts), rng)


def one_way_icc(
    metric: str, samples: Samples, values: FloatArray, rng: np.random.Generator
) -> Estimate:
    """Return the one-way ICC(1) of one judge's `values`: items as targets, replicates as ratings.

    (MSB - MSW) / (MSB + (n0 - 1)·MSW) from the variance components, n0 the effective number of
    replicates when cells differ; at most 1, negative when replicates differ more than items.
    Interval: t with the standard error of resampling items. Needs one judge and two items of 3
    replicates whose values are not all equal. Source: Shrout and Fleiss 1979, Psychological
    Bulletin 86; n0 after Donner 1986.
    """
    unit = "share of variance"
    if samples.n_judges != 1:
        raise ValueError("the ICC of replicates is of one judge; choose it with of_judges")
    common = samples.common_items(MIN_REPLICATES)
    chosen = common[samples.item]
    kept, n_items = samples.rows(chosen), int(common.sum())
    if n_items < 2:
        because = (
            f"it needs 2 items of {MIN_REPLICATES} scored replicates, and {there_are(n_items)}"
        )
        return not_estimable(metric, because, n=len(kept), n_items=n_items, unit=unit)
    means, within = kept.means(values[chosen]), squares_within(kept, values[chosen])[common]
    size, mean = means.n[0, common].astype(np.float64), means.value[0, common]

    def icc(weights: FloatArray) -> FloatArray:
        return _icc_of_weights(weights, size, mean, within)

    value = float(icc(np.ones((1, n_items)))[0])
    if not np.isfinite(value):
        because = "all verdicts of the judge are the same"
        return not_estimable(metric, because, n=len(kept), n_items=n_items, unit=unit)
    method = "one-way ICC(1); t interval, items resampled"
    estimate = Estimate(metric, value, None, None, len(kept), n_items, method=method, unit=unit)
    return with_interval(estimate, resampled_interval(icc, n_items, rng), SIGNED_UNIT)


def squares_within(samples: Samples, values: FloatArray) -> FloatArray:
    """Return the sum of squared deviations of values from their cell mean, flat over cells."""
    means = samples.means(values)
    deviation = values - means.value.ravel()[samples.cell]
    squares = np.bincount(samples.cell, deviation**2, means.n.size)
    return squares.astype(np.float64)


def _icc_of_weights(
    weights: FloatArray, size: FloatArray, mean: FloatArray, within: FloatArray
) -> FloatArray:
    """Return the ICC per row of item weights (r, items); NaN where nothing varies."""
    targets = weights.sum(axis=1)
    total = weights @ size
    grand = weights @ (size * mean) / total
    # Two-pass sum of squares: the one-pass form loses the digits when items hardly differ.
    between = (weights * size * (mean - grand[:, None]) ** 2).sum(axis=1) / (targets - 1)
    noise = weights @ within / (total - targets)
    effective = (total - weights @ size**2 / total) / (targets - 1)
    spread = between + (effective - 1) * noise
    undefined = np.full_like(spread, np.nan)
    return np.asarray(np.divide(between - noise, spread, where=spread > EPSILON, out=undefined))
