"""Rows of files as typed values with names: items and the like.

`design.files` lists the files of a corpus.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from judge_gym.design.config import corpus_files, fault_reason, shown
from judge_gym.errors import DataFileError, EvidenceError, NoRowError
from judge_gym.evidence.choosing import BY_OPTION, NamedBy, beside_fields
from judge_gym.evidence.columns import column_meant
from judge_gym.evidence.row import DataRow
from judge_gym.evidence.rows import CUT, NOT_JSON, ONE_OBJECT, rows_inside

MAX_ROWS = 100_000
"""Most rows of one corpus."""
_LONGEST_ADVICE = 300
_MEND = "Mend or remove this row."
NO_ANSWER = "[no answer]"
"""What stands for an answer that a system did not give."""
_ABSENT = object()
R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True, eq=False)
class TypedRows(Generic[R]):
    """The rows of a corpus, with their locations and columns."""

    rows: tuple[R, ...]
    places: tuple[str, ...]
    """File and line of each row."""
    columns: tuple[str, ...]
    """Every column of the files, in order."""
    used: Mapping[str, str]
    """Field → the column that it was read from."""
    cells: tuple[Mapping[str, Any], ...]
    """Every column of each row, as it stands there."""
    unanswered: tuple[str, ...] = ()
    """The rows with an empty answer, each once."""


def read_typed(path: Path, form: type[R], **more: Any) -> tuple[R, ...]:
    """Return the rows of `read_typed_rows`."""
    return read_typed_rows(path, form, **more).rows


def read_typed_rows(
    path: Path,
    form: type[R],
    columns: Sequence[str] = (),
    fields: Mapping[str, str] | None = None,
    numbers: Collection[str] = (),
    unfold: Callable[[Path, DataRow], Iterable[DataRow]] | None = None,
    answers: Collection[str] = (),
    named_by: NamedBy | None = BY_OPTION,
    **more: Any,
) -> TypedRows[R]:
    """Read the rows of a JSONL or CSV file, or of a folder of them, in file and row order.

    `columns` are the fields of `form` that come from the file (default: all), and `more` holds
    values that all rows share. `numbers` are the fields that may be numbers as spreadsheets write
    them. A field is read from the column of its name, whatever its case, or from the column or
    path that `fields` names; `fields` may have the keys of `choosing.KEYS`, too. Blank values count
    as missing. `answers` are the fields that are answers: where `fields` names the column of one, a
    blank value there is `NO_ANSWER`. `unfold` makes several rows of one. A row without an `id` is
    named by its number. Other columns are ignored. `named_by` is where a user gives `fields`, as
    messages say it; None where that is nowhere. Raises `EvidenceError` with file, line, column and
    value for the first row that cannot be read, a repeated id, and a missing column.
    """
    chosen, fields = beside_fields(fields or {}, form.model_fields)
    names = columns or tuple(form.model_fields)
    reading = _Reading(form, names, fields, numbers, answers, named_by, more)
    number = 0
    for file in corpus_files(path):
        for row in chosen.rows(file):
            number += 1  # of the file, whatever is left of it
            for one in (row,) if unfold is None else unfold(file, row):
                reading.add(file, one, number)
    return reading.result(path)


class _Reading(Generic[R]):
    def __init__(
        self,
        form: type[R],
        names: Sequence[str],
        fields: Mapping[str, str],
        numbers: Collection[str],
        answers: Collection[str],
        named_by: NamedBy | None,
        more: Mapping[str, Any],
    ) -> None:
        self._form, self._names, self._fields, self._more = form, names, fields, more
        self._numbers, self._answers, self._named_by = numbers, answers, named_by
        self._unanswered: dict[str, None] = {}
        self._rows: dict[str, R] = {}
        self._places: list[str] = []
        self._cells: list[Mapping[str, Any]] = []
        self._columns: dict[str, None] = {}
        self._used: dict[str, str] = {}
        self._missing: dict[str, EvidenceError | None] = {}

    def add(self, file: Path, row: DataRow, number: int) -> None:
        """Add a row of the file, whose number names it where it has no id."""
        if row.fault:
            remedy = _MEND
            if row.fault == CUT:
                remedy = "Write each object on one line, or an array of them in a .json file."
            if row.fault.startswith(ONE_OBJECT):
                remedy = "Save the array of rows alone, or an object a line in a .jsonl file."
            if row.line == 1 and row.fault.startswith(NOT_JSON):
                remedy = f"If the file is CSV, rename it to end in .csv. Otherwise: {_MEND}"
            raise _fault(file, row, row.fault, remedy)
        self._columns.update(dict.fromkeys(row.values))
        values, unanswered = self._values(file, row)
        given = values.pop("id", number)
        name = str(given) if isinstance(given, int) else given
        one = self._typed(file, row, {**values, "id": name, **self._more})
        if name in self._rows:
            above = self._places[list(self._rows).index(name)]
            what = f"id is {name!r}, which {above} has, too"
            raise _fault(file, row, what, self._told_apart(one, self._rows[name]))
        if len(self._rows) == MAX_ROWS:
            raise _fault(file, row, f"more than {MAX_ROWS} rows")
        self._rows[name] = one
        if unanswered:
            self._unanswered[name] = None
        self._places.append(f"{file} {row.where}")
        self._cells.append(row.values)

    def _told_apart(self, one: R, other: R) -> str:
        """Return how rows with one id are told apart: by their systems, if these differ."""
        if self._named_by is None or getattr(one, "system", "") == getattr(other, "system", ""):
            return _MEND
        both = f"{{{self._used['system']}}}-{{{self._used['id']}}}"
        return (
            f"Two systems have it. To name a row by both, {self._named_by.adding('id', both)}; "
            f"and to name its labels alike, item={both!r} of their columns."
        )

    def result(self, path: Path) -> TypedRows[R]:
        """Return the rows; raises `EvidenceError` without any."""
        if not self._rows:
            raise NoRowError(f"{path} has no row.", f"A row has {', '.join(self._names)}.")
        for field, error in self._missing.items():
            if error is not None:
                column = self._fields[field]
                what = f"there is no column {column!r}"
                if self._named_by:
                    key = self._named_by.key
                    what = f"{key}: {field} is {column!r}, and no row has such a column"
                raise DataFileError(f"{path}: {what}.", error.remedy)
        places, columns = tuple(self._places), tuple(self._columns)
        rows, cells = tuple(self._rows.values()), tuple(self._cells)
        return TypedRows(rows, places, columns, self._used, cells, tuple(self._unanswered))

    def _values(self, file: Path, row: DataRow) -> tuple[dict[str, Any], bool]:
        """Return the values of a row by field, and whether it has an empty answer."""
        values: dict[str, Any] = {}
        unanswered = False
        for name in self._names:
            column = self._column(file, row, name)
            value = _ABSENT if column is None else self._value(file, row, name, column)
            if column is None or value is _ABSENT:
                continue
            if value is None or (isinstance(value, str) and not value.strip()):
                if name not in self._answers or name not in self._fields:
                    continue
                value, unanswered = NO_ANSWER, True
            if name in self._numbers and isinstance(value, str):
                value = row.number(file, column, value)
            values[name], self._used[name] = value, column
        return values, unanswered

    def _value(self, file: Path, row: DataRow, name: str, column: str) -> Any:
        """Return the value of a field; `_ABSENT` where the row is without its column."""
        if name not in self._fields:
            return row.values.get(column, _ABSENT)
        try:
            value = row.value(file, column)
        except EvidenceError as error:
            self._missing.setdefault(name, error)
            return _ABSENT
        self._missing[name] = None
        return value

    def _column(self, file: Path, row: DataRow, name: str) -> str | None:
        """Return the column of a field; None without one."""
        if name in self._fields:
            return self._fields[name]
        if name in row.values:
            return name
        alike = [column for column in row.values if column.strip().lower() == name]
        if len(alike) > 1:
            both = " and ".join(map(repr, alike))
            how = "rename one" if self._named_by is None else self._named_by.adding(name, alike[0])
            raise _fault(
                file, row, f"columns {both} are both {name}", f"To use {alike[0]!r}, {how}."
            )
        return alike[0] if alike else None

    def _typed(self, file: Path, row: DataRow, values: dict[str, Any]) -> R:
        try:
            return self._form.model_validate(values)
        except ValidationError as error:
            fault = error.errors()[0]
        message = fault_reason(fault)
        # A fault of the row as a whole says which field it lacks, if any.
        name = str((fault["loc"] or (fault.get("ctx", {}).get("field", ""),))[0])
        if not name:
            raise _fault(file, row, message)
        column = self._column(file, row, name) or name
        if not fault["loc"]:
            raise _fault(file, row, f"{column} is empty: {message}")
        if fault["type"] != "missing":
            raise _fault(file, row, f"{column} is {shown(fault['input'])}: {message}")
        if column in row.values:
            remedy = _MEND
            if name in self._answers and self._named_by:
                remedy = (
                    "If it is an answer that a system did not give, "
                    f"{self._named_by.adding(name, column)}: it is judged as {NO_ANSWER}. To "
                    "remove the row would favour that system."
                )
            raise _fault(file, row, f"{column} is empty", remedy)
        inside, how = "", f"rename it to {column}"
        if self._named_by:
            adding, how = self._named_by.adding, self._named_by.adding(name)
            if row.line == 1:
                inside = rows_inside(
                    row.values, partial(adding, "rows"), partial(adding, "messages")
                )
        raise _fault(
            file, row, f"there is no {column!r}",
            f"{inside}{column_meant(column, row.values)}{_listed(row.values)} To use one, {how}.",
        )  # fmt: skip


def _listed(columns: Mapping[str, object]) -> str:
    listed = f"The columns are {', '.join(map(repr, columns))}."
    return listed if len(listed) <= _LONGEST_ADVICE else f"{listed[:_LONGEST_ADVICE]}…"


def _fault(file: Path, row: DataRow, what: str, remedy: str = _MEND) -> EvidenceError:
    return row.error(file, what, remedy)
