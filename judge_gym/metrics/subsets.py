"""Width of subset verdicts, and forced-choice inflation (H4).

H4 compares single with subset verdicts. Verdicts that may name more stages are nearer to each
other for that reason alone. So subsets are also compared with single verdicts that are widened at
random to the same sizes. Agreement of real subsets beyond that null is doubt that single verdicts
hide.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray, Verdicts, item_means, set_sizes
from judge_gym.metrics.estimate import UNIT_INTERVAL, Estimate, mean_over_items, not_estimable


def subset_width(verdicts: Verdicts) -> Estimate:
    """Return the mean of (|A| - 1)/(S - 1), in [0, 1]: 0 names one stage, 1 the whole scale.

    Cell means, averaged over the judges of an item, then over the items that all judges
    scored; t interval over items. Needs one item.
    """
    width = (set_sizes(verdicts.stages) - 1) / (verdicts.n_stages - 1)
    return _mean("subset_width", verdicts, width)


def subset_information(verdicts: Verdicts) -> Estimate:
    """Return the mean of log2|A| / log2 S, in [0, 1]: the share of the scale's bits left open.

    Averaged as in `subset_width`. Source: Hartley 1928.
    """
    openness = np.log2(set_sizes(verdicts.stages)) / np.log2(verdicts.n_stages)
    return _mean("subset_information", verdicts, openness)


def _mean(metric: str, verdicts: Verdicts, values: FloatArray) -> Estimate:
    common = verdicts.common_items()
    if not common.any():
        return not_estimable(metric, "no item was scored by every judge", n=len(verdicts))
    cells = verdicts.means(values)
    per_item, kept = item_means(cells.value, cells.present & common)
    n = cells.n[:, common].sum(axis=0)
    estimate = mean_over_items(
        metric, per_item, n=n, unit="share", bounds=UNIT_INTERVAL, items=kept
    )
    return replace(estimate, method="mean over items all judges scored, t interval")


Distance = Callable[[Verdicts], FloatArray]
"""How far the judges of each item stand apart: one value per item, of verdicts that all hold."""

DRAWS = 50


@dataclass(frozen=True)
class ForcedChoice:
    """`drop` is single less subset; `beyond_chance` is widened-at-random less subset (H4)."""

    drop: Estimate
    beyond_chance: Estimate


def forced_choice(
    name: str,
    single: Verdicts,
    subset: Verdicts,
    distance: Distance,
    rng: np.random.Generator,
    unit: str,
) -> ForcedChoice:
    """Return the drop in distance between judges with subset verdicts, as a mean over items.

    Items are those that every judge scored in both forms; t interval over items. The floor of
    `drop` is the drop after widening at random. `beyond_chance` is the drop less its floor, so
    both forms of widening have the same number and sizes of sets, and the same noise. Needs
    two judges and one item. A `distance` is, for instance, the divergence of pignistic
    distributions or d_J² by item.
    """
    if (single.n_judges, single.n_items) != (subset.n_judges, subset.n_items):
        raise ValueError("single and subset verdicts index different judges or items")
    common = single.common_items() & subset.common_items()
    drop, beyond = f"{name}_drop", name
    n = len(single) + len(subset)
    because = ""
    if single.n_judges < 2:
        because = "it compares two judges or more"
    elif not common.any():
        because = "no item was scored by every judge in both forms"
    if because:
        return ForcedChoice(
            *(not_estimable(metric, because, n=n, unit=unit) for metric in (drop, beyond))
        )
    singles, subsets = _on(single, common), _on(subset, common)
    apart, together = distance(singles), distance(subsets)
    null = np.mean(
        [distance(widened_at_random(singles, subsets, rng)) for _ in range(DRAWS)], axis=0
    )
    method = f"mean over items, t interval; {DRAWS} random widenings of the same sizes"
    figures = [
        replace(
            mean_over_items(metric, values, n=len(singles) + len(subsets), unit=unit), method=method
        )
        for metric, values in ((drop, apart - together), (beyond, null - together))
    ]
    return ForcedChoice(replace(figures[0], floor=float((apart - null).mean())), figures[1])


def widened_at_random(single: Verdicts, subset: Verdicts, rng: np.random.Generator) -> Verdicts:
    """Return, for each subset verdict, a single one of the same cell with random stages added.

    The set has the size of the subset verdict and holds the stage of the single one, so that the
    null has the subsets' sizes and the single verdicts' judgement. Every cell of `subset` holds
    a single verdict.
    """
    base = single.stages[_matching_rows(single, subset, rng)]
    keys = rng.random((len(subset), subset.n_stages))
    chosen = (base[:, None] >> np.arange(subset.n_stages)) & 1
    # The judge's own stage sorts first, the others at random behind it.
    order = np.argsort(keys + 1 - chosen, axis=1)
    rank = np.argsort(order, axis=1)
    sizes = np.maximum(set_sizes(subset.stages), set_sizes(base))
    members = (rank < sizes[:, None]).astype(np.int64)
    return replace(subset, stages=(members << np.arange(subset.n_stages)).sum(axis=1))


def _matching_rows(single: Verdicts, subset: Verdicts, rng: np.random.Generator) -> IntArray:
    """Return the row of a random single verdict of each subset verdict's cell."""
    order = np.argsort(single.cell, kind="stable")
    ordered = single.cell[order]
    first = np.searchsorted(ordered, subset.cell)
    count = np.searchsorted(ordered, subset.cell, side="right") - first
    return np.asarray(order[first + (rng.random(len(subset)) * count).astype(np.int64)])


def _on(verdicts: Verdicts, items: np.ndarray) -> Verdicts:
    """Return the verdicts on these items, renumbered so that every item holds some."""
    number = np.cumsum(items) - 1
    kept = verdicts.rows(items[verdicts.item])
    return replace(kept, item=number[kept.item], n_items=int(items.sum()))
