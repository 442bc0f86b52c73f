"""Which rows of files are read: a filter, and the keys beside fields that say where rows stand."""

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from judge_gym.design.fields import Frozen, Legal
from judge_gym.errors import ConfigError, DataFileError
from judge_gym.evidence.columns import ColumnError, ColumnSource, source_of, text_at
from judge_gym.evidence.row import PLAIN, DataRow, Layout
from judge_gym.evidence.rows import read_rows

Only = Annotated[
    dict[str, str | tuple[str, ...]], Legal("a mapping of columns to a value or several")
]
"""Column → its value, or its values, in what is read."""


def _check_names(names: tuple[str, ...]) -> tuple[str, ...]:
    if not all(name.strip() for name in names) or len(set(names)) < len(names):
        raise ValueError("has a name twice, or one that is empty")
    return names


ColumnNames = Annotated[
    tuple[str, ...], Legal("a list of different names"), AfterValidator(_check_names)
]
"""The names of the columns of a file whose first line has none, in order."""
HeaderLine = Annotated[int, Field(ge=0, le=1_000_000)]
"""The line or row of a file, from 1, that has the names of the columns; 0 is the first."""


def _as_text(value: Any) -> Any:
    is_line = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_line else value


FieldColumns = dict[str, Annotated[str, BeforeValidator(_as_text)]]
"""Field → its column. A line, such as that of `header`, may be written as a number."""
KEYS = ("rows", "columns", "header", "only.COLUMN")
"""What may stand beside the fields of a file: where its rows are, the names of its columns or the
line that has them, and a value, or several with | between, that a column has in the rows that are
read."""
_PLAIN_NAME = re.compile(r"\w[\w .-]*")
_ONLY = "only."
_MOST_NAMED = 5


@dataclass(frozen=True)
class NamedBy:
    """What names the columns of a file, for messages that say how to have another one read."""

    place: str = ""
    """The file with `key`, in words; without one, an option of the command is called so."""
    key: str = "fields"

    def adding(self, field: str, column: str = "COLUMN") -> str:
        """Return how to have a field read from a column, such as "add `--fields text=Note`"."""
        if not self.place:
            option = f"--{self.key.replace('_', '-')}"
            return f"add `{option} {shlex.quote(f'{field}={column}')}`"
        plain = _PLAIN_NAME.fullmatch(column)
        named = column if plain else json.dumps(column, ensure_ascii=False)
        return f"add `{self.key}: {{{field}: {named}}}` to {self.place}"


BY_OPTION = NamedBy()


def values_of(chosen: str | Sequence[str]) -> tuple[str, ...]:
    """Return the values of a column that `only` reads."""
    return (chosen,) if isinstance(chosen, str) else tuple(chosen)


class OnlyRows:
    """The rows of files that have one of the values of each column of `only`."""

    def __init__(self, only: Mapping[str, str | Sequence[str]]) -> None:
        self._only = only
        self.left = 0
        """Rows that are not read."""
        self._missing: dict[str, DataFileError | None] = {}
        self._seen: dict[str, dict[str, None]] = {}

    def chooses(self, file: Path, row: DataRow, source: ColumnSource | None = None) -> bool:
        """Return whether a row is read; counts it if not. Raises `DataFileError` for its fault."""
        if row.fault:
            raise row.error(file, row.fault)
        source = source or source_of(file, row.values)
        # Each column is looked at, to say which of them no row has.
        fits = [
            self.value(file, row, column, source) in values_of(value)
            for column, value in self._only.items()
        ]
        chosen = all(fits)
        self.left += not chosen
        return chosen

    def value(self, file: Path, row: DataRow, column: str, source: ColumnSource) -> str | None:
        """Return a column's value, None where a row is without it, and note in which it is."""
        try:
            text = text_at(column, source)
        except ColumnError as error:
            self._missing.setdefault(column, row.error(file, error.what, error.remedy))
            return None
        self._missing[column] = None
        seen = self._seen.setdefault(column, {})
        if len(seen) <= _MOST_NAMED:
            seen[text] = None
        return text

    def check(self) -> None:
        """Raise `DataFileError` for a column that no row has."""
        for error in filter(None, self._missing.values()):
            raise error

    def check_any(self, file: Path) -> None:
        """Raise `DataFileError` where no row was read: for a column or a value that none has."""
        self.check()
        for column, seen in self._seen.items():
            wanted = values_of(self._only.get(column, ()))
            if wanted and not set(wanted) & set(seen):
                there = ", ".join(map(repr, list(seen)[:_MOST_NAMED]))
                raise DataFileError(
                    f"{file} has no row that `only` reads: {column} is {there}.",
                    f"`only` has {column}: {', '.join(map(repr, wanted))}. Name what is there.",
                )
        if self.left:
            raise DataFileError(
                f"{file} has no row that `only` reads, of {self.left:,}.",
                f"No row has all of {', '.join(self._only)} as `only` says.",
            )


class TableKeys(Frozen):
    """The keys that say of any file where its rows stand and which are read."""

    rows: str = ""
    """Where the rows stand: a key of a JSON file that is an object, such as `data.items`, or a
    sheet of a workbook."""
    columns: ColumnNames = ()
    """The names of the columns, in order, of a file whose first line has none."""
    header: HeaderLine = Field(default=0, exclude_if=lambda line: not line)
    """The line or row, from 1, that has the names of the columns: titles above it are not read."""
    only: Only = Field(default_factory=dict)
    """Column → its value, or its values, in the rows that are read."""

    @property
    def layout(self) -> Layout:
        """What the file does not say of itself."""
        return Layout(self.rows, self.columns, self.header)

    @property
    def chosen(self) -> "Chosen":
        """Which rows are read."""
        return Chosen(self.layout, self.only)


@dataclass(frozen=True)
class Chosen:
    """Which rows of a file are read, and what their columns are called."""

    layout: Layout = PLAIN
    only: Mapping[str, str | Sequence[str]] = field(default_factory=dict)

    def rows(self, file: Path) -> Iterator[DataRow]:
        """Yield the rows that are read; raises as `read_rows` and `OnlyRows` do."""
        only, count = OnlyRows(self.only), 0
        for row in read_rows(file, self.layout):
            if not self.only or only.chooses(file, row):
                count += 1
                yield row
        if not count:
            only.check_any(file)


def beside_fields(
    fields: Mapping[str, str], names: Collection[str] = ()
) -> tuple[Chosen, dict[str, str]]:
    """Return what fields of a file say of its rows, and the fields alone.

    `names` are fields that are no such key. Raises `ConfigError` for names of columns that are
    there twice or empty: the second of two would hide the first.
    """
    keys = {name: value for name, value in fields.items() if is_key(name) and name not in names}
    columns = tuple(name.strip() for name in keys.get("columns", "").split(","))
    only = {
        name.removeprefix(_ONLY): tuple(one.strip() for one in value.split("|"))
        for name, value in keys.items()
        if name.startswith(_ONLY)
    }
    if any(columns):
        try:
            _check_names(columns)
        except ValueError as error:
            raise ConfigError(
                f"columns is {keys['columns']!r} and {error}.",
                "Give each column a name of its own.",
            ) from None
    header = keys.get("header", "0")
    if not header.isdecimal():
        raise ConfigError(f"header is {header!r}.", "Use the number of a line, from 1.")
    layout = Layout(keys.get("rows", ""), columns if any(columns) else (), int(header))
    return Chosen(layout, only), {n: value for n, value in fields.items() if n not in keys}


def is_key(name: str) -> bool:
    """Whether the name of a field is a key of `KEYS`."""
    return name in KEYS[:-1] or (name.startswith(_ONLY) and name != _ONLY)
