"""Numbers as spreadsheets and people write them, as Python reads them.

A decimal comma is read only where the file leaves no doubt: its separator is no comma, and no
other value of the column has a point.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

_SPACES = "[\u00a0\u2007\u2009\u202f]"
"""Spaces that do not break, thin ones and those as wide as a digit: between groups of digits."""
LONGEST_NUMBER = 400
"""Most characters of a number, with all that surrounds it."""
_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_GROUPED = re.compile(rf"[+-]?\d{{1,3}}({_SPACES}\d{{3}})+([.,]\d+)?")
_OF = rf"(?:(?:{_SPACES}| )?%|/\d+)?"
"""What may follow a score: percent, or the end of its scale."""
_COMMA = re.compile(rf"[+-]?\d+,\d+{_OF}")
_POINT = re.compile(rf"[+-]?\d+\.\d+{_OF}")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*")
_HUNDREDS = re.compile(r"[+-]?[1-9]\d{2}")


def plain_number(text: str, *, comma: bool = False) -> str:
    """Return a number with a point, without what surrounds it; any other text unchanged.

    Removed are surrounding spaces, an apostrophe with which a spreadsheet marks text, and spaces
    between groups of three digits. With `comma` a comma is the point.
    """
    return _plain_number(text, comma) if len(text) <= LONGEST_NUMBER else text


# Files have the same few numbers in many rows.
@lru_cache(maxsize=1 << 14)
def _plain_number(text: str, comma: bool) -> str:
    found = text.strip().lstrip("'\u2019").strip()
    if _GROUPED.fullmatch(found):
        found = re.sub(_SPACES, "", found)
    if comma and _COMMA.fullmatch(found):
        return found.replace(",", ".")
    return found if _PLAIN.fullmatch(found) else text


@dataclass(frozen=True)
class DecimalCommas:
    """How the columns of a file write numbers that are not whole."""

    commas: Mapping[str, int]
    """Column → the first line with a decimal comma."""
    points: Mapping[str, int]
    """Column → the first line with a decimal point."""
    groups: Mapping[str, int] = field(default_factory=dict)
    """Column of whole numbers of three digits → the first line in which a mark stands before three
    more, such as 1.000, which may be a thousand; as no mark there is a decimal one."""

    def are_in(self, column: str) -> bool:
        """Whether a column has decimal commas and no points."""
        return column in self.commas and column not in self.points

    def mixed(self, column: str) -> str:
        """Return that a column has commas and points, or marks that may separate groups of digits,
        and where; "" for any other column."""
        if column in self.groups:
            return (
                f"{column} has a number such as 1.000 or 1,000 (line {self.groups[column]}) beside "
                "whole numbers: it may be a thousand"
            )
        if column not in self.commas or column not in self.points:
            return ""
        return (
            f"{column} has numbers with a decimal comma (line {self.commas[column]}) and with a "
            f"point (line {self.points[column]})"
        )


WITHOUT = DecimalCommas({}, {})
"""Of files that have no decimal commas, since a comma separates their values."""


class Lines(Protocol):
    """A reader of a table, with the number of lines that it has read."""

    line_num: int

    def __iter__(self) -> Iterator[list[str]]: ...

    def __next__(self) -> list[str]: ...


def decimal_commas(reader: Lines, names: Sequence[str] = (), before: int = 0) -> DecimalCommas:
    """Return how the columns of a file write numbers.

    `names` are those of its columns, where its first line has none; `before` lines are read.
    """
    commas: dict[str, int] = {}
    points: dict[str, int] = {}
    groups: dict[str, int] = {}
    fractions, hundreds = set[str](), set[str]()
    header = names or next(reader, [])
    for cells in reader:
        for name, cell in zip(header, cells, strict=False):
            written = re.sub(_SPACES, "", cell.strip().lstrip("'\u2019"))
            if _THOUSANDS.fullmatch(written):
                groups.setdefault(name, before + reader.line_num)
            elif _COMMA.fullmatch(written) or _POINT.fullmatch(written):
                fractions.add(name)
            elif _HUNDREDS.fullmatch(written):
                hundreds.add(name)
            if _COMMA.fullmatch(written):
                commas.setdefault(name, before + reader.line_num)
            elif _POINT.fullmatch(written):
                points.setdefault(name, before + reader.line_num)
    doubted = {name: line for name, line in groups.items() if name in hundreds - fractions}
    return DecimalCommas(commas, points, doubted)
