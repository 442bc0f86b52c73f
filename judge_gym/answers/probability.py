"""Probe answer → `Probability` or `ParseFailure`: a strict number grammar without a default.

The closing `PROBABILITY:` line counts. Without one the whole answer must be the number.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from judge_gym.answers.conclusion import contradiction
from judge_gym.answers.text import AnswerText, ClosingLine, ParseFailure, closing_lines, read_answer

__all__ = ["ParseFailure", "Probability", "parse_probability"]


@dataclass(frozen=True)
class Probability:
    """`value` in [0, 1], with its offsets in the original answer and the text there."""

    value: float
    span: tuple[int, int]
    text: str


_NUMBER = re.compile(
    r"(?P<sign>-)?"
    r"(?:(?P<over>[0-9]{1,12})\s?/\s?(?P<under>[0-9]{1,12})"
    r"|(?P<decimal>[0-9]{1,12}(?:[.,][0-9]{1,18})?|[.,][0-9]{1,18})(?:\s?(?P<percent>%))?)"
)
_THOUSANDS = re.compile(r"[1-9][0-9]*,[0-9]{3}")
_DECORATION = "*_`\"'()[]{}<>#$\\ \t\n"
# A remark may follow, but not one with digits of its own: "0.3 to 0.5" is not 0.3.
_REMARK = re.compile(r"[*_`\"')\]}>$\\]*(?:\.?\s*|\s+[(\[—-][^0-9%]*|[,;]\s[^0-9%]*)")
_END = re.compile(r"[*_`\"')\]}>$\\]*\.?\s*")
_MOST_BEFORE = 50
"""Most lines before the last one that are compared with it."""
_ANYTHING = re.compile(r".*", re.DOTALL)
_PLACEHOLDER = re.compile(r"[*_`\s]*[<\[{(][^0-9]*[a-zA-Z]")


def parse_probability(answer: str) -> Probability | ParseFailure:
    """Read 0.35, .35, 35%, 35 %, 1/3 or 0,35 from the last `PROBABILITY:` line.

    An answer whose last line differs from an earlier one without being its conclusion is
    unreadable, as it is for a verdict.
    """
    source = read_answer(answer)
    if not source.text.strip():
        return ParseFailure("empty", "the answer is empty")
    lines = _lines(source)
    for line in lines:
        result = _read_number(answer, source, _value_extent(line), _REMARK)
        if isinstance(result, Probability):
            above = islice(lines, _MOST_BEFORE)
            before = next((one for one in above if _differs(answer, source, one, result)), None)
            at = (before.keyword.start, before.keyword.end) if before else None
            place = (line.keyword.start, line.value[-1].end)
            if contradicted := contradiction(source.text, at, place, alone=line.starts_line):
                return replace(contradicted, span=result.span)
            return result
        if not line.is_heading:
            return result
    return _read_number(answer, source, (0, len(source.text)), _END)


def _lines(source: AnswerText) -> Iterator[ClosingLine]:
    """Yield the `PROBABILITY:` lines that do not repeat the prompt's, the last one first."""
    for line in closing_lines(source.text, "PROBABILITY"):
        if not _PLACEHOLDER.match(source.text, *_value_extent(line)):
            yield line


def _differs(answer: str, source: AnswerText, line: ClosingLine, last: Probability) -> bool:
    """Return whether a line begins with another number than the last one has."""
    number = _read_number(answer, source, _value_extent(line), _ANYTHING)
    return isinstance(number, Probability) and number.value != last.value


def _value_extent(line: ClosingLine) -> tuple[int, int]:
    if not line.value:
        return line.keyword.end, line.keyword.end
    return line.value[0].start, line.value[-1].end


def _read_number(
    answer: str, source: AnswerText, extent: tuple[int, int], rest: re.Pattern[str]
) -> Probability | ParseFailure:
    text, (start, end) = source.text, extent
    while start < end and text[start] in _DECORATION:
        start += 1
    if start == end:
        return ParseFailure("no_number", "no number follows")
    span = source.span(start, end)
    number = _NUMBER.match(text, start, end)
    if number is None or not rest.fullmatch(text, number.end(), end):
        if rest is not _END:
            return ParseFailure("malformed", "the line is not a single plain number", span)
        return ParseFailure("no_number", "no PROBABILITY line, and the answer is not a number")
    if _THOUSANDS.fullmatch(number["decimal"] or ""):
        return ParseFailure("malformed", "a comma that may separate thousands", span)
    value = _value(number)
    if value is None:
        return ParseFailure("malformed", "a fraction of zero", span)
    if value > 1 or (number["sign"] and value > 0):
        return ParseFailure("out_of_range", f"{number.group()} is not between 0 and 1", span)
    span = source.span(number.start(), number.end())
    return Probability(value, span, answer[slice(*span)])


def _value(number: re.Match[str]) -> float | None:
    """Return the number without its sign; None for a division by zero."""
    if number["over"] is not None:
        under = int(number["under"])
        return int(number["over"]) / under if under else None
    value = float(number["decimal"].replace(",", "."))
    return value / 100 if number["percent"] else value
