"""How numbers, intervals, p values, shares, money and texts of others are written everywhere."""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

ABSENT = "–"
"""Stands for a number that is not there."""
UNSHOWN = "\ufffd"
"""Stands for a character that would turn or control what is shown."""
# Embeddings, overrides and isolates of the direction of writing, and controls but tabs and line
# ends. Marks and joiners stay: Arabic, Hebrew, Persian and emoji need them.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SMALLEST_P = 0.001
_EXACT_P = 0.1


FORMULA = r"'*[ \t\n\v\f\r]*[=+\-@\t\r]"
"""How a cell begins that a spreadsheet computes instead of showing it (OWASP, CSV injection), also
behind white space, and one that was made safe already; PostgreSQL and Arrow read it alike."""
NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""A number, which is no formula."""
_FORMULA, _NUMBER = re.compile(FORMULA), re.compile(NUMBER)


def cell(value: Any) -> Any:
    """Return a value of a CSV file: text that a spreadsheet would compute after an apostrophe.

    `text_of_cell` returns it as it was. Numbers, also as text, and other values are unchanged.
    """
    computed = isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if computed else value


def text_of_cell(text: str) -> str:
    """Return a text that was written by `cell`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


_ZERO = 1e-9
"""What a sum of numbers that is 0 may be."""


class Interval(Protocol):
    """What has a value with a 95% interval, such as an `Estimate` or a stored row."""

    @property
    def estimate(self) -> float | None: ...
    @property
    def lower(self) -> float | None: ...
    @property
    def upper(self) -> float | None: ...


def side_of_0(figure: Interval) -> int:
    """Return 1 and -1 where the interval lies above and below 0, else 0."""
    if figure.lower is None or figure.upper is None:
        return 0
    return int(figure.lower > 0) - int(figure.upper < 0)


class Reasoned(Interval, Protocol):
    """A figure that has a reason where it has no value or interval."""

    @property
    def reason(self) -> str: ...


def visible(text: str) -> str:
    """Return text with `UNSHOWN` for what would reverse the text around it or drive a terminal."""
    return _TURNING.sub(UNSHOWN, text)


def number(value: float | None, digits: int = 2) -> str:
    """Return a number with this many decimals, a dash when there is none; never "-0.00"."""
    if value is None:
        return ABSENT
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def span(values: Collection[float]) -> str:
    """Return the lowest and the highest of values, or the one that they are; a dash without any."""
    if not values:
        return ABSENT
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def span_of(rows: Iterable[Interval]) -> str:
    """Return the span of the values of rows or estimates; a dash where none has one."""
    return span(estimates(rows))


def estimates(rows: Iterable[Interval]) -> list[float]:
    """Return the values of the rows or estimates that have one."""
    return [row.estimate for row in rows if row.estimate is not None]


def short(value: float, digits: int = 3) -> str:
    """Return a number of any size to three significant digits: `0.0123`, `12.3`, `1.23e+04`."""
    return f"{value:.{digits}g}"


def plain(value: float) -> str:
    """Return a number that was given, such as a setting, as it was given: `0.5`, `20`."""
    return f"{value:g}"


def ranged(
    value: float | None,
    lower: float | None,
    upper: float | None,
    digits: int = 2,
    *,
    significant: bool = False,
) -> str:
    """Return `0.31 [0.22, 0.40]`, the bare number without an interval, or a dash.

    Where `digits` are `significant`, small values keep them: `0.0012 [0.00044, 0.0031]`. An end
    that decides on which side of 0 the interval lies is not rounded to 0: `0.10 [0.003, 0.21]`.
    """
    texts = [
        short(one, digits) if significant and one is not None else number(one, digits)
        for one in (value, lower, upper)
    ]
    for place, end in ((1, lower), (2, upper)):
        one_side = lower is not None and upper is not None and (lower > 0 or upper < 0)
        if end and abs(end) > _ZERO and one_side and float(texts[place]) == 0:
            texts[place] = number(end, -math.floor(math.log10(abs(end))))
    at, low, high = texts
    return at if lower is None else f"{at} [{low}, {high}]"


def figure(row: Interval, digits: int = 2, *, significant: bool = False) -> str:
    """Return the value of a row or estimate with its interval, as `ranged` does.

    Where the interval is of the total error, that over items alone follows.
    """
    text = ranged(row.estimate, row.lower, row.upper, digits, significant=significant)
    low, high = getattr(row, "items_lower", None), getattr(row, "items_upper", None)
    if low is None:
        return text
    return f"{text}, items only [{number(low, digits)}, {number(high, digits)}]"


def figure_or_reason(found: Reasoned) -> str:
    """Return a value with its interval, or with the reason why there is none, or that alone."""
    if found.lower is not None:
        return figure(found)
    return found.reason if found.estimate is None else f"{number(found.estimate)} ({found.reason})"


def figures_text(rows: Sequence[Interval], digits: int = 2) -> str:
    """Return the figure of one row with its interval, of several the span of their values."""
    return figure(rows[0], digits) if len(rows) == 1 else span_of(rows)


def percent(value: float | None, digits: int = 0) -> str:
    """Return a share from 0 to 1 in percent: `35%`."""
    return ABSENT if value is None else f"{value:.{digits}%}"


def p_value(p: float | None) -> str:
    """Return p with two decimals, three below 0.1, `<0.001` below that, or a dash."""
    if p is None:
        return ABSENT
    if p < _SMALLEST_P:
        return f"<{_SMALLEST_P}"
    return f"{p:.3f}" if p < _EXACT_P else f"{p:.2f}"


def dollars(cost: float | None) -> str:
    """Return a cost in US dollars to three digits; "unknown" for NaN and None, never 0 for that."""
    if cost is None or math.isnan(cost):
        return "unknown"
    return short(cost) if cost < 1000 else f"{cost:,.0f}"


def duration(seconds: float) -> str:
    """Return a time in the unit that fits it: `12 s`, `3 min`, `1.5 h`."""
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s" if seconds else "0 s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
