"""The null of a comparison of judges: the samples of an item dealt to its judges at random.

Cells keep their sizes. Items are dealt one layout (samples per judge) at a time, in blocks small
enough for the processor's cache, and in single precision, whose rounding is far below what
permutations can tell apart.

A mean over items needs fewer deals of each the more items there are: items are dealt apart from
one another, so any deal of one goes with any deal of the next. Beyond 100 items each is dealt
100,000 / items times, 100 at least, and every mean takes one of them at random. The centre of the
null is then off by a tenth of its spread at most (one standard error).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge_gym.metrics.cells import FloatArray, IntArray, Verdicts, pignistic_weights

Single = NDArray[np.float32]
Keys = NDArray[np.uint32]

SINGLE_EPSILON = 1e-6
"""Means of dealt values closer than this are equal up to the rounding of single precision."""
BLOCK = 200_000
"""Samples dealt at once: bounds memory, and fits a cache; part of what a seed determines."""
ITEM_DEALS = 100_000
FEWEST_DEALS = 100


@dataclass(frozen=True, eq=False)
class Dealt:
    """The null: its mean for each item (ascending), and the mean over items of each deal."""

    per_item: FloatArray
    means: FloatArray


def deal(
    verdicts: Verdicts,
    statistic: Callable[[FloatArray], FloatArray],
    rng: np.random.Generator,
    permutations: int,
) -> Dealt:
    """Return the null of `statistic`: `permutations` means over items, and the mean of each item.

    `verdicts` hold, for each item they have, a sample of every judge. `statistic` maps the
    judges' pignistic distributions (deals, judges, stages) to (deals).
    """
    distinct, code = np.unique(verdicts.stages, return_inverse=True)
    lookup = pignistic_weights(distinct, verdicts.n_stages).T.astype(np.float32)
    order = np.lexsort((code, verdicts.item))
    code = code[order]
    items, starts = np.unique(verdicts.item[order], return_index=True)
    layouts = verdicts.sizes()[:, items].T
    deals = min(permutations, max(FEWEST_DEALS, ITEM_DEALS // len(items)))
    per_item, total = np.empty(len(items)), np.zeros(permutations)
    for layout, chosen in _by_layout(layouts):
        held = code[starts[chosen][:, None] + np.arange(layout.sum())].astype(np.uint32)
        for rows, values in _deal_layout(held, layout, lookup, statistic, rng, deals):
            per_item[chosen[rows]] = values.mean(axis=1, dtype=np.float64)
            total += _one_of_each(values, permutations, rng)
    return Dealt(per_item, total / len(items))


def _by_layout(layouts: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield each distinct layout with the places of the items that have it."""
    distinct, number = np.unique(layouts, axis=0, return_inverse=True)
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number))
    yield from zip(distinct, np.split(order, ends[:-1]), strict=True)


def _deal_layout(
    held: Keys,
    layout: IntArray,
    lookup: Single,
    statistic: Callable[[FloatArray], FloatArray],
    rng: np.random.Generator,
    deals: int,
) -> Iterator[tuple[slice, Single]]:
    """Yield blocks of items (rows of `held`, codes of sets) and their values, items x deals."""
    starts = np.cumsum(layout) - layout
    size = layout.astype(np.float32)[:, None]
    rows = min(deals, max(1, BLOCK // held.shape[1]))
    at_once = max(1, BLOCK // (held.shape[1] * deals))
    for first in range(0, len(held), at_once):
        block = held[first : first + at_once]
        values = np.empty((len(block), deals), dtype=np.float32)
        for done in range(0, deals, rows):
            part = values[:, done : done + rows]
            keys = _shuffled(block, part.shape[1], len(lookup[0]), rng)
            shuffled = keys.T.astype(np.intp, order="C")
            judged = np.stack([np.add.reduceat(stage.take(shuffled), starts) for stage in lookup])
            judged /= size
            # stages x judges x deals in memory, the order in which the sums run fast
            part[:] = statistic(judged.transpose(2, 1, 0)).reshape(part.shape)
        yield slice(first, first + len(block)), values


def _one_of_each(values: Single, permutations: int, rng: np.random.Generator) -> FloatArray:
    """Return sums over items (rows) of one deal each, `permutations` of them."""
    if values.shape[1] < permutations:
        chosen = rng.integers(0, values.shape[1], size=(len(values), permutations))
        values = np.take_along_axis(values, chosen, axis=1)
    return np.asarray(values.sum(axis=0, dtype=np.float64))


def _shuffled(block: Keys, rows: int, codes: int, rng: np.random.Generator) -> Keys:
    """Return `rows` random orders of each item's codes, (items · rows, samples).

    Random bits above, the code below: sorting whole numbers is many times faster than sorting
    positions. Equal random bits leave two neighbours in the order of their codes, once in
    thousands of rows.
    """
    low = np.uint32((1 << max(1, (codes - 1).bit_length())) - 1)
    keys = rng.integers(0, 1 << 32, size=(len(block), rows, block.shape[1]), dtype=np.uint32)
    keys &= ~low
    keys |= block[:, None, :]
    keys.sort(axis=-1)
    keys &= low
    return keys.reshape(-1, block.shape[1])
