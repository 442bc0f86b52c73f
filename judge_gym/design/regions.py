"""Points of a space in groups, so that a question about all of them costs what the groups cost."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product
from math import prod
from typing import TypeVar

from judge_gym.design.space import Box, Choice, Point, cells, contains

T = TypeVar("T")


@dataclass(frozen=True)
class PointGroup:
    """Points with the same choices in some dimensions."""

    point: Point
    """One of them."""
    count: int
    peers: int
    """For each of them, how many points differ from it at most in the free dimension; itself
    counts."""


@dataclass(frozen=True)
class _Region:
    box: Box
    peers: int


class Regions:
    """A union of boxes, or points drawn from it, in parts that are uniform.

    All points of a region are in the same boxes, and have as many peers.
    """

    def __init__(self, boxes: Sequence[Box], free: int, drawn: Sequence[Point] | None) -> None:
        """Peers differ in the dimension `free` only."""
        self._boxes = boxes
        self._free = free
        lines = self._lines() if drawn is None else self._drawn_lines(drawn)
        self._regions = [region for line, choices in lines for region in self._of(line, choices)]
        self._by_key = [
            [{choice.key: choice for choice in choices} for choices in region.box]
            for region in self._regions
        ]

    def find(self, keys: Sequence[str]) -> Point | None:
        """Return the point with these keys of choices, or None if there is none."""
        for dimensions in self._by_key:
            found = [known.get(key) for key, known in zip(keys, dimensions, strict=True)]
            point = tuple(choice for choice in found if choice is not None)
            if len(point) == len(found):
                return point
        return None

    def groups(self, kept: Sequence[bool], apart: Collection[Point] = ()) -> Iterator[PointGroup]:
        """Yield the points in groups with the same choices in the dimensions that are `kept`.

        Groups do not go beyond a region. Each of the points `apart` is a group of its own.
        """
        for region in self._regions:
            single = [point for point in apart if contains(region.box, point)]
            taken = Counter(_part(point, kept, keep=True) for point in single)
            known = set(single)
            others = _part(region.box, kept, keep=False)
            whole = prod(map(len, others))
            for chosen in product(*_part(region.box, kept, keep=True)):
                if count := whole - taken[chosen]:
                    points = (_merged(chosen, rest, kept) for rest in product(*others))
                    point = next(point for point in points if point not in known)
                    yield PointGroup(point, count, region.peers)
            yield from (PointGroup(point, 1, region.peers) for point in single)

    def _lines(self) -> Iterator[tuple[Box, list[Choice]]]:
        """Yield boxes of the other dimensions, and what the free one has at each of their points.

        Each is inside or outside every box.
        """
        rests = [self._without(box) for box in self._boxes]
        for line in cells(rests):
            point = tuple(choices[0] for choices in line)
            holding = [
                box for box, rest in zip(self._boxes, rests, strict=True) if contains(rest, point)
            ]
            yield line, list(dict.fromkeys(chain.from_iterable(box[self._free] for box in holding)))

    def _drawn_lines(self, drawn: Sequence[Point]) -> Iterator[tuple[Box, list[Choice]]]:
        choices: defaultdict[Box, list[Choice]] = defaultdict(list)
        for point in drawn:
            choices[self._without(tuple((choice,) for choice in point))].append(point[self._free])
        yield from choices.items()

    def _of(self, line: Box, choices: Sequence[Choice]) -> Iterator[_Region]:
        together: defaultdict[tuple[bool, ...], list[Choice]] = defaultdict(list)
        for choice in choices:
            point = tuple(of_line[0] for of_line in self._with(line, (choice,)))
            together[tuple(contains(box, point) for box in self._boxes)].append(choice)
        for same in together.values():
            yield _Region(self._with(line, tuple(same)), len(choices))

    def _without(self, box: Box) -> Box:
        return (*box[: self._free], *box[self._free + 1 :])

    def _with(self, line: Box, choices: tuple[Choice, ...]) -> Box:
        return (*line[: self._free], choices, *line[self._free :])


def _part(values: Sequence[T], kept: Sequence[bool], *, keep: bool) -> tuple[T, ...]:
    return tuple(value for value, one in zip(values, kept, strict=True) if one is keep)


def _merged(chosen: Point, others: Point, kept: Sequence[bool]) -> Point:
    first, second = iter(chosen), iter(others)
    return tuple(next(first if keep else second) for keep in kept)
