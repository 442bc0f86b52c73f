"""Draws from a space of points: N at random, or N pairs that differ in one dimension only.

Seeded by the sweep's name and seed, and never written out: the same draw on every machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random

from pydantic import Field

from judge_gym.design.frozen import Frozen
from judge_gym.design.space import Box, Choice, Point, Space, intersection


class RandomDraw(Frozen):
    """Distinct points, each as likely as any other."""

    random: int = Field(ge=1)
    """How many points."""
    seed: int = Field(default=0, ge=0)
    """Another seed draws other points."""


class ControlledDraw(Frozen):
    """Pairs of points that differ in one axis only, spread evenly over the axes."""

    controlled: int = Field(ge=1)
    """How many pairs."""
    axes: tuple[str, ...] = ()
    """The axes to vary; every axis with two values or more when none is given."""
    seed: int = Field(default=0, ge=0)
    """Another seed draws other pairs."""


@dataclass(frozen=True)
class _Line:
    """All pairs of points that differ by these two choices of one dimension and nothing else."""

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
        """How many pairs there are."""
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
    """Return `count` distinct pairs, one list per space, as even in length as the spaces allow.

    Raises `ValueError` when the spaces together hold fewer.
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
    # Who gets the remainder is drawn too: else the first axes would always be the fuller ones.
    order = generator.sample(range(len(sizes)), len(sizes))
    while rest := count - sum(shares):
        hungry = [number for number in order if shares[number] < sizes[number]]
        for number in hungry[:rest]:
            more = max(1, rest // len(hungry))
            shares[number] += min(more, sizes[number] - shares[number])
    return shares


def _common(boxes: Sequence[Box], dimension: int, two: tuple[Choice, Choice]) -> Space:
    with_first, with_second = (
        [(*box[:dimension], *box[dimension + 1 :]) for box in boxes if choice in box[dimension]]
        for choice in two
    )
    shared = (intersection(one, other) for one in with_first for other in with_second)
    return Space([box for box in shared if box])
