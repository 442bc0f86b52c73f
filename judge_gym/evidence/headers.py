"""Names of columns in the first line of a table, and first lines that are data."""

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from judge_gym.alike import folded
from judge_gym.counting import counted
from judge_gym.errors import DataFileError
from judge_gym.evidence.numbers import plain_number
from judge_gym.evidence.row import AS_UTF_8, not_utf_8

LOOKED_AT = 500
"""Rows that are compared with the first line."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
_DIGITS = re.compile(r"\d+")
_FEWEST = 2
_MOST_SHOWN = 8
_LONGEST_TITLE = 80


def check_names(file: Path, names: Sequence[str], at: int = 1, where: str = "") -> None:
    """Raise `DataFileError` for names of columns that cannot be used; they stand in line `at`,
    which is called `where`."""
    where = where or f"line {at}"
    if names and names[0].lstrip().startswith("{"):
        raise DataFileError(
            f"{file} {where}: not CSV but JSON.", "Rename the file to end in .jsonl."
        )
    repeated = [name for place, name in enumerate(names) if name and name in names[:place]]
    if repeated:
        raise DataFileError(
            f"{file} {where}: column {repeated[0]!r} is there twice.",
            "Rename or remove one of them: which holds the values cannot be told."
            f"{_anew(names, at)} If line {at} is data, {_HOW_TO_NAME}",
        )
    if (why := not_utf_8("".join(names))) != not_utf_8(""):
        raise DataFileError(f"{file} {where}: {why}.", AS_UTF_8)


def check_no_title(
    file: Path, names: Sequence[str], table: Sequence[tuple[int, Sequence[str]]], where: str
) -> None:
    """Raise `DataFileError` where the first line has one filled cell and what follows has more: it
    is a title. `table` has the lines below, with their numbers.

    A first cell that is empty is the name of an index, as pandas writes one.
    """
    if _filled(names) != 1:
        return
    below = next(((line, cells) for line, cells in table if _filled(cells) > 1), None)
    if below is None or (not names[0].strip() and _filled(below[1]) <= len(names)):
        return
    title = next(name for name in names if name.strip())
    raise DataFileError(
        f"{file} {where}: one cell is filled, {title[:_LONGEST_TITLE]!r}, and {_filled(below[1])} "
        f"in line {below[0]}: it may be a title.",
        f"If line {below[0]} has the names of the columns, say so: {how_to_skip(below[0])} "
        "Otherwise give each column a name, and quote values with a comma.",
    )


def check_one_header(
    file: Path, names: Sequence[str], table: Sequence[tuple[int, Sequence[str]]], where: str
) -> None:
    """Raise `DataFileError` where the names stand in two lines: the second has those that the first
    lacks and lacks others, and the lines below have values of both. `table` as in
    `check_no_title`.
    """
    if len(table) < _FEWEST:
        return
    (line, second), *below = table
    cells = [*second, *[""] * (len(names) - len(second))]
    places = range(len(names))
    added = [place for place in places if not names[place].strip() and cells[place].strip()]
    lacking = [place for place in places if names[place].strip() and not cells[place].strip()]
    if not added or not lacking:
        return
    for place in (*added, *lacking):
        if not all(place < len(row) and row[place].strip() for _, row in below):
            return
    both = [cells[place].strip() or names[place].strip() for place in places]
    raise DataFileError(
        f"{file} {where}: {counted(len(added), 'column')} without a name, and line {line} has "
        f"{', '.join(repr(cells[place]) for place in added[:_MOST_SHOWN])} there: the names may "
        "stand in two lines.",
        f"Name all columns: --columns {shlex.quote(','.join(both))} --header {line} of audit, or "
        f"`columns` and `header: {line}` in a mapping. Or leave one line of names.",
    )


def no_header(file: Path, line: int) -> DataFileError:
    """Return the error of a file that ends above the line of its names."""
    return DataFileError(
        f"{file}: header is {line}, and it has no such line.",
        "Name the line that has the names of the columns.",
    )


def how_to_skip(line: int) -> str:
    """Return how to say that a line has the names of the columns."""
    return (
        f"`header: {line}` in a mapping, --header {line} of audit, or header={line} among the "
        "fields of a file of items or labels."
    )


def _filled(cells: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in cells)


def _anew(names: Sequence[str], at: int) -> str:
    """Return how to name columns apart of which some have one name; "" where that is too long."""
    if len(names) > _MOST_SHOWN or any("," in name for name in names):
        return ""
    apart: list[str] = []
    for name in names:
        number = 2
        own = name
        while own in apart:
            own, number = f"{name} {number}", number + 1
        apart.append(own)
    listed = ",".join(apart)
    return f" Or name all anew: --columns {shlex.quote(listed)} --header {at} of audit."


_HOW_TO_NAME = (
    "name the columns: `columns: [item, judge, score]` in a mapping, --columns item,judge,score of "
    "audit, or columns=item,annotator,label among the fields of a file of items or labels."
)


def are_names(cells: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether the cells of a first line are the names that are given, but for case and spaces."""
    return [folded(cell) for cell in cells] == [folded(name) for name in columns]


def check_no_data(
    file: Path,
    names: Sequence[str],
    table: Sequence[tuple[int, Sequence[str]]],
    where: str = "line 1",
) -> None:
    """Raise `DataFileError` for a first line that is evidently a row of data, or is there again.

    `table` has the lines below it, with their numbers, and the first line is `where`.
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
            f"{file} {where}: {shown} is a row of data, and no names of columns: {why}.",
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
