"""What several judges say together, by each rule that pools or combines them.

A conclusion that holds under one rule alone is a property of that rule, so all stand side by side.
Their measures of conflict are diagnostic: they tell of the rule's premises, not of the evidence.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from judge_gym.metrics.cells import CellMeans, FloatArray
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import UNIT_INTERVAL, Estimate, mean_over_items, not_estimable
from judge_gym.metrics.masses import (
    CellMasses,
    Combination,
    Masses,
    Rule,
    TooManyProductsError,
    betp,
    dempster,
    gap,
    obstacle,
    weighted_pool,
)
from judge_gym.metrics.polarization import entropy

BY_STATED_AGREEMENT = "stated_agreement"
"""The linear pool in which a judge weighs as much as the agreement that it states."""
Combine = Callable[[list[Masses]], Combination]


def conflict_of_all(cells: CellMasses, abstained: FloatArray | None = None) -> list[Estimate]:
    """Return how far all judges conflict at once on their mean masses, each in [0, 1].

    `dempster_conflict`: mean k, 1 where conflict is total; `total_conflict`: share of items where
    it is, so that Dempster's rule gives nothing; `open_world_conflict`: mean mass on the empty set
    when an abstention supports it (Smets 1990), with `abstained` (items, judges) the share of a
    judge's samples that abstain. Needs two judges and n >= 1.
    """
    names = ["dempster_conflict", "total_conflict", "open_world_conflict"]
    if because := obstacle(cells, 1, 2):
        return [not_estimable(name, because, n=cells.n) for name in names]
    kept, shared = cells.shared(), (cells.sizes > 0).all(axis=1)
    combined = dempster(_judges(kept))
    undefined = (~combined.defined).astype(np.int64)
    total = clustered_share(names[1], undefined, np.ones_like(undefined))
    level = np.where(combined.defined, combined.conflict, 1.0)
    silent = np.zeros(kept.sizes.shape) if abstained is None else abstained[shared]
    empty = 1 - (1 - silent).prod(axis=1) * (1 - level)
    mean = partial(mean_over_items, n=kept.n, unit="probability", bounds=UNIT_INTERVAL)
    return [
        mean(names[0], level),
        replace(total, n=kept.n, method="share of items, Wilson interval"),
        mean(names[2], empty),
    ]


def by_rule(
    cells: CellMasses, stated: CellMeans | None = None
) -> Iterator[tuple[str, list[Estimate]]]:
    """Yield each rule with what the judges say together by it, on average over items.

    `combined_gap`: uncertainty gap, in [0, 1]; `combined_stage`: expected stage, 1 to S;
    `combined_entropy`: entropy of the pignistic probabilities, 0 to log2 S bits; `combined_top`:
    probability of the likeliest stage, in (0, 1]. Over the items where the rule gives a result.
    `stated` (judges x items) is the mean stated agreement; without it on every item, that rule is
    left out. Needs two judges and n >= 1; Dubois-Prade and PCR6 list every product of the judges'
    masses, and are not estimable with too many.
    """
    for rule, combine in _rules(cells, stated):
        yield rule, _figures(cells, combine)


def positions_by_rule(
    cells: CellMasses, stated: CellMeans | None = None
) -> Iterator[tuple[str, CellMeans]]:
    """Yield each rule with where the judges together stand on every item, in [0, 1] (1 x items).

    It is (expected stage - 1)/(S - 1), so that scales compare; n counts the samples of the item,
    0 where a judge has none or the rule gives nothing. Rules as in `by_rule`, without those that
    are not estimable. Needs two judges and an item that both scored, else there is no rule.
    """
    if obstacle(cells, 1, 2):
        return
    kept, shared = cells.shared(), np.flatnonzero((cells.sizes > 0).all(axis=1))
    places = np.arange(kept.masses.n_stages) / (kept.masses.n_stages - 1)
    for rule, combine in _rules(cells, stated):
        try:
            combined = combine(_judges(kept))
        except TooManyProductsError:
            continue
        value, n = np.zeros((1, len(cells.sizes))), np.zeros((1, len(cells.sizes)), dtype=np.int64)
        if combined.masses is not None:
            found = shared[combined.defined]
            value[0, found] = betp(combined.masses) @ places
            n[0, found] = cells.sizes[found].sum(axis=1)
        yield rule, CellMeans(value, n)


def rules_that_keep(by_rule: Mapping[str, Estimate]) -> tuple[Estimate, Estimate]:
    """Return under which share of the rules a contrast keeps its sign, and its support.

    `panel_contrast_same_sign`: the share of rules whose estimate has the sign of the linear
    pool's; `panel_contrast_supported`: the share whose interval lies wholly on that side of 0.
    Both in [0, 1] of the rules with an estimate, which n counts. Needs one for the linear pool that
    is not 0, and one for another rule.
    """
    names = ("panel_contrast_same_sign", "panel_contrast_supported")
    found = [one for one in by_rule.values() if one.estimate is not None]
    pooled = by_rule.get(Rule.LINEAR_POOL)
    n_items = pooled.n_items if pooled else 0
    if pooled is None or not pooled.estimate or len(found) < 2:
        because = "it needs a contrast by the linear pool that is not 0, and one by another rule"
        absent = [
            not_estimable(name, because, n=len(found), n_items=n_items, unit="share")
            for name in names
        ]
        return absent[0], absent[1]
    side = np.sign(pooled.estimate)
    kept = [(one.estimate or 0.0) * side > 0 for one in found]
    firm = [
        one.lower is not None
        and one.upper is not None
        and min(one.lower * side, one.upper * side) > 0
        for one in found
    ]
    same, supported = (
        Estimate(
            *(name, float(np.mean(held)), None, None, len(found), n_items),
            method="share of rules of combination",
            unit="share",
        )
        for name, held in zip(names, (kept, firm), strict=True)
    )
    return same, supported


def _rules(cells: CellMasses, stated: CellMeans | None) -> Iterator[tuple[str, Combine]]:
    for rule in Rule:
        yield rule.value, rule.combine
    if stated is None or obstacle(cells, 1, 2):
        return
    shared = (cells.sizes > 0).all(axis=1)
    weights, known = stated.value.T[shared], stated.present.T[shared]
    if known.all() and known.size:
        yield BY_STATED_AGREEMENT, partial(weighted_pool, weights=weights)


_UNITS = {
    "combined_gap": "probability",
    "combined_stage": "stage",
    "combined_entropy": "bits",
    "combined_top": "probability",
}


def _figures(cells: CellMasses, combine: Combine) -> list[Estimate]:
    if because := obstacle(cells, 1, 2):
        return [not_estimable(name, because, n=cells.n) for name in _UNITS]
    kept = cells.shared()
    try:
        combined = combine(_judges(kept)).masses
        because = "the rule gives no result on any item: the judges conflict totally"
    except TooManyProductsError as error:
        combined, because = None, f"there are {error}"
    n, n_items = kept.n, len(kept.sizes)
    if combined is None:
        return [
            not_estimable(name, because, n=n, n_items=n_items, unit=unit)
            for name, unit in _UNITS.items()
        ]
    p, stages = betp(combined), combined.n_stages
    measured = (
        (gap(combined), UNIT_INTERVAL),
        (p @ np.arange(1, stages + 1.0), (1.0, float(stages))),
        (entropy(p), (0.0, float(np.log2(stages)))),
        (p.max(axis=-1), UNIT_INTERVAL),
    )
    return [
        mean_over_items(name, values, n=n, unit=unit, bounds=bounds)
        for (name, unit), (values, bounds) in zip(_UNITS.items(), measured, strict=True)
    ]


def _judges(kept: CellMasses) -> list[Masses]:
    return [replace(kept.masses, mass=kept.masses.mass[:, j]) for j in range(kept.n_judges)]
