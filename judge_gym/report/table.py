"""A table as people see it, and how numbers are written in it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from judge_gym.metrics.estimate import Estimate
from judge_gym.store.results import ResultRow

ABSENT = "–"
_SMALLEST_P = 0.001
_EXACT_P = 0.1


@dataclass(frozen=True)
class Row:
    """One line; rows of the same `heading` stand together under it, "" is no heading."""

    cells: tuple[str, ...]
    heading: str = ""


@dataclass(frozen=True)
class Table:
    """One table: for the terminal and for the page alike.

    The first `words` columns hold words, the others numbers. `methods` say how the figures came
    about. `simulated` and `imported` say whether any row rests on a simulated call, or on a
    judgement made elsewhere: show `marks` with the table. One that is not `brief` is for the page
    alone.
    """

    title: str
    explanation: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    words: int = 1
    simulated: bool = False
    imported: bool = False
    brief: bool = True

    @property
    def marks(self) -> tuple[str, ...]:
        """The words that stand with the table wherever it is shown."""
        return marks_of(self.simulated, self.imported)

    def sections(self) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
        """Yield each heading with the cells of its rows, in order."""
        for heading, rows in groupby(self.rows, key=lambda row: row.heading):
            yield heading, [row.cells for row in rows]


def marks_of(simulated: bool, imported: bool) -> tuple[str, ...]:
    """Return the words for what figures rest on besides real calls, to be shown with them."""
    marks = {"SIMULATED": simulated, "IMPORTED": imported}
    return tuple(word for word, holds in marks.items() if holds)


def number(value: float | None, digits: int = 2) -> str:
    """Return a number with this many decimals, a dash when there is none; never "-0.00"."""
    if value is None:
        return ABSENT
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def counted(count: int, noun: str) -> str:
    """Return `1 call`, `2,000 calls`: a count with its noun, in the plural where it is not one."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def figure(row: ResultRow | Estimate, digits: int = 2) -> str:
    """Return `0.31 [0.22, 0.40]`, the bare number without an interval, or a dash."""
    if row.lower is None:
        return number(row.estimate, digits)
    low, high = number(row.lower, digits), number(row.upper, digits)
    return f"{number(row.estimate, digits)} [{low}, {high}]"


def dollars(cost: float | None) -> str:
    """Return a cost in US dollars to three digits; "unknown" for NaN and None, never 0 for that."""
    return "unknown" if cost is None or math.isnan(cost) else f"{cost:.3g}"


def p_value(p: float | None) -> str:
    """Return p with two decimals, three below 0.1, `<0.001` below that, or a dash."""
    if p is None:
        return ABSENT
    if p < _SMALLEST_P:
        return f"<{_SMALLEST_P}"
    return f"{p:.3f}" if p < _EXACT_P else f"{p:.2f}"
