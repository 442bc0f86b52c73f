"""A row of a file of recorded judgements, and the values that its mapping does not have."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from judge_gym.counting import first_of
from judge_gym.errors import DataFileError, EvidenceError
from judge_gym.evidence.columns import ColumnError, ColumnSource, entered, text_at
from judge_gym.evidence.normal_text import normal_line
from judge_gym.evidence.row import DataRow
from judge_gym.recorded.derived_stages import wider_scale
from judge_gym.recorded.mapping import DECIMAL_COMMAS, ScoreScale, has_decimal_comma

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

    def unknown(self, column: str, *remedies: str, of_label: bool = False) -> "RowError":
        """Return the error of a verdict, or label, that the mapping does not have."""
        value = self.verdict(column)
        commas = (DECIMAL_COMMAS,) if has_decimal_comma(value) else ()
        error = self.refused(f"{column} is {value!r}", *commas, *remedies)
        error.value, error.who, error.of_label = value, column, of_label
        return error


class RowError(DataFileError):
    """A row that does not fit, of which several are named at once."""

    value = ""
    """The verdict or label that the mapping does not have."""
    who = ""
    """Whose it is: a judge, or a column of verdicts or labels."""
    of_label = False
    """Whether it is a label."""


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

    def fail(
        self, judges: Collection[str] = (), judge_column: str = "", *, beside: str = ""
    ) -> None:
        """Raise `EvidenceError` if there are any.

        `judges` are all of the files, and `judge_column` names them, unless their columns do.
        `beside` is a sentence on other rows.
        """
        if not self._errors:
            return
        messages = [error.message for error in self._errors[:_MOST_UNKNOWN]]
        if more := len(self._errors) - len(messages):
            messages.append(f"and {more} more.")
        messages += [beside] if beside else []
        remedies = [one for error in self._errors for one in error.remedies]
        raise DataFileError("\n".join(messages), [self._wider(judges, judge_column), *remedies])

    def _wider(self, judges: Collection[str], judge_column: str) -> str:
        """Return what to write where scores are off the scale; "" where none may be on a wider one.

        Where only some of the judges, or labels alone, have such scores, they may be of another.
        """
        if self._scale is None:
            return ""
        ends = (self._scale.lowest, self._scale.highest)
        of = {
            of_label: dict.fromkeys(
                error.who
                for error in self._errors
                if error.of_label is of_label and wider_scale(ends, [error.value])
            )
            for of_label in (False, True)
        }
        values = [error.value for error in self._errors]
        if set(judges) <= set(of[False]) if of[False] else not of[True]:
            return wider_scale(ends, values)
        only = ""
        if of[False] and judge_column:
            only = f" with `only: {{{judge_column}: [{', '.join(of[False])}]}}`"
        who = [*of[False], *of[True]]
        how = (
            f"read each by a mapping of its own{only}"
            if of[False]
            else "bring these labels to that of judges, or say in `truths` which stage each is"
        )
        return (
            f"Only {first_of(who)} {'have' if who[1:] else 'has'} scores off the scale. If that is "
            f"another scale, {how}: figures over two scales are of none. "
            f"{wider_scale(ends, values, 'the scale of all')}"
        )
