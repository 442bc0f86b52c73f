"""Model answer → `Verdict` or `ParseFailure`. Pure, total, and without guesses.

`parse_verdict` reads the closing `VERDICT:` line of free text, `parse_structured_verdict` the
"verdict" of a JSON object. Both accept exactly what the prompt offered. The last verdict counts. If
it is unreadable, the answer is, and no earlier verdict is used instead. An echo of the prompt's
placeholder, a quotation and the denial of another verdict are skipped. A verdict is letters; their
meaning on a scale is not known here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from judge_gym.answers.assertion import DOUBTS, VerdictSource, quotations, unasserted, withdrawn
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


@dataclass
class _End:
    """State of reading an answer backwards: the verdicts skipped so far."""

    answer: str
    grammar: Grammar
    failure: ParseFailure | None = None
    denied: set[tuple[str, ...]] = field(default_factory=set)

    def settle(
        self, reading: ParsedValue, span: tuple[int, int], doubt: FailureReason | None, after: str
    ) -> Verdict | ParseFailure | None:
        """Return the result of a readable verdict; None if an earlier one may count instead."""
        if doubt in ("denied", "quoted"):
            self.failure = ParseFailure(doubt, DOUBTS[doubt], span)
            if doubt == "denied":
                self.denied.add(reading.letters)
            return None
        if reading.letters in self.denied:
            doubt = "withdrawn"
        doubt = doubt or withdrawn(
            after, frozenset(self.grammar.labels).difference(reading.letters)
        )
        if doubt:
            return ParseFailure(doubt, DOUBTS[doubt], span)
        return Verdict(reading.letters, not reading.letters, span, self.answer[slice(*span)])


def parse_verdict(
    answer: str, grammar: Grammar, evidence: Sequence[str] = ()
) -> Verdict | ParseFailure:
    """Read the last `VERDICT:` line that the answer asserts and does not quote from `evidence`."""
    source = read_answer(answer)
    if not source.text.strip():
        return ParseFailure("empty", "the answer is empty")
    end = _End(answer, grammar)
    evidence_verdicts = quotations(evidence)
    for line in closing_lines(source.text, evidence_verdicts.keyword):
        origin = evidence_verdicts.source_of(source, line)
        if origin is not VerdictSource.OWN:
            echo = ParseFailure("quoted", "the evidence's own words", _extent(source, line))
            if origin is VerdictSource.UNCLEAR:
                return echo
            end.failure = echo
            continue
        try:
            reading = read_value(line.value, grammar)
        except UnreadableValue as unreadable:
            failure = ParseFailure(unreadable.reason, unreadable.detail, _extent(source, line))
            if unreadable.reason == "echo":
                end.failure = failure
            elif not line.is_heading:
                return failure
            continue
        span = source.span(line.keyword.start, reading.end)
        doubt = unasserted(source.text, line.keyword.start)
        settled = end.settle(reading, span, doubt, source.text[reading.end :])
        if settled is not None:
            return settled
    return end.failure or ParseFailure("no_verdict", "the answer has no VERDICT line")


def parse_structured_verdict(
    answer: str, grammar: Grammar, evidence: Sequence[str] = ()
) -> Verdict | ParseFailure:
    """Read the "verdict" of the last JSON object that has one: a string, or a list of strings.

    An object that `evidence` contains is a quotation if the answer has other words, and is skipped.
    """
    if not answer.strip():
        return ParseFailure("empty", "the answer is empty")
    end = _End(answer, grammar)
    evidence_verdicts = quotations(evidence)
    for parsed in find_json_objects(answer):
        if isinstance(parsed, ParseFailure):
            return end.failure or parsed if parsed.reason == "no_json" else parsed
        key = next((key for key in parsed.value if key.strip().lower() == "verdict"), None)
        if key is None:
            continue
        if evidence_verdicts.contain(answer, parsed.span):
            end.failure = ParseFailure("quoted", "the evidence's own words", parsed.span)
            continue
        try:
            reading = _read_field(parsed.value[key], grammar)
            _check_repair(answer, parsed, reading)
        except UnreadableValue as unreadable:
            failure = ParseFailure(unreadable.reason, unreadable.detail, parsed.span)
            if unreadable.reason != "echo":
                return failure
            end.failure = failure
            continue
        doubt = unasserted(answer, parsed.span[0], strict=False)
        settled = end.settle(reading, parsed.span, doubt, _after(answer, parsed, key))
        if settled is not None:
            return settled
    return end.failure or ParseFailure("no_verdict", 'no JSON object has a "verdict"')


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
    if parsed.repaired and not quoted <= set(reading.letters or ("ABSTAIN",)):
        raise UnreadableValue("malformed_json", "broken JSON that quotes further labels")


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
