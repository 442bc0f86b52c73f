"""Tables in text: values with commas, semicolons, tabs, bars or spaces between them."""

import csv
import re
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, TextIO

from judge_gym.errors import DataFileError
from judge_gym.evidence.headers import (
    LOOKED_AT,
    are_names,
    check_names,
    check_no_data,
    check_no_title,
    check_one_header,
    no_header,
)
from judge_gym.evidence.numbers import WITHOUT, Lines, decimal_commas
from judge_gym.evidence.row import MAX_ROW_CHARACTERS, DataRow, Layout, named_row

_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?\s*')
_QUOTED = re.compile(r'"[^"]*"')
_SPACE = " "
"""Any white space, where no other separator is in the first line."""
_LOOKED_BELOW = 10
"""Lines that are looked at for a separator, of each so many characters."""
_LOOKED_CHARACTERS = 1 << 16
_ASIDE = ("#", "%")
"""What a remark begins with, in a table that spaces separate."""


def delimited_rows(
    file: Path, content: BinaryIO, layout: Layout, *, spaced: bool
) -> Iterator[DataRow]:
    """Yield the rows of a table in text; `spaced` where spaces may separate its values.

    The first line has the names of the columns, unless `layout` names them or their line. Raises
    `DataFileError` for names that are there twice, and for a first line that is evidently data or
    a title.
    """
    columns = layout.columns
    # The limit is global to the csv module. Raising it does not affect other readers.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_ROW_CHARACTERS))
    with TextIOWrapper(
        content, encoding="utf-8-sig", errors="surrogateescape", newline=""
    ) as handle:
        first = handle.readline(MAX_ROW_CHARACTERS)
        # A line in which Excel names the separator.
        given = _SEPARATOR.fullmatch(first)
        before = max(layout.header - 1, 1 if given else 0)

        def lines() -> Lines:
            handle.seek(0)
            for _ in range(before):
                handle.readline()
            return _reader(handle, delimiter)

        try:
            below = _beginning(handle, before)
            if layout.header and not below:
                raise no_header(file, layout.header)
            delimiter = given[1] if given else _delimiter(below, len(columns), spaced=spaced)
            numbers = WITHOUT
            if delimiter != ",":
                numbers = decimal_commas(lines(), columns, before)
            table = _numbered(file, lines(), before)
            replaced = layout.header or not columns
            at, names = next(table, (1, [])) if replaced else (1, [])
            names = list(columns) or names
            check_names(file, names, at)
            head = list(islice(table, LOOKED_AT))
            if not replaced and head and are_names(head[0][1], columns):
                del head[0]
            if not columns:
                if not layout.header:
                    check_no_title(file, names, head, f"line {at}")
                    check_one_header(file, names, head, f"line {at}")
                check_no_data(file, names, head, f"line {at}")
            for line, cells in chain(head, table):
                yield named_row(line, names, cells, numbers)
        except csv.Error as error:
            raise DataFileError(
                f"{file}: not a table in text: {error}.", "Check the quotes."
            ) from error


def _beginning(handle: TextIO, before: int) -> list[str]:
    """Return the first lines of a file below `before` ones; parts of lines that are very long."""
    handle.seek(0)
    for _ in range(before):
        handle.readline(MAX_ROW_CHARACTERS)
    lines = (handle.readline(_LOOKED_CHARACTERS) for _ in range(_LOOKED_BELOW))
    return [line for line in lines if line]


def _reader(handle: TextIO, delimiter: str) -> Lines:
    lines = _bounded(handle)
    return _Spaced(lines) if delimiter == _SPACE else csv.reader(lines, delimiter=delimiter)


def _bounded(handle: TextIO) -> Iterator[str]:
    """Yield the lines of a file; raises `csv.Error` for one that memory may not hold."""
    while line := handle.readline(MAX_ROW_CHARACTERS + 1):
        if len(line) > MAX_ROW_CHARACTERS:
            raise csv.Error(f"a line is longer than {MAX_ROW_CHARACTERS:,} characters")
        if "\0" in line:
            raise csv.Error("a NUL byte, which no text has: the file is damaged or no table")
        yield line


class _Spaced:
    """A reader of values with any white space between them, as `csv.reader` is one of others."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self.line_num = lines, 0

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        self.line_num += 1
        line = next(self._lines)
        return [] if line.lstrip().startswith(_ASIDE) else line.split()


def _numbered(file: Path, reader: Lines, before: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each line that is not empty, with its number."""
    line = before + 1
    try:
        while True:
            line = before + reader.line_num + 1
            cells = next(reader, None)
            if cells is None:
                return
            # Spreadsheets leave rows of empty cells below the last one.
            if any(cell.strip() for cell in cells):
                yield line, cells
    except csv.Error as error:
        raise DataFileError(
            f"{file} line {line}: not CSV from here on: {error}.",
            "Check the quotes around this value, or export the file anew.",
        ) from error


def _delimiter(lines: Sequence[str], columns: int, *, spaced: bool) -> str:
    """Return the separator: the one that makes as many values as columns are named; else the most
    frequent in the first line of comma, semicolon, tab and bar, or space without one.

    Below a first line without any, one that stands equally often in all other lines.
    """
    first, *below = [line for line in lines if line.strip()] or [""]
    outside = _QUOTED.sub("", first)
    if columns > 1:
        fitting = [one for one in "\t;,|" if outside.count(one) == columns - 1]
        if fitting or len(first.split()) == columns:
            return fitting[0] if fitting else _SPACE
    among = ",;\t|" if spaced else ",;\t"
    found = max(among, key=outside.count)
    if outside.count(found):
        return found
    words = len(first.split()) if spaced else 1
    if words > 1 and all(len(line.split()) == words for line in below):
        return _SPACE
    counts = {one: {_QUOTED.sub("", line).count(one) for line in below} for one in among}
    equal = [one for one in among if len(counts[one]) == 1 and counts[one] != {0}]
    if equal and len(below) > 1:
        return equal[0]
    return _SPACE if words > 1 else found
