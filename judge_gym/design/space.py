"""The space a sweep spans, and random draws from it."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, combinations, product
from math import prod
from random import Random
from typing import Any

from pydantic import Field

from judge_gym.design.fields import Frozen


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a dimension; choices with equal keys are equal."""

    key: str
    fields: Mapping[str, Any] = field(compare=False)
    """The fields that the choice sets."""


Point = tuple[Choice, ...]
Box = tuple[tuple[Choice, ...], ...]


class Space:
    """The distinct points of a union of boxes, in a fixed order."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        """`boxes` have the same dimensions in the same order; no box repeats a choice."""
        self._parts = tuple(_disjoint(boxes))
        self._ends = tuple(accumulate(map(box_size, self._parts)))

    @property
    def size(self) -> int:
        """The number of points."""
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Point]:
        for part in self._parts:
            yield from product(*part)

    def __getitem__(self, index: int) -> Point:
        """Return the point at `index`, from 0, in the order of iteration."""
        if not 0 <= index < self.size:
            raise IndexError(index)
        number = bisect_right(self._ends, index)
        part = self._parts[number]
        rest = index - (self._ends[number - 1] if number else 0)
        point: list[Choice] = []
        for choices in reversed(part):
            rest, digit = divmod(rest, len(choices))
            point.append(choices[digit])
        return tuple(reversed(point))


def box_size(box: Box) -> int:
    """Return the number of points of a box."""
    return prod(map(len, box))


def contains(box: Box, point: Point) -> bool:
    """Whether `point` lies in `box`."""
    return all(choice in choices for choice, choices in zip(point, box, strict=True))


def intersection(one: Box, other: Box) -> Box | None:
    """Return the box of the common points, or None if there is none."""
    shared: list[tuple[Choice, ...]] = []
    for mine, theirs in zip(one, other, strict=True):
        common = mine if mine == theirs else tuple(choice for choice in mine if choice in theirs)
        if not common:
            return None
        shared.append(common)
    return tuple(shared)


def cells(boxes: Sequence[Box]) -> Iterator[Box]:
    """Yield disjoint boxes with the points of `boxes`, each inside or outside each of these."""
    distinct = list(dict.fromkeys(boxes))
    for part in _disjoint(distinct):
        pieces = [part]
        for box in distinct:
            pieces = [
                piece
                for whole in pieces
                for piece in (intersection(whole, box), *_without(whole, box))
                if piece is not None
            ]
        yield from pieces


def _disjoint(boxes: Sequence[Box]) -> Iterator[Box]:
    for number, box in enumerate(boxes):
        parts: Iterable[Box] = [box]
        for earlier in boxes[:number]:
            parts = [rest for part in parts for rest in _without(part, earlier)]
        yield from parts


def _without(box: Box, other: Box) -> Iterator[Box]:
    """Yield disjoint boxes with the points of `box` outside `other`."""
    shared = intersection(box, other)
    if shared is None:
        yield box
        return
    for dimension, (choices, common) in enumerate(zip(box, shared, strict=True)):
        outside = tuple(choice for choice in choices if choice not in common)
        if outside:
            yield (*shared[:dimension], outside, *box[dimension + 1 :])


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
    """The axes to vary; by default every axis with two or more values that is
    not a facet such as `wording`."""
    seed: int = Field(default=0, ge=0)
    """Seed of the draw."""


@dataclass(frozen=True)
class _ChoicePair:
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
            _ChoicePair(two, _common(boxes, dimension, two)) for two in combinations(choices, 2)
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
