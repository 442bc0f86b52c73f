"""The judgements that a row holds: decisions, raw answers or counts."""

from collections.abc import Iterator
from functools import lru_cache

from judge_gym.recorded.judged import Given, stages_of, turned
from judge_gym.recorded.mapped_columns import VerdictColumn
from judge_gym.recorded.mapping import Recorded, as_number
from judge_gym.recorded.record import Record

MAX_JUDGEMENTS = 2_000_000
"""Most judgements of one file."""


class Decisions:
    """Reads the judgements of rows by a mapping."""

    def __init__(self, recorded: Recorded, n_stages: int) -> None:
        self._recorded, self._n_stages = recorded, n_stages
        self._left = MAX_JUDGEMENTS
        # Files have the same few decisions in many rows.
        self._choice = lru_cache(maxsize=1 << 12)(recorded.decision)

    def given(self, record: Record, item: str) -> Iterator[Given]:
        """Yield the judgements of a row, on an item."""
        recorded = self._recorded
        swapped = self._swapped(record)
        for column in recorded.verdicts:
            self._count(record, 1)
            yield self._decision(record, item, column, swapped)
        for column in recorded.answers:
            self._count(record, 1)
            answer = record.text(column.column) or None
            where = record.row.where if answer else ""
            yield Given(item, column.reversed is not swapped, answer=answer, where=where)
        for name, choice in recorded.counts.items():
            for _ in range(self._number(record, name)):
                yield Given(item, swapped, stages_of(choice), verdict=name)

    def _swapped(self, record: Record) -> bool:
        """Return whether a row's pair was shown in the other order."""
        column, values = self._recorded.swapped_column, self._recorded.swapped
        if not column:
            return False
        written = record.text(column)
        if written.casefold() in values:
            written = written.casefold()
        if written not in values:
            known = ", ".join(map(repr, values))
            raise record.fault(f"{column} is {written!r}", f"`swapped` has {known}.")
        return values[written]

    def _decision(self, record: Record, item: str, column: VerdictColumn, swapped: bool) -> Given:
        written = record.verdict(column.column)
        reversed_order = column.reversed is not swapped
        behind = (record.text(column.answer) or None) if column.answer else None
        if not written:
            return Given(item, reversed_order, behind=behind)
        choice = self._choice(written)
        if choice is None:
            if self._recorded.unlisted == "unreadable":
                return Given(item, reversed_order, verdict=written, behind=behind)
            raise record.unknown(
                column.column,
                self._recorded.legal("decisions"),
                f"Leave a cell empty for an answer that could "
                "not be read, or give the mapping `unlisted: unreadable` to count all such answers "
                f"as unreadable. For whole answers: `answers: [{column.column}]` in place of "
                'verdicts, and `answer_patterns: ["Score: {verdict}"]`, in their own words.',
            )
        chosen = stages_of(choice)
        if reversed_order and not column.own_order:
            chosen = turned(chosen, self._n_stages)
        preference = _preference(record, column.preference) if column.preference else None
        return Given(
            item, reversed_order, chosen, verdict=written, behind=behind, preference=preference
        )

    def _number(self, record: Record, column: str) -> int:
        written = record.verdict(column)
        if not written.isdecimal():
            raise record.fault(f"{column} is {written!r}", "A count is a whole number.")
        self._count(record, int(written))
        return int(written)

    def _count(self, record: Record, judgements: int) -> None:
        self._left -= judgements
        if self._left < 0:
            raise record.fault(f"more than {MAX_JUDGEMENTS} judgements", "Split the file.")


def _preference(record: Record, column: str) -> float | None:
    """Return a preference in [1, 2]; None where it is empty. Before AlpacaEval 0.2 a tie was 0."""
    if not (written := record.verdict(column)):
        return None
    number = as_number(written)
    if number is None or not (number == 0 or 1 <= number <= 2):
        raise record.fault(f"{column} is {written!r}", "A preference is from 1 to 2.")
    return number or 1.5
