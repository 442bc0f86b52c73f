"""Rows of a corpus file as typed values, each with a name of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from judge_gym.design.config_tree import shown
from judge_gym.design.files import corpus_files
from judge_gym.errors import EvidenceError, did_you_mean
from judge_gym.evidence.corpus_files import Row, read_rows

MAX_ROWS = 100_000
"""Most rows of one corpus."""
_LONGEST_ADVICE = 300
_MEND = "Mend or remove this row."
R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True, eq=False)
class TypedRows(Generic[R]):
    """The rows of a corpus, and where they and their fields are from."""

    rows: tuple[R, ...]
    places: tuple[str, ...]
    """By row, its file and line."""
    columns: tuple[str, ...]
    """Every column of the files, in order."""
    used: Mapping[str, str]
    """Field → the column that it was read from, of the fields that have one."""


def read_typed(path: Path, form: type[R], **more: Any) -> tuple[R, ...]:
    """Read a corpus as `read_typed_rows` does; returns its rows alone."""
    return read_typed_rows(path, form, **more).rows


def read_typed_rows(
    path: Path,
    form: type[R],
    columns: Sequence[str] = (),
    fields: Mapping[str, str] | None = None,
    **more: Any,
) -> TypedRows[R]:
    """Read the rows of a JSONL or CSV file, or of a folder of them, in file and row order.

    `columns` are the fields of `form` that a row gives, all without them, and `more` those that all
    rows share. A field is read from the column of its name, whatever its case, or from the one that
    `fields` names. Blank values are no values. Without an `id` a row is named by its number; other
    columns are passed over. Raises `EvidenceError` naming file, line, column and value of the first
    row that cannot be used, a name that is given twice, and a column that is not there.
    """
    reading = _Reading(form, columns or tuple(form.model_fields), fields or {}, more)
    for file in corpus_files(path):
        for row in read_rows(file):
            reading.add(file, row)
    return reading.result(path)


class _Reading(Generic[R]):
    def __init__(
        self,
        form: type[R],
        names: Sequence[str],
        fields: Mapping[str, str],
        more: Mapping[str, Any],
    ) -> None:
        self._form, self._names, self._fields, self._more = form, names, fields, more
        self._rows: dict[str, R] = {}
        self._places: list[str] = []
        self._columns: dict[str, None] = {}
        self._used: dict[str, str] = {}

    def add(self, file: Path, row: Row) -> None:
        """Read one more row."""
        if row.fault:
            remedy = "Save the file as UTF-8." if "not UTF-8" in row.fault else _MEND
            raise _fault(file, row, row.fault, remedy)
        self._columns.update(dict.fromkeys(row.values))
        values = self._values(file, row)
        given = values.pop("id", len(self._rows) + 1)
        name = str(given) if isinstance(given, int) else given
        one = self._typed(file, row, {**values, "id": name, **self._more})
        if name in self._rows:
            raise _fault(file, row, f"id is {name!r}, which a row above has, too")
        if len(self._rows) == MAX_ROWS:
            raise _fault(file, row, f"more than {MAX_ROWS} rows")
        self._rows[name] = one
        self._places.append(f"{file} line {row.line}")

    def result(self, path: Path) -> TypedRows[R]:
        """Return what was read; raises `EvidenceError` when it was nothing."""
        if not self._rows:
            raise EvidenceError(f"{path} has no row.", f"A row has {', '.join(self._names)}.")
        for field, column in self._fields.items():
            if column not in self._columns:
                raise EvidenceError(
                    f"{path}: fields: {field} is {column!r}, and no row has such a column.",
                    f"{did_you_mean(column, list(self._columns))}{_listed(self._columns)}",
                )
        places, columns = tuple(self._places), tuple(self._columns)
        return TypedRows(tuple(self._rows.values()), places, columns, self._used)

    def _values(self, file: Path, row: Row) -> dict[str, Any]:
        values = {}
        for name in self._names:
            column = self._column(file, row, name)
            value = None if column is None else row.values.get(column)
            if column is None or value is None or (isinstance(value, str) and not value.strip()):
                continue
            values[name], self._used[name] = value, column
        return values

    def _column(self, file: Path, row: Row, name: str) -> str | None:
        """Return the column that a field stands in; None without one."""
        if name in self._fields:
            return self._fields[name]
        if name in row.values:
            return name
        alike = [column for column in row.values if column.strip().lower() == name]
        if len(alike) > 1:
            both = " and ".join(map(repr, alike))
            raise _fault(
                file, row, f"columns {both} are both {name}", f"Name one: fields: {{{name}: ...}}."
            )
        return alike[0] if alike else None

    def _typed(self, file: Path, row: Row, values: dict[str, Any]) -> R:
        try:
            return self._form.model_validate(values)
        except ValidationError as error:
            fault = error.errors()[0]
        name = str(fault["loc"][0])
        column = self._column(file, row, name) or name
        if fault["type"] != "missing":
            said = fault["msg"].removeprefix("Value error, ")
            raise _fault(file, row, f"{column} is {shown(fault['input'])}: {said}")
        if column in row.values:
            raise _fault(file, row, f"{column} is empty")
        raise _fault(
            file, row, f"there is no {column!r}",
            f"{_listed(row.values)} Map one with fields: {{{name}: COLUMN}}.",
        )  # fmt: skip


def _listed(columns: Mapping[str, object]) -> str:
    listed = f"The columns are {', '.join(map(repr, columns))}."
    return listed if len(listed) <= _LONGEST_ADVICE else f"{listed[:_LONGEST_ADVICE]}…"


def _fault(file: Path, row: Row, what: str, remedy: str = _MEND) -> EvidenceError:
    return EvidenceError(f"{file} line {row.line}: {what}.", remedy)
