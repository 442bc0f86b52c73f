"""A set of points as a union of boxes, which is counted, indexed and iterated lazily.

A box is a product of choices, one tuple per dimension. Overlapping boxes are cut into disjoint
parts, so each point is counted once.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, product
from math import prod
from typing import Any


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
    shared = tuple(
        tuple(choice for choice in mine if choice in theirs)
        for mine, theirs in zip(one, other, strict=True)
    )
    return shared if all(shared) else None


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
