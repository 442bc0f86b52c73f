"""Slopes of several groups of items, each drawn towards their mean by how little it knows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.estimate import EPSILON, Estimate, Interval, not_estimable, t_quantile
from judge_gym.metrics.ranking import clustered_error, random_effects, wider_error
from judge_gym.metrics.regression import few_degrees

FEWEST_ITEMS = 4


@dataclass(frozen=True, eq=False)
class Points:
    """What one slope is of: a value of each item against `x`, and the samples behind them."""

    item: IntArray
    x: FloatArray
    y: FloatArray
    n: int


@dataclass(frozen=True)
class Slopes:
    """The slopes of groups: each alone and drawn towards their mean, that mean and its spread."""

    alone: dict[str, Estimate]
    drawn: dict[str, Estimate]
    mean: Estimate
    spread: Estimate


def partially_pooled(metric: str, groups: Mapping[str, Points], unit: str) -> Slopes:
    """Return the slope of y on x by least squares in each group, partially pooled.

    A group's own slope b has the variance s² of least squares (n - 2). It is drawn to
    w·b + (1 - w)·mean with w = τ²/(τ² + s²); mean and τ² by random effects as in
    `ranking.pool_pairs`. Groups share items, so that the error of the mean is that over groups
    (Hartung-Knapp, t(groups - 1)) or that with items as clusters (CR1, t(items - 2)), the wider.
    Needs 4 items whose x differ in a group, and two such groups to pool.
    """
    fitted = {name: _fitted(points) for name, points in groups.items()}
    usable = {name: found for name, found in fitted.items() if found is not None}
    because = f"it needs {FEWEST_ITEMS} items of lengths that differ, and verdicts that do"
    n = sum(points.n for points in groups.values())
    if not usable:
        absent = not_estimable(metric, because, n=n, unit=unit)
        return Slopes({}, {}, absent, absent)
    effects, variances = np.array([(one.slope, one.variance) for one in usable.values()]).T
    pooled = random_effects(effects, variances)
    items = [one.item for one in usable.values()]
    influence = [w * one.influence for w, one in zip(pooled.weight, usable.values(), strict=True)]
    over_items = clustered_error(items, influence, 2)
    error, df = wider_error(pooled, len(usable), over_items)
    most = len(np.unique(np.concatenate(items)))
    pooled = replace(pooled, error=error)
    alone, drawn = {}, {}
    for name, one in usable.items():
        size, own_df = (groups[name].n, len(one.item)), len(one.item) - 2
        alone[name] = _with(
            metric, one.slope, one.variance**0.5, own_df, size, unit, "least squares"
        )
        if len(usable) > 1:
            method = "least squares, drawn towards the mean (empirical Bayes)"
            value, its_error = pooled.drawn(one.slope, one.variance)
            drawn[name] = _with(metric, value, its_error, own_df, size, unit, method)
    if len(usable) < 2:
        absent = not_estimable(metric, "it needs two groups with a slope", n=n, unit=unit)
        return Slopes(alone, drawn, absent, absent)
    method = f"random effects over {len(usable)}, Hartung-Knapp or items, the wider"
    mean = _with(metric, pooled.mean, error, df, (n, most), unit, method)
    spread = Estimate(
        *(metric, pooled.tau2**0.5, None, None, n, most),
        method=f"τ by DerSimonian and Laird over {len(usable)}",
        unit=unit,
    )
    return Slopes(alone, drawn, mean, spread)


@dataclass(frozen=True, eq=False)
class _Fit:
    slope: float
    variance: float
    item: IntArray
    influence: FloatArray
    """What the residual of each item adds to the slope."""


def _fitted(points: Points) -> _Fit | None:
    """Return the slope of a group; None where it has none."""
    n = len(points.x)
    if n < FEWEST_ITEMS or np.ptp(points.x) <= EPSILON:
        return None
    x, y = points.x - points.x.mean(), points.y - points.y.mean()
    squares = float(x @ x)
    slope = float(x @ y) / squares
    residuals = y - slope * x
    variance = float(residuals @ residuals) / (n - 2) / squares
    if variance <= EPSILON**2:
        return None
    return _Fit(slope, variance, points.item, x * residuals / squares)


def _with(
    metric: str,
    value: float,
    error: float,
    df: int,
    size: tuple[int, int],
    unit: str,
    method: str,
) -> Estimate:
    half = t_quantile(df) * error
    ends: Interval = (value - half, value + half)
    return Estimate(
        metric, value, *ends, *size, method=f"{method}; t interval", unit=unit,
        remarks=few_degrees(df),
    )  # fmt: skip
