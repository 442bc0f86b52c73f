"""Facets of measurement: total error, where variance comes from, and what to buy next.

A figure measured per item and wording (and rubric draw) is a sample in each of these facets: other
items and other wordings would have given another mean. `total_error` widens the interval over
items by what the other facets add, all of them random. `facet_components` splits the variance of
single scores by facet, and `half_width` says what interval other numbers of levels would give.

All take a complete crossing; `complete_table` finds the largest one. Source: Searle, Casella and
McCulloch 1992, Variance Components, chapter 4; Brennan 2001, Generalizability Theory.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.estimate import (
    EPSILON,
    LEVEL,
    Estimate,
    Interval,
    Remark,
    RemarkKind,
    not_estimable,
    t_quantile,
    with_interval,
)

Term = tuple[str, ...]
"""The facets whose interaction a component belongs to; of one facet, its main effect."""

ITEM, WORDING, DRAW, JUDGE = "item", "wording", "rubric draw", "judge"
QUESTION = "question"
"""What stands in the place of items where several answer one."""
REPLICATE = "replicate"
UNIT = "squared 0-1 scale"
HIGHEST_VARIANCE = 0.25
"""The largest variance that values from 0 to 1 can have."""


@dataclass(frozen=True, eq=False)
class FacetTable:
    """Values with an axis per facet, the first that of items; NaN where there is none."""

    names: tuple[str, ...]
    values: FloatArray

    @property
    def sizes(self) -> dict[str, int]:
        """The number of levels of each facet."""
        return dict(zip(self.names, self.values.shape, strict=True))


def complete_table(table: FacetTable) -> tuple[FacetTable, tuple[IntArray, ...]]:
    """Return the largest complete block that is found, and the levels of each facet in it.

    As long as a value is missing, the level that misses the largest share of its values is left
    out, a level of items before one of another facet where they tie. On one missing value this
    leaves out one item. The block may be empty.
    """
    kept = [np.arange(size) for size in table.values.shape]
    values = table.values
    while values.size and np.isnan(values).any():
        missing = np.isnan(values)
        shares = [
            missing.mean(axis=tuple(other for other in range(values.ndim) if other != axis))
            for axis in range(values.ndim)
        ]
        worst = max(range(values.ndim), key=lambda axis: float(shares[axis].max()))
        left = shares[worst] < shares[worst].max()
        if worst > 0 or left.sum() == 0:
            # One level at a time: without it others may be complete.
            left = np.arange(len(left)) != int(shares[worst].argmax())
        kept[worst] = kept[worst][left]
        values = values[(slice(None),) * worst + (left,)]
    return FacetTable(table.names, values), tuple(kept)


@dataclass(frozen=True)
class MeanSquare:
    """A mean square and its degrees of freedom."""

    value: float
    df: int


def mean_squares(table: FacetTable) -> dict[Term, MeanSquare]:
    """Return the mean square of every main effect and interaction of a complete table.

    That of all facets together is the residual. Needs two levels of each facet.
    """
    values = table.values - table.values.mean()
    axes = range(values.ndim)
    means: dict[tuple[int, ...], FloatArray] = {
        kept: values.mean(axis=tuple(axis for axis in axes if axis not in kept), keepdims=True)
        for size in range(values.ndim + 1)
        for kept in combinations(axes, size)
    }
    squares = {}
    for kept in means:
        if kept:
            effect = sum(
                (-1) ** (len(kept) - size) * means[part]
                for size in range(len(kept) + 1)
                for part in combinations(kept, size)
            )
            df = prod(values.shape[axis] - 1 for axis in kept)
            repeats = prod(values.shape[axis] for axis in axes if axis not in kept)
            total = repeats * float((np.asarray(effect) ** 2).sum())
            squares[tuple(table.names[axis] for axis in kept)] = MeanSquare(total / df, df)
    return squares


@dataclass(frozen=True)
class TotalError:
    """The interval of a mean over random facets, and what it is made of.

    `standard_error` is in the unit of the values, `df` Satterthwaite's. `at_zero` names terms
    whose variance was estimated below 0 and counts as 0.
    """

    interval: Interval
    standard_error: float
    df: float
    at_zero: tuple[Term, ...]


def total_error(table: FacetTable) -> TotalError | None:
    """Return the error of the grand mean of a complete table whose facets are all random.

    For items and wordings Var = (MS_item + MS_wording - MS_residual) / (n_item·n_wording); for
    more facets the sum over terms of their variance over the product of their levels. A component
    below 0 counts as 0. Degrees of freedom after Satterthwaite 1946, Biometrics Bulletin 2. None
    with one level of a facet, or where nothing varies.
    """
    if table.values.size == 0 or min(table.values.shape) < 2:
        return None
    squares = mean_squares(table)
    parts = {term: _alternating(term, squares) for term in squares}
    above = {term: part for term, part in parts.items() if part > 0 or term == table.names}
    variance, df = _combined(above, squares)
    if variance <= EPSILON**2:
        return None
    error = (variance / table.values.size) ** 0.5
    half, mean = t_quantile(df) * error, float(table.values.mean())
    at_zero = tuple(term for term in squares if term not in above)
    return TotalError((mean - half, mean + half), error, df, at_zero)


def _combined(
    parts: Mapping[Term, float], squares: Mapping[Term, MeanSquare]
) -> tuple[float, float]:
    """Return the sum of parts, each an alternating sum of mean squares, and Satterthwaite's df."""
    weight = {
        term: sum((-1) ** (len(term) - len(part)) for part in parts if set(part) <= set(term))
        for term in squares
    }
    variance = sum(parts.values())
    spread = sum((weight[term] * square.value) ** 2 / square.df for term, square in squares.items())
    return variance, variance**2 / spread if spread > 0 else 1.0


def _alternating(term: Term, squares: Mapping[Term, MeanSquare]) -> float:
    """Return the term's variance times the number of values behind one of its levels."""
    return sum((sign * square.value for sign, square in _signed(term, squares)), 0.0)


def _signed(term: Term, squares: Mapping[Term, MeanSquare]) -> list[tuple[int, MeanSquare]]:
    """Return the mean squares whose alternating sum is that, with their signs."""
    return [
        ((-1) ** (len(other) - len(term)), square)
        for other, square in squares.items()
        if set(term) <= set(other)
    ]


@dataclass(frozen=True, eq=False)
class FacetCells:
    """Samples by cell of crossed facets: means, counts and squares about the mean, item first."""

    means: FacetTable
    n: IntArray
    squares: FloatArray

    @classmethod
    def of(
        cls, names: Sequence[str], codes: Sequence[IntArray], values: FloatArray
    ) -> "FacetCells":
        """Return the cells of samples: an array of codes from 0 per facet, and a value each."""
        shape = tuple(int(code.max(initial=-1)) + 1 for code in codes)
        cell = np.ravel_multi_index(tuple(codes), shape) if len(values) else codes[0]
        n = np.bincount(cell, minlength=prod(shape))
        sums = np.bincount(cell, values, prod(shape))
        mean = np.divide(sums, n, where=n > 0, out=np.full(len(n), np.nan))
        squares = np.bincount(cell, (values - mean[cell]) ** 2, prod(shape)).astype(np.float64)
        return cls(
            FacetTable(tuple(names), mean.reshape(shape)), n.reshape(shape), squares.reshape(shape)
        )

    def at(self, levels: Sequence[IntArray]) -> "FacetCells":
        """Return the block of these levels of each facet."""
        place = np.ix_(*levels)
        block = FacetTable(self.means.names, self.means.values[place])
        return FacetCells(block, self.n[place], self.squares[place])


@dataclass(frozen=True)
class FacetVariances:
    """Variance components of single scores, none below 0, and how many levels there were.

    `terms` holds those of facets and their interactions, `replicate` that of repeats of a cell;
    it is None, and its variance part of the residual term, where no cell repeats. `replicates`
    is the harmonic mean of the samples per cell.
    """

    sizes: Mapping[str, int]
    replicates: float
    terms: Mapping[Term, float]
    replicate: float | None


def facet_components(
    cells: FacetCells, most: float = math.inf
) -> tuple[list[Estimate], FacetVariances | None]:
    """Return the variance of each term (`metric` is its name) and of replicates, of a crossing.

    The crossed random-effects model on cell means, cells of different size by their harmonic
    mean: the ANOVA estimates, which are those of REML on balanced data where none is below 0. One
    below 0 is set to 0 and carries the remark `AT_ZERO`; where it is the interaction of all
    facets, it is pooled into the replicates, as REML does. Interval: modified large sample, which
    is exact for one mean square of normal data. Estimates and intervals, but not the variances of
    a forecast, are cut to [0, `most`], which is `HIGHEST_VARIANCE` for 0-1 values. Skewed or
    evenly spread items make an interval too narrow or too wide (decision 0026), so it is
    exploratory. An incomplete crossing is cut to its largest complete block, with the remark
    `BLOCK`. Needs two levels of two facets. Sources: Ting et al. 1990, Journal of Statistical
    Computation and Simulation 35; Burdick and Graybill 1992, Confidence Intervals on Variance
    Components.
    """
    whole = cells.n.shape
    _, kept = complete_table(cells.means)
    block = cells.at(kept)
    names, n, items = block.means.names, int(block.n.sum()), block.n.shape[0]
    if min(block.n.shape) < 2 or len(names) < 2:
        sizes = ", ".join(f"{size} of {name}" for name, size in block.means.sizes.items())
        because = f"it needs two levels of each facet in a complete crossing, and there are {sizes}"
        return [not_estimable(REPLICATE, because, n=n, n_items=items, unit=UNIT)], None
    squares = mean_squares(block.means)
    size = float(1 / (1 / block.n).mean())
    noise = _within_cells(block, size)
    last, pooled = squares[names], noise
    if noise and last.value < noise.value:
        squares[names] = pooled = _pooled(last, noise)
    estimates = []
    for term in squares:
        combined = _signed(term, squares)
        if term == names:
            combined = [(1, last), *([(-1, noise)] if noise else [])]
        repeats = prod(block.means.sizes[name] for name in names if name not in term)
        name = " x ".join(term) + (f" and {REPLICATE}" if term == names and not noise else "")
        estimates.append(_component(name, combined, repeats, n, items))
    if noise and pooled:
        repeated = _component(REPLICATE, [(1, noise)], 1 / size, n, items)
        estimates.append(replace(repeated, estimate=pooled.value * size))
    values = [estimate.estimate or 0.0 for estimate in estimates]
    remarks = _remarks_on_block(block.means, whole)
    return (
        [replace(_cut(one, most), remarks=(*one.remarks, *remarks)) for one in estimates],
        FacetVariances(
            block.means.sizes,
            size,
            dict(zip(squares, values, strict=False)),
            values[-1] if noise else None,
        ),
    )


def _cut(component: Estimate, most: float) -> Estimate:
    value, low, high = (
        None if one is None else min(one, most)
        for one in (component.estimate, component.lower, component.upper)
    )
    return replace(component, estimate=value, lower=low, upper=high)


def _within_cells(block: FacetCells, size: float) -> MeanSquare | None:
    """Return the mean square of repeats, of means of `size` of them; None where no cell repeats."""
    spare = int((block.n - 1).sum())
    return MeanSquare(float(block.squares.sum()) / spare / size, spare) if spare else None


def _pooled(first: MeanSquare, second: MeanSquare) -> MeanSquare:
    df = first.df + second.df
    return MeanSquare((first.value * first.df + second.value * second.df) / df, df)


def _remarks_on_block(block: FacetTable, whole: tuple[int, ...]) -> tuple[Remark, ...]:
    return tuple(
        Remark(RemarkKind.BLOCK, size, of, (name,))
        for (name, size), of in zip(block.sizes.items(), whole, strict=True)
        if size < of
    )


def _component(
    name: str, combined: Sequence[tuple[int, MeanSquare]], repeats: float, n: int, items: int
) -> Estimate:
    """Return the variance that signed mean squares add up to, over so many repeats."""
    value = sum(sign * square.value for sign, square in combined) / repeats
    method = "ANOVA of a complete crossing; modified large sample interval"
    remarks = (Remark(RemarkKind.AT_ZERO, names=(name,)),) if value < -EPSILON else ()
    estimate = Estimate(
        name, max(0.0, value), None, None, n, items, method=method, unit=UNIT, remarks=remarks
    )
    if not any(square.value > EPSILON**2 for _, square in combined):
        return with_interval(estimate, None)
    low, high = (value + end / repeats for end in _modified_large_sample(combined))
    return with_interval(estimate, (max(0.0, low), max(0.0, high)))


def _modified_large_sample(combined: Sequence[tuple[int, MeanSquare]]) -> Interval:
    """Return how far the interval of Σ sign · MS reaches below and above its value.

    Both ends hold the exact chi-square and F intervals of one mean square and of a difference.
    """
    from scipy.special import chdtri, fdtri

    tail = (1 - LEVEL) / 2
    added = [square for sign, square in combined if sign > 0]
    taken = [square for sign, square in combined if sign < 0]

    def shrunk(square: MeanSquare, upper: float) -> float:
        """Return 1 - df / χ² at the upper tail probability."""
        return float(1 - square.df / chdtri(square.df, upper))

    reach = []
    for side in (tail, 1 - tail):
        squared = sum((shrunk(one, side) * one.value) ** 2 for one in added)
        squared += sum((shrunk(one, 1 - side) * one.value) ** 2 for one in taken)
        for one in added:
            for other in taken:
                f = float(fdtri(one.df, other.df, 1 - side))
                joint = (f - 1) ** 2 - (shrunk(one, side) * f) ** 2 - shrunk(other, 1 - side) ** 2
                squared += joint / f * one.value * other.value
        reach.append(max(0.0, squared) ** 0.5)
    return -reach[0], reach[1]


def half_width(variances: FacetVariances, sizes: Mapping[str, int], replicates: float) -> float:
    """Return the half-width of a mean's 95% interval with these levels, all facets random.

    The expected variance of `total_error`, with the degrees of freedom of the expected mean
    squares. Facets with one level now, and their interactions, cannot be forecast.
    """
    noise = (variances.replicate or 0.0) / replicates
    names = tuple(variances.sizes)
    total = prod(sizes[name] for name in names)
    parts = {
        term: (value + (noise if term == names else 0.0))
        * prod(sizes[name] for name in names if name not in term)
        for term, value in variances.terms.items()
    }
    squares = {
        term: MeanSquare(
            sum(part for other, part in parts.items() if set(term) <= set(other)),
            prod(max(sizes[name] - 1, 1) for name in term),
        )
        for term in parts
    }
    error, df = _combined(parts, squares)
    return t_quantile(df) * (error / total) ** 0.5 if error > 0 else 0.0


@dataclass(frozen=True)
class NextStep:
    """More levels of one facet that bring the half-width to `target`; `levels` None: cannot.

    `share` is what this adds to the design, as a share of it: levels / now - 1.
    """

    facet: str
    now: float
    levels: int | None
    share: float | None


def next_steps(variances: FacetVariances, target: float, most: int = 100) -> list[NextStep]:
    """Return for each facet, and replicates, the fewest levels that reach a half-width `target`.

    At most `most` times as many as now. What adds least comes first, what cannot reach it last.
    """
    sizes, replicates = dict(variances.sizes), variances.replicates
    steps = []
    for facet in (*sizes, REPLICATE):
        now = replicates if facet == REPLICATE else sizes[facet]
        if facet == REPLICATE and variances.replicate is None:
            continue

        def width(levels: int, facet: str = facet) -> float:
            changed = sizes if facet == REPLICATE else {**sizes, facet: levels}
            return half_width(variances, changed, levels if facet == REPLICATE else replicates)

        levels = range(int(now) + 1, int(now * most) + 1)
        place = bisect_left(levels, -target, key=lambda count: -width(count))
        if place == len(levels):
            steps.append(NextStep(facet, now, None, None))
        else:
            steps.append(NextStep(facet, now, levels[place], levels[place] / now - 1))
    return sorted(steps, key=lambda step: (step.share is None, step.share or 0))
