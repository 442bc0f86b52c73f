"""One record of a file of any kind, and what its file does not say of itself."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sys import intern
from typing import Any

from judge_gym.counting import counted
from judge_gym.errors import DataFileError
from judge_gym.evidence.columns import ColumnError, source_of, value_at
from judge_gym.evidence.numbers import WITHOUT, DecimalCommas, plain_number

MAX_ROW_CHARACTERS = 10_000_000
"""Longest JSONL line in bytes and longest CSV value in characters that is read."""
MAX_ARRAY_BYTES = 500_000_000
"""Longest JSON array that is read; it is in memory as a whole."""
_SHORT = 16
"""Longest text of a cell that is held once."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True)
class Layout:
    """What a file does not say of itself."""

    rows: str = ""
    """Where the rows stand: a key of a JSON object such as `data.items`, or a sheet of a
    workbook."""
    columns: Sequence[str] = ()
    """The names of the columns, where no first line has them."""
    header: int = 0
    """The line or row, from 1, that has the names of the columns, or those that `columns` replaces;
    what is above it is not read. 0 is the first that is not empty."""

    @property
    def keys(self) -> dict[str, Any]:
        """What of it is said, as the keys of a mapping."""
        given = {"rows": self.rows, "columns": list(self.columns), "header": self.header}
        return {name: value for name, value in given.items() if value}


PLAIN = Layout()
"""Of files that say it all themselves."""


@dataclass(frozen=True, slots=True)
class DataRow:
    """One record of a file, or the reason why it cannot be read."""

    line: int
    """Line of the file on which the record starts, from 1."""
    values: dict[str, Any]
    fault: str = ""
    place: str = ""
    """What the record is, in a file without lines, such as `sample 3, epoch 2`."""
    numbers: DecimalCommas = WITHOUT
    """How the columns of its file write numbers."""
    remedy: str = ""
    """How to mend the fault, where whoever read the row can tell."""

    @property
    def where(self) -> str:
        """Where the record is in its file."""
        return self.place or f"line {self.line}"

    def error(self, file: Path, what: str, remedy: str = "") -> DataFileError:
        """Return an error that names the file and this line; long values are cut."""
        return DataFileError(f"{file} {self.where}: {what[:500]}.", (self.remedy or remedy)[:500])

    def value(self, file: Path, column: str) -> Any:
        """Return the value of a column, a path such as `label.value`, or a text with `{...}` around
        either; raises `EvidenceError` if there is no such value."""
        try:
            return value_at(column, source_of(file, self.values))
        except ColumnError as error:
            raise self.error(file, error.what, error.remedy) from error

    def number(self, file: Path, column: str, text: str) -> str:
        """Return a value of a column with a point, where it is a number; any other unchanged.

        Raises `DataFileError` where the column has numbers with a decimal comma and with a point.
        """
        if self.numbers is WITHOUT:
            return plain_number(text)
        found = plain_number(text, comma=self.numbers.are_in(column))
        if (mixed := self.numbers.mixed(column)) and found.strip()[:1].isdecimal():
            raise DataFileError(f"{file}: {mixed}.", "Write all numbers of a column in one way.")
        return found


def named_row(
    line: int,
    names: Sequence[str],
    cells: Sequence[Any],
    numbers: DecimalCommas = WITHOUT,
    place: str = "",
) -> DataRow:
    """Return the row of cells under the names of columns; with a fault where they do not match."""
    values = {name: _shared(cell) for name, cell in zip(names, cells, strict=False)}
    if len(cells) != len(names):
        fault = f"{counted(len(cells), 'value')} under {counted(len(names), 'column name')}"
        return DataRow(line, values, fault, place)
    return encoded_row(DataRow(line, values, "", place, numbers))


def _shared(cell: Any) -> Any:
    """Return a cell; a short text is one with those like it, as files have in many rows."""
    return intern(cell) if type(cell) is str and len(cell) <= _SHORT else cell


def encoded_row(row: DataRow) -> DataRow:
    """Return a row, with a fault where one of its texts is not UTF-8."""
    for name, value in row.values.items():
        if isinstance(value, str) and not value.isascii() and _SURROGATE.search(value):
            fault = f"field {name!r} is {not_utf_8(value)}"
            return replace(row, fault=fault, remedy=AS_UTF_8)
    return row


TOO_DEEP = "nested too deeply"


def json_fault(error: Exception) -> str:
    """Return what is wrong with a text that Python's JSON parser refuses, in words of JSON."""
    if isinstance(error, RecursionError):
        return f"{TOO_DEEP}: at most about 1,000 lists and objects in one another are read"
    if "int_max_str_digits" in str(error):
        return "a number has too many digits: at most 4,300 are read"
    return str(error)


AS_UTF_8 = (
    "Save it as UTF-8 (in Excel: CSV UTF-8), or convert it, if that is its encoding: iconv -f "
    "CP1252 -t UTF-8 FILE > NEW."
)
"""The remedy for texts that are not UTF-8; see `not_utf_8`."""


def not_utf_8(text: str) -> str:
    """Return that a text is not UTF-8, and which letter its first such byte is in Western Europe.

    The byte stands in it as Python's `surrogateescape` writes it. Windows-1252 is Latin-1 with
    letters for 0x80 to 0x9F, which Latin-1 has none for.
    """
    found = _ESCAPED.search(text)
    if found is None:
        return "not UTF-8"
    byte = ord(found[0]) - 0xDC00
    letter = bytes([byte]).decode("cp1252", errors="replace")
    return f"not UTF-8: the byte 0x{byte:02X}, which is {letter!r} in Windows-1252 (Latin-1)"


def are_objects(value: Any) -> bool:
    """Whether a value is a list of objects, one or more."""
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
