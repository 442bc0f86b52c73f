"""Rows of a corpus file as typed values, each with a name of its own."""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from judge_gym.design.files import corpus_files
from judge_gym.errors import EvidenceError
from judge_gym.evidence.corpus_files import Row, read_rows
from judge_gym.gyms.base import Case

R = TypeVar("R", bound=Case)


def read_cases(path: Path, form: type[R]) -> tuple[R, ...]:
    """Read the rows of a JSONL or CSV file, or of a folder of them, in file and row order.

    Columns that `form` has not are passed over. Raises `EvidenceError` naming file, line and field
    of the first row that cannot be used, and of a name that is given twice.
    """
    found: dict[str, R] = {}
    for file in corpus_files(path):
        for row in read_rows(file):
            one = _case(file, row, form)
            if one.id in found:
                raise _fault(file, row, f"id is {one.id!r}, which a row above has, too")
            found[one.id] = one
    if not found:
        raise EvidenceError(f"{path} has no row.", f"A row has {', '.join(form.model_fields)}.")
    return tuple(found.values())


def _case(file: Path, row: Row, form: type[R]) -> R:
    if row.fault:
        raise _fault(file, row, row.fault)
    # An empty cell of a CSV file is no value.
    given = {name: row.values[name] for name in form.model_fields
             if row.values.get(name) not in (None, "")}  # fmt: skip
    try:
        return form.model_validate(given)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise _fault(file, row, f"{where}: {fault['msg']}") from None


def _fault(file: Path, row: Row, what: str) -> EvidenceError:
    return EvidenceError(f"{file} line {row.line}: {what}.", "Mend or remove this row.")
