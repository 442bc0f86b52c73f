"""A row of a file of recorded judgements, and the values that its mapping does not have."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from judge_gym.errors import DataFileError, EvidenceError
from judge_gym.evidence.columns import ColumnError, ColumnSource, entered, text_at
from judge_gym.evidence.normal_text import normal_line
from judge_gym.evidence.row import DataRow
from judge_gym.recorded.derived_stages import wider_scale
from judge_gym.recorded.mapping import ScoreScale

LONGEST_NAME = 200
"""Most characters of an item's key and of a judge's name; more are cut."""
_MOST_UNKNOWN = 10


@lru_cache(maxsize=1 << 16)
def name_of(text: str) -> str:
    return normal_line(text, LONGEST_NAME)


@dataclass(frozen=True)
class Record:
    """A row, with the file it is in."""

    file: Path
    row: DataRow
    parts: Mapping[str, str]

    @cached_property
    def source(self) -> ColumnSource:
        """What columns are read from."""
        return ColumnSource(self.row.values, self.parts)

    def text(self, column: str) -> str:
        """Return a value as text; "" for a column that the mapping does not name."""
        value = self.row.values.get(column) if column else ""
        if isinstance(value, str) and "{" not in column:  # as most cells of a table are
            return value.strip()
        try:
            return text_at(column, self.source)
        except ColumnError as error:
            raise self.fault(error.what, error.remedy) from error

    def verdict(self, column: str) -> str:
        """Return a value as text; a number as one with a point."""
        return self.row.number(self.file, column, self.text(column))

    def entries(self, column: str) -> list[Mapping[str, Any]]:
        """Return the objects in lists that the path of a column leads through."""
        return entered(column, self.row.values)

    def named(self, column: str) -> str:
        """Return a value as a name; raises `EvidenceError` if it is empty."""
        name = name_of(self.text(column))
        if not name:
            raise self.fault(f"{column} is empty")
        return name

    def fault(self, what: str, remedy: str = "") -> EvidenceError:
        return self.row.error(self.file, what, remedy)

    def refused(self, what: str, *remedies: str) -> "RowError":
        """Return an error after which other rows are read, to name several at once."""
        return RowError(self.fault(what).message, remedies)

    def unknown(self, column: str, *remedies: str) -> "RowError":
        """Return the error of a verdict or label that the mapping does not have."""
        error = self.refused(f"{column} is {self.verdict(column)!r}", *remedies)
        error.value = self.verdict(column)
        return error


class RowError(DataFileError):
    """A row that does not fit, of which several are named at once."""

    value = ""
    """The verdict or label that the mapping does not have."""


class Refusals:
    """Collects the errors of rows that do not fit, to name several at once."""

    def __init__(self, scale: ScoreScale | None) -> None:
        """Take the mapping's scale, which scores off it may widen."""
        self._scale = scale
        self._errors: list[RowError] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if isinstance(error, RowError):
            self._errors.append(error)
            return True
        return False

    def fail(self) -> None:
        """Raise `EvidenceError` if there are any."""
        if not self._errors:
            return
        messages = [error.message for error in self._errors[:_MOST_UNKNOWN]]
        if more := len(self._errors) - len(messages):
            messages.append(f"and {more} more.")
        ends = (self._scale.lowest, self._scale.highest) if self._scale else None
        wider = wider_scale(ends, (error.value for error in self._errors)) if ends else ""
        remedies = [one for error in self._errors for one in error.remedies]
        raise DataFileError("\n".join(messages), [wider, *remedies])
