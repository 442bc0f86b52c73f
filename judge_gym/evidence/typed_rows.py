"""Rows of a corpus file as typed values, each with a name of its own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from judge_gym.design.files import corpus_files
from judge_gym.errors import EvidenceError
from judge_gym.evidence.corpus_files import Row, read_rows

MAX_ROWS = 100_000
"""Most rows of one corpus."""
R = TypeVar("R", bound=BaseModel)


def read_typed(
    path: Path, form: type[R], columns: Sequence[str] = (), **more: Any
) -> tuple[R, ...]:
    """Read the rows of a JSONL or CSV file, or of a folder of them, in file and row order.

    `columns` are the fields of `form` that a row gives, all without them, and `more` those that all
    rows share. Without an `id` a row is named by its number; other columns are passed over. Raises
    `EvidenceError` naming file, line and field of the first row that cannot be used, and of a name
    that is given twice.
    """
    names = columns or tuple(form.model_fields)
    found: dict[str, R] = {}
    for file in corpus_files(path):
        for row in read_rows(file):
            # An empty cell of a CSV file is no value.
            values = {name: row.values[name] for name in names
                      if row.values.get(name) not in (None, "")}  # fmt: skip
            given = values.pop("id", len(found) + 1)
            name = str(given) if isinstance(given, int) else given
            one = _typed(file, row, form, {**values, "id": name, **more})
            if name in found:
                raise _fault(file, row, f"id is {name!r}, which a row above has, too")
            if len(found) == MAX_ROWS:
                raise _fault(file, row, f"more than {MAX_ROWS} rows")
            found[name] = one
    if not found:
        raise EvidenceError(f"{path} has no row.", f"A row has {', '.join(names)}.")
    return tuple(found.values())


def _typed(file: Path, row: Row, form: type[R], values: dict[str, Any]) -> R:
    if row.fault:
        raise _fault(file, row, row.fault)
    try:
        return form.model_validate(values)
    except ValidationError as error:
        fault = error.errors()[0]
        raise _fault(file, row, f"{fault['loc'][0]}: {fault['msg']}") from None


def _fault(file: Path, row: Row, what: str) -> EvidenceError:
    return EvidenceError(f"{file} line {row.line}: {what}.", "Mend or remove this row.")
