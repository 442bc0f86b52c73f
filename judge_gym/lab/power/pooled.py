"""A figure of several levels of its facets, pooled by its total error as a report pools it."""

from collections.abc import Sequence

import numpy as np

from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.facets import ITEM, FacetTable, complete_table, total_error


def pooled(metric: str, table: FacetTable) -> Estimate:
    """Return the mean over a table's items and facets, all of them random."""
    block, _ = complete_table(table)
    total = total_error(block)
    if total is None:
        return not_estimable(metric, "the crossing is not complete")
    mean, n, items = float(block.values.mean()), block.values.size, len(block.values)
    return Estimate(metric, mean, *total.interval, n, items, df=total.df)


def pooled_over_levels(
    estimates: Sequence[Estimate], levels: Sequence[int], sd: float, rng: np.random.Generator
) -> Estimate:
    """Return one figure of the same figure at each level of the facets.

    `estimates` are means over items, those of the last facet's levels beside each other. Each
    level of a facet moves the figure by a normal amount of standard deviation `sd`, in its unit.
    The first that cannot be estimated is returned as it is.
    """
    by_level = [one.values for one in estimates if one.values is not None]
    if len(by_level) < len(estimates):
        return next(one for one in estimates if one.values is None)
    items = np.unique(np.concatenate([one.items for one in by_level]))
    values = np.full((len(items), len(estimates)), np.nan)
    for number, one in enumerate(by_level):
        values[np.searchsorted(items, one.items), number] = one.values
    values = values.reshape(len(items), *levels)
    for axis, size in enumerate(levels, 1):
        shape = [1] * values.ndim
        shape[axis] = size
        values = values + sd * rng.normal(size=size).reshape(shape)
    names = (ITEM, *(f"facet {number}" for number in range(len(levels))))
    return pooled(estimates[0].metric, FacetTable(names, values))
