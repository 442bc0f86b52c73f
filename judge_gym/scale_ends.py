"""Where a scale ends, by the scores and labels on it: one declared too small or too large."""

import math
import re
from collections.abc import Iterable

FEWEST = 10
"""Fewest scores by which a scale is doubted."""
USUAL_ENDS = (1, 5, 10, 100)
"""Where scales usually end. The highest of few labels may be lower than their scale's."""
OTHER_SCALE = 4
"""Times the end of a scale from which a number is a slip, or of another scale."""

_RANGE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:-|–|—|\.\.|to|bis)\s*(\d+(?:\.\d+)?)")
"""A scale in the name of a column, such as 1-5 or 0 to 10."""


def named_end(column: str) -> float | None:
    """Return where the scale ends that a column's name gives, as `Score (1-5)` does."""
    named = _RANGE.search(column)
    return float(named[2]) if named else None


def doubted_end(
    scale: tuple[float, float], top: float, count: int, column: str = ""
) -> float | None:
    """Return where the scale of `count` scores may end below that which is declared; else None.

    The column's name says so, or the highest score, `top` of many, is not above the middle.
    """
    lowest, highest = scale
    named = named_end(column)
    if named is not None and top <= named < highest:
        return named
    is_low = count >= FEWEST and lowest < top <= (lowest + highest) / 2
    return top if is_low and named is None else None


def wider(lowest: float, highest: float, given: Iterable[float]) -> str:
    """Return what to write if numbers off a scale are on it; "" where none is near it.

    >>> wider(1, 4, [5, 5])
    'If the scale ends at 5, write `highest: 5`.'
    >>> wider(2, 5, [0, 1])
    'If the scale starts at 0, write `lowest: 0`.'
    """
    size = max(abs(lowest), abs(highest), highest - lowest)
    near = [one for one in given if abs(one) < OTHER_SCALE * size]
    starts, ends = min([lowest, *near]), max([highest, *near])
    if float(lowest).is_integer() and float(highest).is_integer():  # 4.5 beside 1 to 4 is up to 5
        starts, ends = math.floor(starts), math.ceil(ends)
    said = []
    if starts < lowest:
        said.append(("starts", "lowest", starts))
    if ends > highest:
        said.append(("ends", "highest", ends))
    if not said:
        return ""
    of_scale = " and ".join(f"{verb} at {end:g}" for verb, _, end in said)
    keys = " and ".join(f"`{key}: {end:g}`" for _, key, end in said)
    return f"If the scale {of_scale}, write {keys}."
