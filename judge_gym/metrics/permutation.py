"""Nulls by permutation: the samples of each group shuffled within it, many groups at a time.

Of a comparison of judges the groups are items, whose samples are dealt to the judges at random.
Cells keep their sizes. Groups are dealt one layout (samples per judge) at a time, in blocks small
enough for the processor's cache, and in single precision, whose rounding is far below what
permutations can tell apart.

A mean over groups needs fewer deals of each the more there are: they are dealt apart from one
another, so any deal of one goes with any deal of the next. Beyond 100 groups each is dealt
100,000 / groups times, 100 at least, and every mean takes one of them at random. The centre of
the null is then off by a tenth of its spread at most (one standard error).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge_gym.metrics.cells import FloatArray, IntArray, Verdicts, set_sizes

Single = NDArray[np.float32]
Keys = NDArray[np.uint32]

SINGLE_EPSILON = 1e-6
"""Means of dealt values closer than this are equal up to the rounding of single precision."""
BLOCK = 200_000
"""Samples dealt at once: bounds memory, and fits a cache; part of what a seed determines."""
CHOICES = 2_000_000
"""Deals picked at once: bounds memory, and is part of what a seed determines too."""
GROUP_DEALS = 100_000
FEWEST_DEALS = 100
_WORD = 64


@dataclass(frozen=True, eq=False)
class Dealt:
    """The null: its mean for each item (ascending), and the mean over items of each deal."""

    per_item: FloatArray
    means: FloatArray


def deal(
    verdicts: Verdicts,
    statistic: Callable[[NDArray[Any]], FloatArray],
    rng: np.random.Generator,
    permutations: int,
    weight: FloatArray | None = None,
) -> Dealt:
    """Return the null of `statistic`: `permutations` means over items, and the mean of each item.

    `verdicts` hold, for each item they have, a sample of every judge. `statistic` maps the
    judges' pignistic distributions (deals, judges, stages) to (deals). `weight` is that of each
    item in the means, ascending and of sum 1; the same for all when None.
    """
    distinct, code = np.unique(verdicts.stages, return_inverse=True)
    order = np.lexsort((code, verdicts.item))
    code = code[order]
    items, starts = np.unique(verdicts.item[order], return_index=True)
    weight = np.full(len(items), 1 / len(items)) if weight is None else weight
    per_item, means = np.empty(len(items)), np.zeros(permutations)
    deals = deals_of_each(len(items), permutations)
    for layout, chosen in by_layout(verdicts.sizes()[:, items].T):
        held = code[starts[chosen][:, None] + np.arange(layout.sum())]
        weights = _packed(distinct, verdicts.n_stages, int(layout.max()))
        values = np.empty((len(held), deals), dtype=np.float32)
        for rows, columns, dealt in shuffles(held, len(distinct), deals, rng):
            part = values[rows, columns]
            part[:] = statistic(_judged(dealt, layout, weights)).reshape(part.shape)
        per_item[chosen] = values.mean(axis=1, dtype=np.float64)
        means += one_of_each(values, weight[chosen], permutations, rng)
    return Dealt(per_item, means)


def deals_of_each(groups: int, permutations: int) -> int:
    """Return how often each of this many groups is dealt for a null of `permutations`."""
    return min(permutations, max(FEWEST_DEALS, GROUP_DEALS // groups))


def by_layout(layouts: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield each distinct layout (row) with the places of the groups that have it."""
    distinct, number = np.unique(layouts, axis=0, return_inverse=True)
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number))
    yield from zip(distinct, np.split(order, ends[:-1]), strict=True)


def shuffles(
    held: IntArray, codes: int, deals: int, rng: np.random.Generator
) -> Iterator[tuple[slice, slice, Keys]]:
    """Yield `deals` random orders of each group's codes, a block at a time.

    `held` is groups x samples, of codes below `codes`. A block is groups x deals x samples; the
    slices say which groups and which deals it holds.
    """
    samples = held.shape[1]
    keys = held.astype(np.uint32)
    groups, columns = max(1, BLOCK // (samples * deals)), min(deals, max(1, BLOCK // samples))
    for first in range(0, len(held), groups):
        rows = slice(first, first + groups)
        for done in range(0, deals, columns):
            part = slice(done, min(deals, done + columns))
            yield rows, part, _shuffled(keys[rows], part.stop - done, codes, rng)


def one_of_each(
    values: Single, weight: FloatArray, permutations: int, rng: np.random.Generator
) -> FloatArray:
    """Return `permutations` weighted sums over groups (rows), each of one deal of every group."""
    total, rows = np.zeros(permutations), max(1, CHOICES // permutations)
    for first in range(0, len(values), rows):
        part = values[first : first + rows]
        if part.shape[1] < permutations:
            chosen = rng.integers(0, part.shape[1], size=(len(part), permutations), dtype=np.uint32)
            part = np.take_along_axis(part, chosen, axis=1)
        total += weight[first : first + rows] @ part
    return total


@dataclass(frozen=True, eq=False)
class _Packed:
    """Pignistic weights of sets, times a common denominator, as whole numbers of `bits` bits.

    A word holds those of several stages, so that one sum adds them all, exactly.
    """

    words: NDArray[np.uint64]
    """Words x sets."""
    per_word: int
    bits: int
    denominator: int
    n_stages: int


def _packed(sets: IntArray, n_stages: int, largest_cell: int) -> _Packed:
    sizes = set_sizes(sets)
    denominator = lcm(*sizes.tolist())
    bits = (denominator * largest_cell).bit_length()
    if bits > _WORD:
        raise ValueError(f"sets of {np.unique(sizes).tolist()} stages have no common denominator")
    per_word = _WORD // bits
    weight = ((sets >> np.arange(n_stages)[:, None]) & 1) * (denominator // sizes)
    words = np.zeros((-(-n_stages // per_word), len(sets)), dtype=np.uint64)
    for stage in range(n_stages):
        word, place = divmod(stage, per_word)
        words[word] |= weight[stage].astype(np.uint64) << np.uint64(bits * place)
    return _Packed(words, per_word, bits, denominator, n_stages)


def _judged(dealt: Keys, layout: IntArray, weights: _Packed) -> Single:
    """Return the judges' pignistic distributions, deals x judges x stages."""
    shuffled = dealt.reshape(-1, dealt.shape[-1]).T.astype(np.intp, order="C")
    starts = np.cumsum(layout) - layout
    sums = [np.add.reduceat(word.take(shuffled), starts) for word in weights.words]
    judged = np.empty((weights.n_stages, *sums[0].shape), dtype=np.float32)
    low = np.uint64((1 << weights.bits) - 1)
    for stage in range(weights.n_stages):
        word, place = divmod(stage, weights.per_word)
        judged[stage] = (sums[word] >> np.uint64(weights.bits * place)) & low
    judged /= (layout * weights.denominator).astype(np.float32)[:, None]
    # stages x judges x deals in memory, the order in which the sums run fast
    return judged.transpose(2, 1, 0)


def _shuffled(block: Keys, rows: int, codes: int, rng: np.random.Generator) -> Keys:
    """Return `rows` random orders of each group's codes, groups x rows x samples.

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
    return keys
