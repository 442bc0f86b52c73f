"""Belief-function figures of judges on the items they share: conflict, distance, gap, support.

All take the `CellMasses` of one rubric's verdicts, counted once. They average over the judges or
pairs of an item, then over the items every judge scored; t interval over items.
Figures of one judge: `of_judges([judge])`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import (
    SIGNED_UNIT,
    UNIT_INTERVAL,
    Estimate,
    caution_below,
    mean_over_items,
    normal_quantile,
    not_estimable,
    widened_to_permutation,
)
from judge_gym.metrics.masses import (
    CellMasses,
    Masses,
    belief,
    betp,
    disjoint,
    gap,
    jaccard,
    obstacle,
    plausibility,
    singletons,
)

DISTANCE_ITEMS = 30

Pair = tuple[int, int]
Bounds = tuple[float, float]
Kernel = Callable[[IntArray, IntArray], FloatArray]


@dataclass(frozen=True, eq=False)
class PairFigures:
    """Estimates of pairs of judges: their mean, and each pair by its judges' numbers.

    Every pair uses the same items, so that pairs are comparable.
    """

    overall: Estimate
    by_pair: dict[Pair, Estimate]


def conflict(cells: CellMasses) -> PairFigures:
    """Return k_ij = Σ m_i(A)·m_j(B) over disjoint A, B, a probability in [0, 1].

    The chance that a verdict of one judge and one of the other are incompatible (Shafer 1976).
    No divergence: two copies of a judge that spreads its verdicts conflict too, so read it beside
    `self_conflict`. Needs two judges and n >= 1.
    """
    metric, unit = "conflict", "probability"
    because = obstacle(cells, 1, 2)
    if because:
        return _no_pairs(metric, because, cells, unit)
    kept = cells.shared()
    return _pairs(metric, kept, _products(kept.masses, _incompatible), unit, UNIT_INTERVAL)


def self_conflict(cells: CellMasses) -> Estimate:
    """Return k_ii = n/(n-1) · Σ m_i(A)·m_i(B) over disjoint A, B, a probability in [0, 1].

    The chance that two different samples of one cell are incompatible, unbiased; the mean over
    judges. A cell has one rubric: over draws or wordings it is the mean of theirs, where each has
    two samples. Needs n >= 2 in every cell of an item.
    """
    metric, unit = "self_conflict", "probability"
    because = obstacle(cells, 2, 1)
    if because:
        return not_estimable(metric, because, n=cells.n, unit=unit)
    kept = cells.shared(2)
    own = _diagonal(_products(kept.masses, _incompatible)) * kept.sizes / (kept.sizes - 1)
    items: BoolArray = np.asarray((cells.sizes >= 2).all(axis=1))
    return mean_over_items(
        metric,
        own.mean(axis=1),
        n=kept.sizes.sum(axis=1),
        unit=unit,
        bounds=UNIT_INTERVAL,
        items=items,
    )


def belief_distance(cells: CellMasses) -> PairFigures:
    """Return d_J² = ½(S_ii + S_jj) - S_ij, S the mean Jaccard similarity of pairs of samples.

    In units of that similarity, at most 1. Self-pairs are left out, S_ii = (n·mᵀJm - 1)/(n - 1),
    so that identical judges give 0 in expectation and single items can be negative: it is its own
    noise floor. Interval: t over items, never wholly below the null of permuting the samples of an
    item between its judges. The headline for subset verdicts. Needs two judges and n >= 2; 30
    items advised (0.044 is found 12% of the time at 15 items, 33% at 30, 69% at 60). Sources:
    Jousselme, Grenier and Bossé 2001, Information Fusion 2; the unbiased form is that of Gretton
    et al. 2012, Journal of Machine Learning Research 13.
    """
    metric, unit = "belief_distance", "squared Jaccard distance"
    because = obstacle(cells, 2, 2)
    if because:
        return _no_pairs(metric, because, cells, unit)
    kept = cells.shared(2)
    result = _pairs(metric, kept, item_distances(kept), unit, SIGNED_UNIT)
    return PairFigures(
        _with_permutation_end(result.overall, kept),
        {
            pair: _with_permutation_end(estimate, kept.of_judges(pair))
            for pair, estimate in result.by_pair.items()
        },
    )


def _with_permutation_end(estimate: Estimate, cells: CellMasses) -> Estimate:
    spread = float(permutation_variances(cells).sum()) ** 0.5 / len(cells.sizes)
    widened = widened_to_permutation(estimate, normal_quantile() * spread)
    return caution_below(widened, DISTANCE_ITEMS)


def permutation_variances(cells: CellMasses) -> FloatArray:
    """Return by item the variance of d_J² (mean over pairs) over permutations of its samples.

    Exact over all permutations between the judges, with cells of the same sizes; the mean is 0.
    d_J² is a sum over ordered pairs of samples of similarity times a weight of their judges. The
    weights of a sample sum to 0, which leaves these terms of the variance of such sums.
    Needs n >= 2 everywhere.
    Source: Mantel 1967, Cancer Research 27.
    """
    similar = jaccard(cells.masses.sets, cells.masses.sets)
    sizes, judges = cells.sizes.astype(np.float64), cells.n_judges
    counts = np.einsum("ijk,ij->ik", cells.masses.mass, sizes)
    others = counts @ similar - 1
    total = (counts * others).sum(axis=1)
    squares = (counts * (counts @ similar**2 - 1)).sum(axis=1)
    rows = (counts * others**2).sum(axis=1)
    within = (1 / (sizes * (sizes - 1))).sum(axis=1)
    between = ((1 / sizes).sum(axis=1) ** 2 - (1 / sizes**2).sum(axis=1)) / (judges - 1) ** 2
    n = sizes.sum(axis=1)
    two, three = n * (n - 1), n * (n - 1) * (n - 2)
    spread = squares / two - 2 * (rows - squares) / three
    spread += (total**2 + 2 * squares - 4 * rows) / (three * (n - 3))
    # Without differences between samples the terms cancel but for rounding.
    return np.asarray(np.maximum(2 * (within + between) / judges**2 * spread, 0.0))


def item_distances(cells: CellMasses) -> FloatArray:
    """Return d_J² of every two judges by item, items x judges x judges; needs n >= 2 everywhere."""
    similar = _products(cells.masses, jaccard)
    own = (cells.sizes * _diagonal(similar) - 1) / (cells.sizes - 1)
    return np.asarray((own[:, :, None] + own[:, None, :]) / 2 - similar)


def item_conflicts(cells: CellMasses) -> FloatArray:
    """Return k_ij by item, items x judges x judges; the unbiased k_ii stand on the diagonal.

    Needs n >= 2 everywhere.
    """
    result = _products(cells.masses, _incompatible)
    judges = np.arange(cells.n_judges)
    result[:, judges, judges] *= cells.sizes / (cells.sizes - 1)
    return result


def uncertainty_gap(cells: CellMasses) -> Estimate:
    """Return the mean over stages of Pl(s) - Bel(s) on the mean mass, in [0, 1].

    0 when every verdict names one stage, 1 when each names the whole scale. Needs n >= 1.
    """
    metric, unit = "uncertainty_gap", "probability"
    because = obstacle(cells, 1, 1)
    if because:
        return not_estimable(metric, because, n=cells.n, unit=unit)
    kept = cells.shared()
    return _over_items(metric, kept, gap(kept.masses), unit, UNIT_INTERVAL)


@dataclass(frozen=True, eq=False)
class StageSupport:
    """Belief, pignistic probability and plausibility of one stage (1..S)."""

    stage: int
    belief: Estimate
    betp: Estimate
    plausibility: Estimate


def stage_support(cells: CellMasses) -> list[StageSupport]:
    """Return Bel(s) <= BetP(s) <= Pl(s) of each stage on the mean mass, each in [0, 1].

    Sources: Shafer 1976; Smets and Kennes 1994 for BetP. Needs n >= 1.
    """
    names, unit = ("belief", "betp", "plausibility"), "probability"
    points = singletons(cells.masses.n_stages)
    because = obstacle(cells, 1, 1)
    if because:
        absent = [not_estimable(name, because, n=cells.n, unit=unit) for name in names]
        return [StageSupport(stage, *absent) for stage in range(1, len(points) + 1)]
    kept = cells.shared()
    masses = kept.masses
    support = (belief(masses, points), betp(masses), plausibility(masses, points))
    figures = [
        [
            _over_items(name, kept, value, unit, UNIT_INTERVAL)
            for value in np.moveaxis(values, -1, 0)
        ]
        for name, values in zip(names, support, strict=True)
    ]
    return [
        StageSupport(row + 1, *estimates)
        for row, estimates in enumerate(zip(*figures, strict=True))
    ]


def _incompatible(first: IntArray, second: IntArray) -> FloatArray:
    return disjoint(first, second).astype(np.float64)


def _products(masses: Masses, kernel: Kernel) -> FloatArray:
    """Return items x judges x judges: Σ m_i(A)·kernel(A, B)·m_j(B)."""
    weights = kernel(masses.sets, masses.sets)
    return np.asarray((masses.mass @ weights) @ masses.mass.swapaxes(-1, -2))


def _diagonal(values: FloatArray) -> FloatArray:
    return np.diagonal(values, axis1=1, axis2=2)


def _over_items(
    metric: str, kept: CellMasses, values: FloatArray, unit: str, bounds: Bounds
) -> Estimate:
    """Return the estimate of values (items, judges or pairs), averaged within the item first."""
    return mean_over_items(metric, values.mean(axis=1), n=kept.n, unit=unit, bounds=bounds)


def _pairs(
    metric: str, kept: CellMasses, values: FloatArray, unit: str, bounds: Bounds
) -> PairFigures:
    """Return the figures of values (items, judges, judges) by pair and over all pairs."""
    sizes = kept.sizes.sum(axis=0).tolist()
    pairs = list(combinations(range(kept.n_judges), 2))
    first, second = np.array(pairs).T
    chosen = np.ascontiguousarray(values[:, first, second].T)
    by_pair = {
        (i, j): mean_over_items(
            f"{metric}_pair", row, n=sizes[i] + sizes[j], unit=unit, bounds=bounds
        )
        for (i, j), row in zip(pairs, chosen, strict=True)
    }
    overall = _over_items(metric, kept, chosen.T, unit, bounds)
    return PairFigures(overall, by_pair)


def _no_pairs(metric: str, because: str, cells: CellMasses, unit: str) -> PairFigures:
    absent = not_estimable(metric, because, n=cells.n, unit=unit)
    pairs = combinations(range(cells.n_judges), 2)
    return PairFigures(absent, {pair: replace(absent, metric=f"{metric}_pair") for pair in pairs})
