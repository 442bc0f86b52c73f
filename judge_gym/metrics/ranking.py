"""Ranking of the design space: the effect of each level of an axis, everything else equal.

The method of GraphGym (You et al., NeurIPS 2020): controlled pairs of experiments that differ in
one axis are compared pair by pair, then over the grid. The items of a pair are its units. Pairs of
one grid mostly share their items.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.metrics.accuracy import rank_correlation
from judge_gym.metrics.cells import CellMeans, FloatArray, IntArray, item_means
from judge_gym.metrics.estimate import (
    EPSILON,
    SIGNED_UNIT,
    UNIT_INTERVAL,
    Estimate,
    Remark,
    RemarkKind,
    items_for_t,
    not_estimable,
    skewness,
    t_interval,
    t_quantile,
    wilson,
    with_interval,
)
from judge_gym.metrics.inference import paired_contrast
from judge_gym.metrics.regression import t_coefficient

_BY_WILSON = "share of controlled pairs won, Wilson interval over pairs"
_BY_T = "share of controlled pairs won, t interval over pairs, since ties occur"


@dataclass(frozen=True, eq=False)
class AxisDifference:
    """Two experiments that differ in one axis, by item: `difference` is to - from.

    `item` numbers the items over the whole grid, so that shared items have the same number.
    """

    axis: str
    start: str
    end: str
    setting: str
    item: IntArray
    difference: FloatArray
    contrast: Estimate


@dataclass(frozen=True)
class PooledContrast:
    """The effect of changing `start` to `end`, over the grid.

    `pooled` is the mean effect, `spread` the standard deviation of true effects between settings
    (τ), and `shrunk` each setting's effect drawn towards the mean by its reliability.
    """

    axis: str
    start: str
    end: str
    pooled: Estimate
    spread: float | None
    shrunk: Mapping[str, Estimate]


@dataclass(frozen=True)
class LevelRank:
    """The share of its pairs that a level of an axis wins; a tie counts half."""

    axis: str
    level: str
    wins: Estimate


def controlled_pair(
    axis: str,
    levels: tuple[str, str],
    setting: str,
    before: CellMeans,
    after: CellMeans,
    rng: np.random.Generator,
    unit: str,
) -> AxisDifference:
    """Return the pair with its paired contrast; the cell means share their judges and items."""
    both = before.present & after.present
    difference, kept = item_means(after.value - before.value, both)
    contrast = paired_contrast(axis, before, after, rng, unit)
    return AxisDifference(axis, *levels, setting, np.flatnonzero(kept), difference, contrast)


def pool_pairs(pairs: Sequence[AxisDifference]) -> list[PooledContrast]:
    """Return one pooled contrast per (axis, start, end), in the order they first appear.

    Random effects between settings: τ² by DerSimonian and Laird 1986; interval of the mean by
    Hartung and Knapp 2001 with their variance never below the common one (Röver, Knapp and Friede
    2015). That interval ignores that errors of settings with the same items correlate, so the
    t interval over items of the weighted difference is used where it is wider.
    Shrunken effects: empirical Bayes, w·effect + (1 - w)·mean with w = τ²/(τ² + SE²). Pairs
    without an interval (one item, no spread) are left out and counted. Values lie in [0, 1], so a
    change does in [-1, 1]: intervals are cut to that, and a mean over several pairs whose interval
    holds all of it is not estimable.
    """
    grouped: dict[tuple[str, str, str], list[AxisDifference]] = defaultdict(list)
    for pair in pairs:
        grouped[pair.axis, pair.start, pair.end].append(pair)
    return [_pool(key, members) for key, members in grouped.items()]


def rank_levels(pairs: Sequence[AxisDifference]) -> list[LevelRank]:
    """Return the share of its pairs that each level wins, best level first within its axis.

    A pair is won by the sign of its mean difference, however small; equal means are half a win
    each. Wilson interval over pairs, as if they were independent: read it beside the pooled
    contrast. With ties a share is no binomial proportion and varies less: t interval over pairs
    where n > 25·skewness² (`items_for_t`), else Wilson's, which is then too wide. Needs one pair
    with both figures.
    """
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    items: dict[tuple[str, str], set[int]] = defaultdict(set)
    for pair in pairs:
        value = pair.contrast.estimate
        if value is None:
            continue
        won = 0.5 if abs(value) <= EPSILON else float(value > 0)
        for level, share in ((pair.end, won), (pair.start, 1 - won)):
            scores[pair.axis, level].append(share)
            items[pair.axis, level].update(pair.item.tolist())
    ranks = [
        LevelRank(axis, level, _wins(axis, won, len(items[axis, level])))
        for (axis, level), won in scores.items()
    ]
    axes = list(dict.fromkeys(pair.axis for pair in pairs))
    return sorted(ranks, key=lambda rank: (axes.index(rank.axis), -(rank.wins.estimate or 0.0)))


def concept_correlations(
    values: Mapping[str, Mapping[str, float]],
) -> dict[tuple[str, str], Estimate]:
    """Return Spearman's rho of every two concepts, over the design points both have.

    `values` maps concept → design point (everything but the concept) → figure. `n` and `n_items`
    count the design points in common; 4 are needed. Interval: `accuracy.rank_correlation`.
    """
    concepts = sorted(values)
    estimates = {}
    for number, first in enumerate(concepts):
        for second in concepts[number + 1 :]:
            shared = sorted(values[first].keys() & values[second].keys())
            first_values, second_values = (
                np.array([values[name][point] for point in shared], dtype=np.float64)
                for name in (first, second)
            )
            estimates[first, second] = rank_correlation(
                "concept_rank_correlation",
                first_values,
                second_values,
                n=len(shared),
                units="experiments",
            )
    return estimates


def _wins(axis: str, won: Sequence[float], items: int) -> Estimate:
    shares = np.array(won, dtype=np.float64)
    n = len(won)
    found = Estimate(
        "share_won", float(shares.mean()), None, None, n, items, method=_BY_WILSON, unit="share"
    )
    by_t = t_interval(shares)
    has_halves = not np.isin(shares, UNIT_INTERVAL).all()
    if has_halves and by_t and n >= items_for_t(skewness(shares)):
        return with_interval(replace(found, method=_BY_T), by_t, UNIT_INTERVAL)
    return with_interval(found, wilson(sum(won), n))


def _pool(key: tuple[str, str, str], pairs: Sequence[AxisDifference]) -> PooledContrast:
    axis, start, end = key
    usable = [
        pair for pair in pairs if len(pair.difference) > 1 and np.ptp(pair.difference) > EPSILON
    ]
    unit = pairs[0].contrast.unit
    if not usable:
        because = f"none of {len(pairs)} pairs has two items whose differences vary"
        return PooledContrast(*key, not_estimable(axis, because, unit=unit), None, {})
    effect = np.array([pair.difference.mean() for pair in usable])
    variance = np.array([pair.difference.var(ddof=1) / len(pair.difference) for pair in usable])
    grid = random_effects(effect, variance)
    tau2, mean = grid.tau2, grid.mean
    influence = [
        w * (pair.difference - pair.difference.mean()) / len(pair.difference)
        for w, pair in zip(grid.weight, usable, strict=True)
    ]
    over_items = clustered_error([pair.item for pair in usable], influence, 1)
    error, df = wider_error(grid, len(usable), over_items)
    left_out = len(pairs) - len(usable)
    point = Estimate(
        axis,
        mean,
        None,
        None,
        sum(pair.contrast.n for pair in usable),
        len(np.unique(np.concatenate([pair.item for pair in usable]))),
        method=f"random effects over {len(usable)} pairs, Hartung-Knapp or items, the wider",
        unit=unit,
        remarks=(Remark(RemarkKind.PAIRS_LEFT_OUT, left_out),) if left_out else (),
    )
    shrunk = {}
    for pair, own in zip(usable, variance, strict=True):
        value, its_error = replace(grid, error=error).drawn(pair.difference.mean(), own)
        drawn = replace(
            pair.contrast,
            estimate=float(value),
            method="empirical Bayes: drawn towards the mean of the grid",
        )
        shrunk[pair.setting] = _with_t(drawn, float(its_error), min(df, len(pair.item) - 1))
    spread = tau2**0.5 if len(usable) > 1 else None
    pooled = _with_t(point, error, df)
    if len(usable) > 1 and (pooled.lower, pooled.upper) == SIGNED_UNIT:
        because = (
            f"{len(usable)} settings are too few: its 95% interval holds every change from -1 to 1"
        )
        pooled = not_estimable(axis, because, n=point.n, n_items=point.n_items, unit=unit)
    return PooledContrast(axis, start, end, pooled, spread, shrunk)


def _with_t(estimate: Estimate, error: float, df: int) -> Estimate:
    found = t_coefficient(estimate, error, df).estimate
    assert found.lower is not None
    assert found.upper is not None
    return with_interval(found, (found.lower, found.upper), SIGNED_UNIT)


@dataclass(frozen=True, eq=False)
class RandomEffects:
    mean: float
    error: float
    """Standard error by Hartung and Knapp, never below that of known variances."""
    tau2: float
    """Variance between settings by DerSimonian and Laird, cut at 0."""
    weight: FloatArray
    """One weight per setting; they sum to 1."""

    def drawn(self, effect: float, variance: float) -> tuple[float, float]:
        """Return an effect drawn towards the mean, and its standard error (empirical Bayes).

        w·effect + (1 - w)·mean with w = τ²/(τ² + variance), `variance` the effect's own.
        """
        w = self.tau2 / (self.tau2 + variance)
        error = (w * variance + (1 - w) ** 2 * self.error**2) ** 0.5
        return w * effect + (1 - w) * self.mean, error


def random_effects(effect: FloatArray, variance: FloatArray) -> RandomEffects:
    """Pool the effects of k settings, given the variance of each."""
    if len(effect) == 1:
        return RandomEffects(float(effect[0]), float(variance[0]) ** 0.5, 0.0, np.ones(1))
    from statsmodels.stats.meta_analysis import combine_effects  # takes seconds to import

    # The library subtracts squares; around 0 that loses no digits, and τ² stays the same.
    centre = effect.mean()
    # It weighs by a negative τ², where the estimate cut at 0 is wanted: hence a second pass, in
    # which all variance is known.
    with np.errstate(divide="ignore", invalid="ignore"):
        tau2 = max(0.0, float(combine_effects(effect - centre, variance, method_re="dl").tau2))
        pooled = combine_effects(effect - centre, variance + tau2, method_re="dl")
    return RandomEffects(
        float(centre + pooled.mean_effect_fe),
        max(float(pooled.var_hksj_fe), float(pooled.var_eff_w_fe)) ** 0.5,
        tau2,
        pooled.weights_rel_fe,
    )


def clustered_error(
    items: Sequence[IntArray], influence: Sequence[FloatArray], parameters: int
) -> tuple[float, int]:
    """Return the error of a weighted mean with items as clusters (CR1), and items - `parameters`.

    By setting, `influence` is what the residual of each of its items adds to the mean.
    """
    numbers, code = np.unique(np.concatenate(items), return_inverse=True)
    sums, n = np.bincount(code, np.concatenate(influence)), len(numbers)
    return float((n / (n - parameters) * (sums**2).sum()) ** 0.5), n - parameters


def wider_error(
    pooled: RandomEffects, settings: int, over_items: tuple[float, int]
) -> tuple[float, int]:
    """Return error and degrees of freedom over settings or over items: the wider interval."""
    candidates = [over_items]
    if settings > 1:
        candidates.append((pooled.error, settings - 1))
    return max(candidates, key=lambda candidate: candidate[0] * t_quantile(candidate[1]))
