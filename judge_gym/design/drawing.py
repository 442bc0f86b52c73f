"""Draw from a space of points: N at random, or N pairs that differ in one dimension only.

The sweep's name and seed determine the draw, so it is the same on every machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random

from pydantic import Field

from judge_gym.design.frozen import Frozen
from judge_gym.design.space import Box, Choice, Point, Space, intersection


class RandomDraw(Frozen):
    """Distinct points, drawn uniformly."""

    random: int = Field(ge=1)
    """Number of points."""
    seed: int = Field(default=0, ge=0)
    """Seed of the draw."""


class ControlledDraw(Frozen):
    """Pairs of points that differ in one axis only, spread evenly over the axes."""

    controlled: int = Field(ge=1)
    """Number of pairs."""
    axes: tuple[str, ...] = ()
    """The axes to vary; by default every axis with two or more values."""
    seed: int = Field(default=0, ge=0)
    """Seed of the draw."""


@dataclass(frozen=True)
class _Line:
    """All pairs of points that differ only by these two choices of one dimension."""

    choices: tuple[Choice, Choice]
    rest: Space
    """The points without that dimension."""


class PairSpace:
    """Every pair of points that differs in one given dimension, indexed from 0."""

    def __init__(self, boxes: Sequence[Box], dimension: int) -> None:
        self._dimension = dimension
        choices = dict.fromkeys(choice for box in boxes for choice in box[dimension])
        self._lines = [
            _Line(two, _common(boxes, dimension, two)) for two in combinations(choices, 2)
        ]

    @property
    def size(self) -> int:
        """The number of pairs."""
        return sum(line.rest.size for line in self._lines)

    def __getitem__(self, index: int) -> tuple[Point, Point]:
        """Return the pair at `index`."""
        for line in self._lines:
            if index < line.rest.size:
                rest = line.rest[index]
                before, after = rest[: self._dimension], rest[self._dimension :]
                first, second = line.choices
                return (*before, first, *after), (*before, second, *after)
            index -= line.rest.size
        raise IndexError(index)


def draw_pairs(
    spaces: Sequence[PairSpace], count: int, generator: Random
) -> list[list[tuple[Point, Point]]]:
    """Return `count` distinct pairs, one list per space, with lengths as equal as possible.

    Raises `ValueError` if the spaces have fewer pairs in total.
    """
    shares = _even_shares([space.size for space in spaces], count, generator)
    return [
        [space[index] for index in sorted(generator.sample(range(space.size), share))]
        for space, share in zip(spaces, shares, strict=True)
    ]


def _even_shares(sizes: Sequence[int], count: int, generator: Random) -> list[int]:
    if sum(sizes) < count:
        raise ValueError(f"{count} of {sum(sizes)}")
    shares = [0] * len(sizes)
    # The remainder is assigned at random; otherwise the first axes would always get more.
    order = generator.sample(range(len(sizes)), len(sizes))
    while rest := count - sum(shares):
        unfilled = [number for number in order if shares[number] < sizes[number]]
        for number in unfilled[:rest]:
            more = max(1, rest // len(unfilled))
            shares[number] += min(more, sizes[number] - shares[number])
    return shares


def _common(boxes: Sequence[Box], dimension: int, two: tuple[Choice, Choice]) -> Space:
    with_first, with_second = (
        [(*box[:dimension], *box[dimension + 1 :]) for box in boxes if choice in box[dimension]]
        for choice in two
    )
    shared = (intersection(one, other) for one in with_first for other in with_second)
    return Space([box for box in shared if box])
