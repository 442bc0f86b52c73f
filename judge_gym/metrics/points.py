"""Scores in points: their spread over the scale, and their repeatability, for one judge.

Points range from 0 to 100, whatever the judge's own scale; see `to_points`. Runs of one item are
one cluster. A spread describes a judge on a corpus: items of equal quality get similar scores.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, Samples
from judge_gym.metrics.consistency import MIN_REPLICATES, clustered_share, one_way_icc
from judge_gym.metrics.estimate import (
    EPSILON,
    UNIT_INTERVAL,
    Estimate,
    not_estimable,
    resampled_interval,
    wilson,
    with_interval,
)
from judge_gym.metrics.score_agreement import share_differing, worst_and_best

HIGHEST = 100.0
BINS = 5
BAND = 20.0
NEAR = 10.0
_LEAST_SHARE = 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores(Samples):
    """Runs that gave a score: `points` in [0, 100] per sample."""

    points: FloatArray

    def __post_init__(self) -> None:
        """Refuse points outside [0, 100], NaN among them."""
        super().__post_init__()
        if not ((self.points >= 0) & (self.points <= HIGHEST)).all():
            raise ValueError("points lie in [0, 100]; leave a run without a score out")

    def item_means(self) -> tuple[FloatArray, BoolArray]:
        """Return judges x items: the mean of each cell (0 where empty), and which hold a run."""
        cells = self.means(self.points)
        return cells.value, cells.present


def to_points(scores: FloatArray, lowest: float, highest: float) -> FloatArray:
    """Return scores of a scale from `lowest` to `highest` in points; above 100 beyond the scale."""
    if not lowest < highest:
        raise ValueError(f"the scale {lowest} to {highest} is empty")
    return np.asarray((scores - lowest) / (highest - lowest) * HIGHEST)


def bin_of(points: FloatArray) -> IntArray:
    """Return the bin 0..4 of each score: [0, 20), [20, 40), ... and [80, 100], 100 included."""
    return np.minimum(points // (HIGHEST / BINS), BINS - 1).astype(np.int64)


def bins_in_use(scores: Scores, reachable: int = BINS) -> Estimate:
    """Return how many of the five fixed bins hold 5% of the scores; 1 to `reachable`.

    By Wilson intervals clustered by item: the lower end counts the bins whose share is surely
    above 5%; the upper end is the most bins of which those below 5% may together hold 5% each.
    One stray score fills no bin. Needs one score.
    """
    metric, unit = "bins_in_use", "bins of 5"
    if not len(scores):
        return not_estimable(metric, "there is no score", unit=unit)
    counts, trials = _counts_by_bin(scores), scores.sizes().sum(axis=0)
    shares = [clustered_share(metric, count, trials) for count in counts]
    share_by_bin = np.array([share.estimate or 0.0 for share in shares])
    surely = sum((share.lower or 0.0) >= _LEAST_SHARE for share in shares)
    most = 1
    for size in range(2, reachable + 1):
        top = np.argsort(-share_by_bin, kind="stable")[:size]
        small = top[share_by_bin[top] < _LEAST_SHARE]
        pooled = clustered_share(metric, counts[small].sum(axis=0), trials)
        if (pooled.upper or 0.0) >= _LEAST_SHARE * len(small):
            most = size
    estimate = Estimate(
        metric, float((share_by_bin >= _LEAST_SHARE).sum()), None, None,
        len(scores), shares[0].n_items,
        method="bins with 5% of the scores; ends by Wilson intervals clustered by item", unit=unit,
    )  # fmt: skip
    return with_interval(estimate, (float(surely), float(most)))


def fullest_band(scores: Scores, width: float = BAND) -> Estimate:
    """Return the largest share of scores within `width` points of each other, in [0, 1].

    The band slides: it may start at any score. Wilson interval clustered by item, of the band
    that was found; being the fullest it lies a little high. Needs one score.
    """
    metric = "fullest_band"
    if not len(scores):
        return not_estimable(metric, "there is no score", unit="share")
    ordered = np.sort(scores.points)
    ends = np.searchsorted(ordered, ordered + width + EPSILON, side="right")
    start = ordered[int(np.argmax(ends - np.arange(len(ordered))))]
    inside = (scores.points >= start) & (scores.points <= start + width + EPSILON)
    share = clustered_share(metric, _by_item(scores, inside), scores.sizes().sum(axis=0))
    last = float(scores.points[inside].max())
    return replace(share, method=f"{share.method}; fullest from {start:g} to {last:g} points")


def score_entropy(scores: Scores, rng: np.random.Generator, reachable: int = BINS) -> Estimate:
    """Return the entropy of the shares of the bins over its largest, in [0, 1]; 1 is even use.

    The largest is log `reachable`: of a scale of fewer than five steps not every bin can be used.

    Interval: t with the standard error of resampling items; where one bin holds every score, up
    to the entropy with the Wilson limit of the others spread evenly. Needs one score. Source:
    Shannon 1948; over its largest value (Pielou 1966).
    """
    metric, unit = "score_entropy", "share of the largest"
    if not len(scores):
        return not_estimable(metric, "there is no score", unit=unit)
    scored = scores.sizes().any(axis=0)
    counts, n_items = _counts_by_bin(scores)[:, scored].T, int(scored.sum())

    def entropy(weights: FloatArray) -> FloatArray:
        return _evenness(weights @ counts, reachable)

    value = float(entropy(np.ones((1, n_items)))[0])
    method = "entropy of five bins; t interval, items resampled"
    estimate = Estimate(metric, value, None, None, len(scores), n_items, method=method, unit=unit)
    interval = resampled_interval(entropy, n_items, rng)
    if value <= EPSILON:
        most = wilson(0, n_items)[1]
        others = np.full((1, reachable - 1), most / (reachable - 1))
        interval = 0.0, float(_evenness(np.hstack([[[1 - most]], others]), reachable)[0])
    return with_interval(estimate, interval, UNIT_INTERVAL)


def _evenness(totals: FloatArray, reachable: int) -> FloatArray:
    """Return the entropy of totals (r, bins) over that of `reachable` even ones, in [0, 1]."""
    share = totals / totals.sum(axis=1, keepdims=True)
    logs = np.log(share, where=share > 0, out=np.zeros_like(share))
    return np.asarray(np.maximum(-(share * logs).sum(axis=1), 0.0) / np.log(reachable))


def share_at_floor(scores: Scores, *, floor: float = 0.0) -> Estimate:
    """Return the share of items that one judge scores `floor` in every run, in [0, 1].

    0 for the floor, from where nothing can drop; 100 for the ceiling. Wilson interval over
    items. Needs one score.
    """
    metric = "share_at_ceiling" if floor >= HIGHEST else "share_at_floor"
    elsewhere = _by_item(scores, np.abs(scores.points - floor) > EPSILON) > 0
    scored = np.asarray(scores.sizes().any(axis=0))
    at_floor = np.asarray(scored & ~elsewhere, dtype=np.int64)
    share = clustered_share(metric, at_floor, np.asarray(scored, dtype=np.int64))
    return replace(share, method="share of items, Wilson interval")


def discrimination(scores: Scores, rng: np.random.Generator) -> Estimate:
    """Return the share of one judge's variance that lies between items: its ICC(1), at most 1.

    This is also the reliability of a single run. See `one_way_icc`; needs two items of 3 runs. Runs
    that repeat each other exactly leave all of it between items: 1, down to the share of items
    that Wilson's interval leaves for exact repeats. Where few runs differ, but by much, the
    resampled interval is widened to what Wilson's interval of the share of items that are not
    repeated makes of it (`worst_and_best`).
    """
    estimate = one_way_icc("discrimination", scores, scores.points, rng)
    if estimate.estimate is None or estimate.estimate < 1 - EPSILON:
        return _widened_to_repeats(estimate, scores)
    method = "one-way ICC(1); every run repeats the first exactly; Wilson interval of such items"
    lower = wilson(estimate.n_items, estimate.n_items)[0]
    return replace(estimate, lower=lower, upper=1.0, method=method, because="")


def _widened_to_repeats(estimate: Estimate, scores: Scores) -> Estimate:
    if estimate.estimate is None or estimate.lower is None or estimate.upper is None:
        return estimate
    runs = [points for _, points in _runs(scores) if len(points) >= MIN_REPLICATES]
    means = np.array([points.mean() for points in runs])
    missed = np.array([2 * points.var(ddof=1) for points in runs])
    apart = 2 * float(means.var(ddof=1) + np.mean([points.var() for points in runs]))
    # Of all runs, as `apart` is: the first ones alone may all be the same.
    every = np.concatenate(runs)[:, None]
    low, high = worst_and_best(missed, share_differing(every, every), apart)
    method = f"{estimate.method}, or Wilson's of items not repeated"
    return replace(
        estimate, lower=min(estimate.lower, low), upper=max(estimate.upper, high), method=method
    )


def reliability_of_mean(single: Estimate, runs: float) -> Estimate:
    """Return the reliability of the mean of `runs` runs from that of one, by Spearman-Brown.

    k·r / (1 + (k - 1)·r) of the estimate and of both ends; a value below 0 counts as 0.
    """

    def stepped(value: float | None) -> float | None:
        if value is None:
            return None
        nonnegative = max(0.0, value)
        return runs * nonnegative / (1 + (runs - 1) * nonnegative)

    return replace(
        single,
        metric="reliability_of_mean",
        estimate=stepped(single.estimate),
        lower=stepped(single.lower),
        upper=stepped(single.upper),
        method=f"Spearman-Brown, mean of {runs:g} runs" if single.estimate is not None else "",
    )


def runs_near(scores: Scores, near: float = NEAR) -> Estimate:
    """Return the share of pairs of one judge's runs of an item at most `near` points apart.

    In [0, 1]; Wilson interval clustered by item. A judge that gives every item the same score has
    1: read it after `discrimination`. Where every run repeats the first exactly, the interval
    allows each item that Wilson's leaves for others two values, as often as so many runs can take.
    Needs an item with two runs.
    """
    pairs = np.zeros(scores.n_items, dtype=np.int64)
    agreeing = np.zeros(scores.n_items, dtype=np.int64)
    furthest, runs = 0.0, []
    for item, points in _runs(scores):
        above = np.triu_indices(len(points), 1)
        apart = np.abs(points[:, None] - points)[above]
        pairs[item], agreeing[item] = len(apart), int((apart <= near + EPSILON).sum())
        furthest = max(furthest, float(apart.max(initial=0.0)))
        runs += [len(points)] if len(apart) else []
    if not pairs.any():
        return not_estimable("runs_near", "no item has two runs with a score", unit="share")
    share = clustered_share("runs_near", agreeing, pairs)
    if furthest <= EPSILON:
        other = wilson(0, len(runs))[1] * max((k * k // 4) / (k * (k - 1) / 2) for k in runs)
        method = "every run repeats the first exactly; Wilson by item"
        return replace(share, lower=1 - other, method=method)
    return replace(share, method=f"pairs of runs within {near:g} points, Wilson by item")


def _runs(scores: Scores) -> Iterator[tuple[int, FloatArray]]:
    order = np.argsort(scores.item, kind="stable")
    items, starts = np.unique(scores.item[order], return_index=True)
    runs = np.split(scores.points[order], starts)[1:]
    yield from zip(items.tolist(), runs, strict=True)


def _counts_by_bin(scores: Scores) -> IntArray:
    """Return the number of scores, bins x items."""
    number = bin_of(scores.points)
    return np.stack([_by_item(scores, number == place) for place in range(BINS)])


def _by_item(scores: Scores, chosen: BoolArray) -> IntArray:
    """Return the number of chosen samples per item."""
    return np.bincount(scores.item[chosen], minlength=scores.n_items)
