"""Belief-function figures of judges on the items they share: conflict, distance, gap, support.

Each takes verdicts of one rubric (abstentions enter through `cells.with_abstentions`), averages
over the judges or pairs of an item, then over the items every judge scored; t interval over
items. Figures of one judge: pass `verdicts.of_judges([judge])`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray, Verdicts
from judge_gym.metrics.combination import Combination, Rule, TooManyProductsError
from judge_gym.metrics.estimate import (
    SIGNED_UNIT,
    UNIT_INTERVAL,
    Estimate,
    caution_below,
    mean_over_items,
    not_estimable,
)
from judge_gym.metrics.masses import (
    Masses,
    belief,
    betp,
    disjoint,
    gap,
    jaccard,
    mean_masses,
    plausibility,
    rows_of,
    singletons,
)
from judge_gym.metrics.outcomes import clustered_share

DISTANCE_ITEMS = 30

Pair = tuple[int, int]
Kernel = Callable[[IntArray, IntArray], FloatArray]


@dataclass(frozen=True, eq=False)
class PairFigures:
    """A figure of pairs of judges: their mean, and each pair by its judges' numbers.

    Every pair uses the same items, so that pairs compare.
    """

    overall: Estimate
    by_pair: dict[Pair, Estimate]


def conflict(verdicts: Verdicts) -> PairFigures:
    """Return k_ij = Σ m_i(A)·m_j(B) over disjoint A, B, a probability in [0, 1].

    The chance that a verdict of one judge and one of the other are incompatible (Shafer 1976).
    No divergence: two copies of a judge that spreads its verdicts conflict too, so read it beside
    `self_conflict`. Needs two judges and n >= 1.
    """
    because = _obstacle(verdicts, 1, 2)
    if because:
        return _no_pairs("conflict", because, verdicts, "probability")
    cells = _shared(verdicts, 1)
    return _pairs(
        "conflict", verdicts, 1, _products(cells, _incompatible), "probability", UNIT_INTERVAL
    )


def self_conflict(verdicts: Verdicts) -> Estimate:
    """Return k_ii = n/(n-1) · Σ m_i(A)·m_i(B) over disjoint A, B, a probability in [0, 1].

    The chance that two different samples of one cell are incompatible, unbiased; the mean over
    judges. Needs n >= 2 in every cell of an item.
    """
    metric, unit = "self_conflict", "probability"
    because = _obstacle(verdicts, 2, 1)
    if because:
        return not_estimable(metric, because, n=len(verdicts), unit=unit)
    cells, sizes = _shared(verdicts, 2), _sizes(verdicts, 2)
    own = np.diagonal(_products(cells, _incompatible), axis1=1, axis2=2)
    return _over_items(metric, verdicts, 2, own * sizes / (sizes - 1), unit, UNIT_INTERVAL)


def belief_distance(verdicts: Verdicts) -> PairFigures:
    """Return d_J² = ½(S_ii + S_jj) - S_ij, S the mean Jaccard similarity of pairs of samples.

    On the scale of Jaccard similarity, at most 1. Self-pairs are left out, S_ii =
    (n·mᵀJm - 1)/(n - 1), so that identical judges give 0 in expectation and single items can be
    negative. The headline for subset verdicts. Needs two judges and n >= 2; 30 items advised
    (a distance of 0.044 is found 12% of the time at 15 items, 33% at 30, 69% at 60). Source:
    Jousselme, Grenier and Bossé 2001, with the unbiased estimate of the squared kernel distance
    (Gretton et al. 2012).
    """
    metric, unit = "belief_distance", "squared Jaccard distance"
    because = _obstacle(verdicts, 2, 2)
    if because:
        return _no_pairs(metric, because, verdicts, unit)
    sizes = _sizes(verdicts, 2)
    similar = _products(_shared(verdicts, 2), jaccard)
    own = (sizes * np.diagonal(similar, axis1=1, axis2=2) - 1) / (sizes - 1)
    distance = (own[:, :, None] + own[:, None, :]) / 2 - similar
    found = _pairs(metric, verdicts, 2, distance, unit, SIGNED_UNIT)
    return PairFigures(
        caution_below(found.overall, DISTANCE_ITEMS),
        {pair: caution_below(one, DISTANCE_ITEMS) for pair, one in found.by_pair.items()},
    )


def uncertainty_gap(verdicts: Verdicts) -> Estimate:
    """Return the mean over stages of Pl(s) - Bel(s) on the mean mass, in [0, 1].

    0 when every verdict names one stage, 1 when each names the whole scale. Needs n >= 1.
    """
    because = _obstacle(verdicts, 1, 1)
    if because:
        return not_estimable("uncertainty_gap", because, n=len(verdicts), unit="probability")
    values = gap(_shared(verdicts, 1))
    return _over_items("uncertainty_gap", verdicts, 1, values, "probability", UNIT_INTERVAL)


@dataclass(frozen=True, eq=False)
class StageSupport:
    """Bel, BetP and Pl of one stage (1..S): what is certain for it, bet on it, open to it."""

    stage: int
    belief: Estimate
    betp: Estimate
    plausibility: Estimate


def stage_support(verdicts: Verdicts) -> list[StageSupport]:
    """Return Bel(s) <= BetP(s) <= Pl(s) of each stage on the mean mass, each in [0, 1].

    Sources: Shafer 1976; Smets and Kennes 1994 for BetP. Needs n >= 1.
    """
    names, stages = ("belief", "betp", "plausibility"), range(1, verdicts.n_stages + 1)
    because = _obstacle(verdicts, 1, 1)
    if because:
        absent = [
            not_estimable(name, because, n=len(verdicts), unit="probability") for name in names
        ]
        return [StageSupport(stage, *absent) for stage in stages]
    cells, points = _shared(verdicts, 1), singletons(verdicts.n_stages)
    values = (belief(cells, points), betp(cells), plausibility(cells, points))
    return [
        StageSupport(
            stage,
            *(
                _over_items(name, verdicts, 1, value[..., stage - 1], "probability", UNIT_INTERVAL)
                for name, value in zip(names, values, strict=True)
            ),
        )
        for stage in stages
    ]


def combination_record(verdicts: Verdicts) -> list[Estimate]:
    """Return what the classical rules make of the judges' mean masses, item by item.

    `dempster_conflict`: mean k of all judges at once, 1 where conflict is total;
    `total_conflict`: share of items where it is, so that Dempster's rule gives nothing;
    `combined_gap_RULE`: mean uncertainty gap after each rule, over the items where its result is
    defined. All in [0, 1]. Needs two judges and n >= 1; Dubois-Prade and PCR6 list every product
    of the judges' masses, and say so when there are too many.
    """
    because = _obstacle(verdicts, 1, 2)
    if because:
        metrics = ["dempster_conflict", "total_conflict", *(f"combined_gap_{r}" for r in Rule)]
        return [not_estimable(metric, because, n=len(verdicts)) for metric in metrics]
    cells = _shared(verdicts, 1)
    judges = [replace(cells, mass=cells.mass[:, judge]) for judge in range(verdicts.n_judges)]
    classical = Rule.DEMPSTER.combine(judges)
    n, items = _count(verdicts, 1), len(classical.conflict)
    undefined = (~classical.defined).astype(np.int64)
    total = clustered_share("total_conflict", undefined, np.ones(items, dtype=np.int64))
    return [
        mean_over_items(
            "dempster_conflict",
            np.where(classical.defined, classical.conflict, 1.0),
            n=n,
            unit="probability",
            bounds=UNIT_INTERVAL,
        ),
        replace(total, n=n, method="share of items, Wilson interval"),
        *(_combined_gap(rule, judges, n) for rule in Rule),
    ]


def _combined_gap(rule: Rule, judges: list[Masses], n: int) -> Estimate:
    metric, items = f"combined_gap_{rule.value}", len(judges[0].mass)
    try:
        combined: Combination = rule.combine(judges)
    except TooManyProductsError as error:
        return not_estimable(metric, str(error), n=n, n_items=items, unit="probability")
    if combined.masses is None:
        because = "the judges conflict totally on every item"
        return not_estimable(metric, because, n=n, n_items=items, unit="probability")
    values = gap(combined.masses)
    return mean_over_items(metric, values, n=n, unit="probability", bounds=UNIT_INTERVAL)


def _incompatible(first: IntArray, second: IntArray) -> FloatArray:
    return disjoint(first, second).astype(np.float64)


def _shared(verdicts: Verdicts, at_least: int) -> Masses:
    """Return the mean masses of the items with `at_least` samples of every judge, item-major."""
    masses = mean_masses(verdicts)
    by_item = replace(masses, mass=np.ascontiguousarray(masses.mass.swapaxes(0, 1)))
    return rows_of(by_item, verdicts.common_items(at_least))


def _sizes(verdicts: Verdicts, at_least: int) -> FloatArray:
    return verdicts.sizes()[:, verdicts.common_items(at_least)].T.astype(np.float64)


def _count(verdicts: Verdicts, at_least: int) -> int:
    return int(_sizes(verdicts, at_least).sum())


def _products(cells: Masses, kernel: Kernel) -> FloatArray:
    """Return items x judges x judges: Σ m_i(A)·kernel(A, B)·m_j(B)."""
    weights = kernel(cells.sets, cells.sets).astype(np.float64)
    return np.asarray((cells.mass @ weights) @ cells.mass.swapaxes(-1, -2))


def _obstacle(verdicts: Verdicts, at_least: int, judges: int) -> str:
    if verdicts.n_judges < judges:
        return f"it compares {judges} judges, and there is {verdicts.n_judges}"
    if verdicts.common_items(at_least).any():
        return ""
    if at_least == 1:
        return "no item was scored by every judge"
    return f"no item has {at_least} scored replicates of every judge"


def _over_items(
    metric: str,
    verdicts: Verdicts,
    at_least: int,
    values: FloatArray,
    unit: str,
    bounds: tuple[float, float],
) -> Estimate:
    """Return the estimate of values (items, judges or pairs), averaged within the item first."""
    return mean_over_items(
        metric, values.mean(axis=1), n=_count(verdicts, at_least), unit=unit, bounds=bounds
    )


def _pairs(
    metric: str,
    verdicts: Verdicts,
    at_least: int,
    values: FloatArray,
    unit: str,
    bounds: tuple[float, float],
) -> PairFigures:
    """Return the figures of values (items, judges, judges) by pair and over all pairs."""
    sizes = _sizes(verdicts, at_least).sum(axis=0)
    pairs = list(combinations(range(verdicts.n_judges), 2))
    first, second = np.array(pairs).T
    by_pair = {
        (i, j): mean_over_items(
            f"{metric}_pair", values[:, i, j], n=int(sizes[i] + sizes[j]), unit=unit, bounds=bounds
        )
        for i, j in pairs
    }
    overall = _over_items(metric, verdicts, at_least, values[:, first, second], unit, bounds)
    return PairFigures(overall, by_pair)


def _no_pairs(metric: str, because: str, verdicts: Verdicts, unit: str) -> PairFigures:
    pairs = combinations(range(verdicts.n_judges), 2)
    absent = not_estimable(metric, because, n=len(verdicts), unit=unit)
    by_pair = {pair: replace(absent, metric=f"{metric}_pair") for pair in pairs}
    return PairFigures(absent, by_pair)
