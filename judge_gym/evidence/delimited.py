"""Tables in text: values with commas, semicolons, tabs, bars or spaces between them."""

import csv
import re
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, TextIO

from judge_gym.errors import DataFileError
from judge_gym.evidence.headers import LOOKED_AT, are_names, check_names, check_no_data
from judge_gym.evidence.numbers import WITHOUT, Lines, decimal_commas
from judge_gym.evidence.row import MAX_ROW_CHARACTERS, Row, named_row

_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?\s*')
_QUOTED = re.compile(r'"[^"]*"')
_SPACE = " "
"""Any white space, where no other separator is in the first line."""
_ASIDE = ("#", "%")
"""What a remark begins with, in a table that spaces separate."""


def delimited_rows(
    file: Path, content: BinaryIO, columns: Sequence[str], *, spaced: bool
) -> Iterator[Row]:
    """Yield the rows of a table in text; `spaced` where spaces may separate its values.

    The first line has the names of the columns, unless they are given. Raises `DataFileError` for
    names that are there twice, and for a first line that is evidently data.
    """
    # The limit is global to the csv module. Raising it does not affect other readers.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_ROW_CHARACTERS))
    with TextIOWrapper(
        content, encoding="utf-8-sig", errors="surrogateescape", newline=""
    ) as handle:
        first = handle.readline(MAX_ROW_CHARACTERS)
        # A line in which Excel names the separator.
        given = _SEPARATOR.fullmatch(first)
        before = 1 if given else 0
        delimiter = given[1] if given else _delimiter(first, len(columns), spaced=spaced)

        def lines() -> Lines:
            handle.seek(0)
            for _ in range(before):
                handle.readline()
            return _reader(handle, delimiter)

        try:
            numbers = WITHOUT
            if delimiter != ",":
                numbers = decimal_commas(lines(), columns, before)
            table = _numbered(file, lines(), before)
            names = list(columns) or next(table, (1, []))[1]
            check_names(file, names)
            head = list(islice(table, LOOKED_AT))
            if columns and head and are_names(head[0][1], columns):
                del head[0]
            if not columns:
                check_no_data(file, names, head)
            for line, cells in chain(head, table):
                yield named_row(line, names, cells, numbers)
        except csv.Error as error:
            raise DataFileError(
                f"{file}: not a table in text: {error}.", "Check the quotes."
            ) from error


def _reader(handle: TextIO, delimiter: str) -> Lines:
    lines = _bounded(handle)
    return _Spaced(lines) if delimiter == _SPACE else csv.reader(lines, delimiter=delimiter)


def _bounded(handle: TextIO) -> Iterator[str]:
    """Yield the lines of a file; raises `csv.Error` for one that memory may not hold."""
    while line := handle.readline(MAX_ROW_CHARACTERS + 1):
        if len(line) > MAX_ROW_CHARACTERS:
            raise csv.Error(f"a line is longer than {MAX_ROW_CHARACTERS:,} characters")
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
            "Check the quotes around this value.",
        ) from error


def _delimiter(first: str, columns: int, *, spaced: bool) -> str:
    """Return the separator: the one that makes as many values as columns are named; else the most
    frequent of comma, semicolon, tab and bar, or space without one."""
    outside = _QUOTED.sub("", first)
    if columns > 1:
        fitting = [one for one in "\t;,|" if outside.count(one) == columns - 1]
        if fitting or len(first.split()) == columns:
            return fitting[0] if fitting else _SPACE
    found = max(",;\t|" if spaced else ",;\t", key=outside.count)
    return _SPACE if spaced and not outside.count(found) and len(first.split()) > 1 else found
