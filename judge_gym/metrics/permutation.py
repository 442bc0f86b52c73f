"""Null distributions by permutation of samples within groups, for many groups at once.

To compare judges, a group is an item: its samples are permuted between the judges, and cells keep
their sizes. Groups are permuted one layout (samples per judge) at a time, in blocks that fit the
processor's cache. Values are in single precision, whose rounding is far below the resolution of a
permutation test.

Groups are permuted independently, so any permutation of one combines with any of another, and a
mean over many groups needs fewer permutations of each. With more than 100 groups each is permuted
100,000 / groups times, at least 100, and every mean draws one of these per group. The standard
error of the null's centre is then at most a tenth of its spread.
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
"""Means closer than this are equal up to the rounding of single precision."""
BLOCK = 200_000
"""Samples permuted at once: bounds memory and fits a cache. Results of a seed depend on it."""
CHOICES = 2_000_000
"""Permutations drawn at once: bounds memory. Results of a seed depend on it."""
SHARED_PERMUTATIONS = 100_000
MIN_PER_GROUP = 100
_WORD = 64


@dataclass(frozen=True, eq=False)
class PermutationNull:
    """The null distribution of a statistic and of its mean over items.

    `per_item` holds the mean of the null of each item (ascending), `means` the mean over items for
    each permutation.
    """

    per_item: FloatArray
    means: FloatArray


def permutation_null(
    verdicts: Verdicts,
    statistic: Callable[[NDArray[Any]], FloatArray],
    rng: np.random.Generator,
    permutations: int,
    weight: FloatArray | None = None,
    *,
    steady: bool = False,
) -> PermutationNull:
    """Return the null of `statistic`: `permutations` means over items, and the mean of each item.

    With `steady`, few items are permuted more often, up to 100,000 times together: the standard
    error of the null's centre is then that of many items.

    Every item of `verdicts` has a sample of every judge. `statistic` maps pignistic distributions
    (permutations, judges, stages) to (permutations). `weight` holds the weight of each item in the
    means, ascending, with sum 1; None weights items equally.
    """
    distinct, code = np.unique(verdicts.stages, return_inverse=True)
    order = np.lexsort((code, verdicts.item))
    code = code[order]
    items, starts = np.unique(verdicts.item[order], return_index=True)
    weight = np.full(len(items), 1 / len(items)) if weight is None else weight
    per_item, means = np.empty(len(items)), np.zeros(permutations)
    most = SHARED_PERMUTATIONS if steady else permutations
    per_group = permutations_per_group(len(items), most)
    for layout, chosen in by_layout(verdicts.sizes()[:, items].T):
        group_codes = code[starts[chosen][:, None] + np.arange(layout.sum())]
        weights = _packed(distinct, verdicts.n_stages, int(layout.max()))
        values = np.empty((len(group_codes), per_group), dtype=np.float32)
        for rows, columns, permuted in shuffles(group_codes, len(distinct), per_group, rng):
            part = values[rows, columns]
            part[:] = statistic(_judged(permuted, layout, weights)).reshape(part.shape)
        per_item[chosen] = values.mean(axis=1, dtype=np.float64)
        means += sampled_sums(values, weight[chosen], permutations, rng)
    return PermutationNull(per_item, means)


def permutations_per_group(groups: int, permutations: int) -> int:
    """Return the number of permutations of each group for a null of `permutations`."""
    return min(permutations, max(MIN_PER_GROUP, SHARED_PERMUTATIONS // groups))


def by_layout(layouts: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield each distinct layout (row) with the indices of the groups that have it."""
    distinct, number = np.unique(layouts, axis=0, return_inverse=True)
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number))
    yield from zip(distinct, np.split(order, ends[:-1]), strict=True)


def shuffles(
    group_codes: IntArray, codes: int, permutations: int, rng: np.random.Generator
) -> Iterator[tuple[slice, slice, Keys]]:
    """Yield `permutations` random orders of each group's codes, a block at a time.

    `group_codes` is groups x samples, with codes below `codes`. A block is groups x permutations x
    samples; the slices are its groups and its permutations.
    """
    samples = group_codes.shape[1]
    keys = group_codes.astype(np.uint32)
    groups, columns = (
        max(1, BLOCK // (samples * permutations)),
        min(permutations, max(1, BLOCK // samples)),
    )
    for first in range(0, len(group_codes), groups):
        rows = slice(first, first + groups)
        for done in range(0, permutations, columns):
            part = slice(done, min(permutations, done + columns))
            yield rows, part, _shuffled(keys[rows], part.stop - done, codes, rng)


def sampled_sums(
    values: Single, weight: FloatArray, permutations: int, rng: np.random.Generator
) -> FloatArray:
    """Return `permutations` weighted sums over groups (rows), with one drawn value per group."""
    total, rows = np.zeros(permutations), max(1, CHOICES // permutations)
    for first in range(0, len(values), rows):
        part = values[first : first + rows]
        if part.shape[1] > permutations:
            part = part[:, :permutations]
        elif part.shape[1] < permutations:
            chosen = rng.integers(0, part.shape[1], size=(len(part), permutations), dtype=np.uint32)
            part = np.take_along_axis(part, chosen, axis=1)
        total += weight[first : first + rows] @ part
    return total


@dataclass(frozen=True, eq=False)
class _Packed:
    """Pignistic weights of sets, times a common denominator, as integers of `bits` bits.

    A word holds the weights of several stages, so that one exact sum adds them all.
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


def _judged(permuted: Keys, layout: IntArray, weights: _Packed) -> Single:
    """Return the judges' pignistic distributions, permutations x judges x stages."""
    shuffled = permuted.reshape(-1, permuted.shape[-1]).T.astype(np.intp, order="C")
    starts = np.cumsum(layout) - layout
    sums = [np.add.reduceat(word.take(shuffled), starts) for word in weights.words]
    judged = np.empty((weights.n_stages, *sums[0].shape), dtype=np.float32)
    low = np.uint64((1 << weights.bits) - 1)
    for stage in range(weights.n_stages):
        word, place = divmod(stage, weights.per_word)
        judged[stage] = (sums[word] >> np.uint64(weights.bits * place)) & low
    judged /= (layout * weights.denominator).astype(np.float32)[:, None]
    # In memory stages x judges x permutations, the fastest order for the sums.
    return judged.transpose(2, 1, 0)


def _shuffled(block: Keys, rows: int, codes: int, rng: np.random.Generator) -> Keys:
    """Return `rows` random orders of each group's codes, groups x rows x samples.

    Each key has random high bits and the code in the low bits: sorting integers is many times
    faster than sorting indices. Equal random bits leave two neighbours in the order of their
    codes, once in thousands of rows.
    """
    low = np.uint32((1 << max(1, (codes - 1).bit_length())) - 1)
    keys = rng.integers(0, 1 << 32, size=(len(block), rows, block.shape[1]), dtype=np.uint32)
    keys &= ~low
    keys |= block[:, None, :]
    keys.sort(axis=-1)
    keys &= low
    return keys
