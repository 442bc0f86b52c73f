"""One record of a file of any kind, and what its file does not say of itself."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge_gym.errors import DataFileError
from judge_gym.evidence.columns import ColumnError, source_of, value_at
from judge_gym.evidence.numbers import WITHOUT, DecimalCommas, plain_number

MAX_ROW_CHARACTERS = 10_000_000
"""Longest JSONL line in bytes and longest CSV value in characters that is read."""
MAX_ARRAY_BYTES = 500_000_000
"""Longest JSON array that is read; it is in memory as a whole."""
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Layout:
    """What a file does not say of itself."""

    rows: str = ""
    """Where the rows stand: a key of a JSON object such as `data.items`, or a sheet of a
    workbook."""
    columns: Sequence[str] = ()
    """The names of the columns, where no first line has them."""

    @property
    def keys(self) -> dict[str, Any]:
        """What of it is said, as the keys of a mapping."""
        given = {"rows": self.rows, "columns": list(self.columns)}
        return {name: value for name, value in given.items() if value}


PLAIN = Layout()
"""Of files that say it all themselves."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a file, or the reason why it cannot be read."""

    line: int
    """Line of the file on which the record starts, from 1."""
    values: dict[str, Any]
    fault: str = ""
    place: str = ""
    """What the record is, in a file without lines, such as `sample 3, epoch 2`."""
    numbers: DecimalCommas = WITHOUT
    """How the columns of its file write numbers."""

    @property
    def where(self) -> str:
        """Where the record is in its file."""
        return self.place or f"line {self.line}"

    def error(self, file: Path, what: str, remedy: str = "") -> DataFileError:
        """Return an error that names the file and this line; long values are cut."""
        return DataFileError(f"{file} {self.where}: {what[:500]}.", remedy[:500])

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
) -> Row:
    """Return the row of cells under the names of columns; with a fault where they do not match."""
    values = dict(zip(names, cells, strict=False))
    if len(cells) != len(names):
        fault = f"{len(cells)} values under {len(names)} column names"
        return Row(line, values, fault, place)
    return Row(line, values, encoding_fault(values), place, numbers)


def encoding_fault(values: Mapping[str, Any]) -> str:
    """Return which of a record's texts is not UTF-8; "" where none."""
    for name, value in values.items():
        if isinstance(value, str) and not value.isascii() and _SURROGATE.search(value):
            return f"field {name!r} is not UTF-8"
    return ""
