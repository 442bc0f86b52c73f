"""Model answer → `Verdict` or `ParseFailure`. Pure, total, and without guesses.

`parse_verdict` reads the closing `VERDICT:` line of free text, `parse_structured_verdict` the
"verdict" of a JSON object. Both accept exactly what the prompt offered. The last verdict counts. If
it is unreadable, or differs from an earlier one without being the answer's conclusion, the answer
is unreadable, and no earlier verdict is used instead. An echo of the prompt's placeholder, a
quotation and the denial of another verdict are skipped. A verdict is letters; their meaning on a
scale is not known here.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from judge_gym.answers.assertion import (
    DOUBTS,
    Quotations,
    VerdictSource,
    quotations,
    unasserted,
    withdrawn,
)
from judge_gym.answers.conclusion import contradiction
from judge_gym.answers.json_object import JsonObject, find_json_objects
from judge_gym.answers.text import (
    AnswerText,
    ClosingLine,
    FailureReason,
    ParseFailure,
    closing_lines,
    read_answer,
    tokenize,
)
from judge_gym.answers.value import Grammar, ParsedValue, UnreadableValue, read_value

__all__ = ["Grammar", "ParseFailure", "Verdict", "parse_structured_verdict", "parse_verdict"]

_QUOTED_LABEL = re.compile(r"""["'“‘]\s*([A-Za-z]|ABSTAIN)\s*["'”’]""")


@dataclass(frozen=True)
class Verdict:
    """The conclusion of a judge.

    `letters` are distinct, in the order of the grammar's labels, and empty when `abstained`.
    `span` holds character offsets in the original answer, `text` the characters between them.
    """

    letters: tuple[str, ...]
    abstained: bool
    span: tuple[int, int]
    text: str


@dataclass(frozen=True)
class _Found:
    """A verdict in an answer, read without its surroundings, and where it stands."""

    reading: ParsedValue | ParseFailure
    span: tuple[int, int]
    """Offsets in the original answer."""
    place: tuple[int, int] = (0, 0)
    """Offsets in the text that was searched."""
    doubt: FailureReason | None = None
    """Why the words before it do not assert it."""
    after: str = ""
    """The text after it."""
    alone: bool = False
    """Whether it begins its line, so that what follows there belongs to it."""
    final: bool = False
    """Whether no earlier verdict may count instead of one that cannot be read."""


_MOST_BEFORE = 50
"""Most verdicts before the last one that are compared with it."""


def _last_verdict(
    answer: str, grammar: Grammar, text: str, found: Iterator[_Found], missing: str
) -> Verdict | ParseFailure:
    """Return the last of the verdicts `found` in a text, which come last first, if it counts."""
    failure = ParseFailure("no_verdict", missing)
    denied: set[tuple[str, ...]] = set()
    for one in found:
        if isinstance(one.reading, ParseFailure):
            failure = one.reading
            if one.final:
                return failure
            continue
        letters = one.reading.letters
        if one.doubt in ("denied", "quoted"):
            failure = ParseFailure(one.doubt, DOUBTS[one.doubt], one.span)
            if one.doubt == "denied":
                denied.add(letters)
            continue
        others = frozenset(grammar.labels).difference(letters)
        doubt = "withdrawn" if letters in denied else one.doubt or withdrawn(one.after, others)
        if doubt:
            return ParseFailure(doubt, DOUBTS[doubt], one.span)
        before = _other_before(letters, found)
        if contradicted := contradiction(text, before, one.place, alone=one.alone):
            return replace(contradicted, span=one.span)
        return Verdict(letters, not letters, one.span, answer[slice(*one.span)])
    return failure


def _other_before(letters: tuple[str, ...], found: Iterator[_Found]) -> tuple[int, int] | None:
    """Return the place of the first verdict found that is asserted and not this one."""
    for one in islice(found, _MOST_BEFORE):
        if isinstance(one.reading, ParseFailure):
            # Braces in prose are no verdict.
            differs = one.final and one.reading.reason not in ("no_json", "malformed_json")
        else:
            differs = not one.doubt and one.reading.letters != letters
        if differs:
            return one.place
    return None


def parse_verdict(
    answer: str, grammar: Grammar, evidence: Sequence[str] = ()
) -> Verdict | ParseFailure:
    """Read the last `VERDICT:` line that the answer asserts and does not quote from `evidence`."""
    source = read_answer(answer)
    if not source.text.strip():
        return ParseFailure("empty", "the answer is empty")
    found = _closing_verdicts(source, grammar, quotations(evidence))
    return _last_verdict(answer, grammar, source.text, found, "the answer has no VERDICT line")


def _closing_verdicts(
    source: AnswerText, grammar: Grammar, evidence: Quotations
) -> Iterator[_Found]:
    """Yield the verdicts of `VERDICT:` lines, the last one first."""
    for line in closing_lines(source.text, evidence.keyword):
        extent = _extent(source, line)
        origin = evidence.source_of(source, line)
        if origin is not VerdictSource.OWN:
            echo = ParseFailure("quoted", "the evidence's own words", extent)
            yield _Found(echo, extent, final=origin is VerdictSource.UNCLEAR)
            continue
        try:
            reading = read_value(line.value, grammar)
        except UnreadableValue as unreadable:
            failure = ParseFailure(unreadable.reason, unreadable.detail, extent)
            is_echo = unreadable.reason == "echo"
            if is_echo or not line.is_heading:
                place = (line.keyword.start, line.keyword.end)
                yield _Found(failure, extent, place, final=not is_echo)
            continue
        yield _Found(
            reading,
            source.span(line.keyword.start, reading.end),
            (line.keyword.start, reading.end),
            unasserted(source.text, line.keyword.start),
            source.text[reading.end :],
            alone=line.starts_line,
        )


def parse_structured_verdict(
    answer: str, grammar: Grammar, evidence: Sequence[str] = ()
) -> Verdict | ParseFailure:
    """Read the "verdict" of the last JSON object that has one: a string, or a list of strings.

    An object that `evidence` contains is a quotation if the answer has other words, and is skipped.
    """
    if not answer.strip():
        return ParseFailure("empty", "the answer is empty")
    found = _verdict_objects(answer, grammar, quotations(evidence))
    return _last_verdict(answer, grammar, answer, found, 'no JSON object has a "verdict"')


def _verdict_objects(answer: str, grammar: Grammar, evidence: Quotations) -> Iterator[_Found]:
    """Yield the verdicts of JSON objects, the last one first."""
    for parsed in find_json_objects(answer):
        if isinstance(parsed, ParseFailure):
            yield _Found(parsed, parsed.span or (0, 0), parsed.span or (0, 0), final=True)
            return
        key = next((key for key in parsed.value if key.strip().lower() == "verdict"), None)
        if key is None:
            continue
        if evidence.contain(answer, parsed.span):
            quoted = ParseFailure("quoted", "the evidence's own words", parsed.span)
            yield _Found(quoted, parsed.span)
            continue
        try:
            reading = _read_field(parsed.value[key], grammar)
            _check_repair(answer, parsed, reading)
        except UnreadableValue as unreadable:
            failure = ParseFailure(unreadable.reason, unreadable.detail, parsed.span)
            final = unreadable.reason != "echo"
            yield _Found(failure, parsed.span, parsed.span, final=final)
            continue
        doubt = unasserted(answer, parsed.span[0], strict=False)
        after = _after(answer, parsed, key)
        yield _Found(reading, parsed.span, parsed.span, doubt, after)


def _extent(source: AnswerText, line: ClosingLine) -> tuple[int, int]:
    last = line.value[-1] if line.value else line.keyword
    return source.span(line.keyword.start, last.end)


def _after(answer: str, parsed: JsonObject, key: str) -> str:
    """Return the text after a verdict: later fields, and what follows the object."""
    keys = list(parsed.value)
    later = (parsed.value[name] for name in keys[keys.index(key) + 1 :])
    return "\n".join(
        [*(field for field in later if isinstance(field, str)), answer[parsed.span[1] :]]
    )


def _check_repair(answer: str, parsed: JsonObject, reading: ParsedValue) -> None:
    """Raise if a repair may have dropped a value, as in `{"verdict": "B", "C"}`."""
    quoted = {m.upper() for m in _QUOTED_LABEL.findall(answer, *parsed.span)}
    if parsed.fault and not quoted <= set(reading.letters or ("ABSTAIN",)):
        raise UnreadableValue("malformed_json", f"{parsed.fault}; it quotes further labels")


def _read_field(value: Any, grammar: Grammar) -> ParsedValue:
    if isinstance(value, str):
        return read_value(tokenize(read_answer(value).text), grammar)
    if not isinstance(value, list):
        raise UnreadableValue("malformed", f'"verdict" is a {type(value).__name__}, not text')
    if not value or not all(isinstance(item, str) for item in value):
        raise UnreadableValue("no_verdict", '"verdict" is a list without letters')
    single = replace(grammar, subset=False)
    readings = [_read_field(item, single) for item in value]
    letters = {letter for reading in readings for letter in reading.letters}
    if letters and not all(reading.letters for reading in readings):
        raise UnreadableValue("conflict", "a label together with ABSTAIN")
    if len(letters) > 1 and not grammar.subset:
        raise UnreadableValue("several_letters", f"one label was asked for, not {sorted(letters)}")
    return ParsedValue(tuple(label for label in grammar.labels if label in letters), end=0)
