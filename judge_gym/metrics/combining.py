"""What several judges say together, by each rule that pools or combines them.

A conclusion that holds under one rule alone is a property of that rule, so all stand side by side.
Their measures of conflict are diagnostic: they tell of the rule's premises, not of the evidence.
"""

from collections.abc import Callable, Iterator
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
    for rule in Rule:
        yield rule.value, _figures(cells, rule.combine)
    if stated is None or obstacle(cells, 1, 2):
        return
    shared = (cells.sizes > 0).all(axis=1)
    weights, known = stated.value.T[shared], stated.present.T[shared]
    if known.all() and known.size:
        yield BY_STATED_AGREEMENT, _figures(cells, partial(weighted_pool, weights=weights))


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
