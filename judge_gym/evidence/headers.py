"""Names of columns in the first line of a table, and first lines that are data."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from judge_gym.alike import folded
from judge_gym.errors import DataFileError
from judge_gym.evidence.numbers import plain_number

LOOKED_AT = 500
"""Rows that are compared with the first line."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
_DIGITS = re.compile(r"\d+")
_FEWEST = 2
_MOST_SHOWN = 8


def check_names(file: Path, names: Sequence[str]) -> None:
    """Raise `DataFileError` for names of columns that cannot be used."""
    if names and names[0].lstrip().startswith("{"):
        raise DataFileError(
            f"{file} line 1: not CSV but JSON.", "Rename the file to end in .jsonl."
        )
    repeated = [name for place, name in enumerate(names) if name and name in names[:place]]
    if repeated:
        raise DataFileError(
            f"{file} line 1: column {repeated[0]!r} is there twice.",
            "Rename or remove one of them: which holds the values cannot be told. If line 1 is "
            f"data, {_HOW_TO_NAME}",
        )
    if any("\udc80" <= letter <= "\udcff" for name in names for letter in name):
        raise DataFileError(f"{file} line 1: not UTF-8.", "Save the file as UTF-8.")


_HOW_TO_NAME = (
    "name the columns: `columns: [item, judge, score]` in a mapping, --columns item,judge,score of "
    "audit, or columns=item,annotator,label among the fields of a file of items or labels."
)


def are_names(cells: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether the cells of a first line are the names that are given, but for case and spaces."""
    return [folded(cell) for cell in cells] == [folded(name) for name in columns]


def check_no_data(
    file: Path, names: Sequence[str], table: Sequence[tuple[int, Sequence[str]]]
) -> None:
    """Raise `DataFileError` for a first line that is evidently a row of data, or is there again.

    `table` has the lines below it, with their numbers.
    """
    for line, cells in table:
        if len(names) > 1 and [*cells] == [*names]:
            raise DataFileError(
                f"{file} line {line}: the first line again.",
                "If it has the names of the columns, remove this one. If it is data, "
                f"{_HOW_TO_NAME}",
            )
    if why := _data_in(names, [cells for _, cells in table]):
        shown = ", ".join(map(repr, names[:_MOST_SHOWN]))
        raise DataFileError(
            f"{file} line 1: {shown} is a row of data, and no names of columns: {why}.",
            f"Write a line of names above it, or {_HOW_TO_NAME}",
        )


def _data_in(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return why a first line is data: a name alone is never in its own column, nor goes on there.

    Numbers in a row, such as 1, 2, 3, may be names of raters.
    """
    if len(rows) < _FEWEST:
        return ""
    counting = _counting(names)
    again: list[str] = []
    for place, name in enumerate(names):
        below = [row[place] for row in rows if place < len(row) and row[place].strip()]
        if not name.strip() or len(below) < _FEWEST:
            continue
        if _goes_on(name, below):
            return f"{name!r} goes on as {below[0]!r}, {below[1]!r}"
        if _is_fraction(name) and all(_NUMBER.fullmatch(plain_number(one)) for one in below):
            return f"{name!r} stands above numbers"
        if place not in counting and folded(name) in map(folded, below):
            if _NUMBER.fullmatch(name.strip()):
                return f"{name!r} is in its column again"
            again.append(name)
    if len(again) < _FEWEST:
        return ""
    return f"{again[0]!r} and {again[1]!r} are in their columns again"


def _goes_on(name: str, below: Sequence[str]) -> bool:
    """Whether a column counts on from its first cell, or all its cells are made like it."""
    if name.strip().isdecimal():
        next_ones = [str(int(name) + step) for step in range(1, len(below) + 1)][:20]
        return [one.strip() for one in below[:20]] == next_ones
    shape = _DIGITS.sub("0", name.strip())
    is_id = shape != name.strip() and any(letter.isalpha() for letter in shape)
    return is_id and name not in below and all(_DIGITS.sub("0", one.strip()) == shape
                                               for one in below)  # fmt: skip


def _is_fraction(name: str) -> bool:
    number = plain_number(name)
    return "." in number and _NUMBER.fullmatch(number) is not None


def _counting(names: Sequence[str]) -> set[int]:
    """Return the places of names that count, such as 1, 2, 3."""
    found: set[int] = set()
    for place, (one, other) in enumerate(pairwise(names)):
        numbers = one.strip().isdecimal() and other.strip().isdecimal()
        if numbers and int(other) == int(one) + 1:
            found |= {place, place + 1}
    return found
