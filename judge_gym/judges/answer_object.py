"""The JSON object of an answer: the last one that is the judge's own, read without a guess."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from judge_gym.answers.assertion import DOUBTS, Quotations, unasserted, withdrawn
from judge_gym.answers.conclusion import contradiction
from judge_gym.answers.json_object import JsonObject, find_json_objects
from judge_gym.answers.verdict import ParseFailure
from judge_gym.questions.outcome import NoAnswer, readable, unreadable
from judge_gym.records.calls import Answer, Failure
from judge_gym.records.judgements import MalformedAnswer

V = TypeVar("V")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_REASONS = {"reason", "reasons", "reasoning", "explanation", "rationale", "feedback", "comment"}
_MOST_BEFORE = 50
"""Most objects before the last one that are compared with it."""
_MOST_NAMED = 3


def read_own(
    outcome: Answer | Failure, shown: Sequence[str], read: Callable[[dict[str, Any]], V]
) -> V | NoAnswer:
    """Return what `read` makes of the `own_object` of an outcome; raises `MalformedAnswer`."""
    answer = readable(outcome)
    if isinstance(answer, NoAnswer):
        return answer
    fields = own_object(answer.text, shown)
    if isinstance(fields, ParseFailure):
        raise MalformedAnswer(unreadable(answer, fields.reason, fields.detail))
    try:
        return read(fields)
    except MalformedAnswer as unfit:
        raise MalformedAnswer(unreadable(answer, "out_of_form", str(unfit))) from None


def own_object(answer: str, shown: Sequence[str]) -> dict[str, Any] | ParseFailure:
    """Return the last object that does not stand in the texts shown, or why there is none.

    One that is denied, attributed to somebody else, one of several or taken back is none, and
    neither is one that says something else than an object before it, without being the answer's
    conclusion. One that says something twice, or loses a word or a number when it is mended
    (`{"winner": 1 or 2}`), would have to be guessed.
    """
    if not answer.strip():
        return ParseFailure("empty", "the answer is empty")
    held = Quotations(tuple(shown))
    quoted: ParseFailure | None = None
    candidates = find_json_objects(answer)
    for candidate in candidates:
        if isinstance(candidate, ParseFailure):
            return quoted or candidate
        if held.contain(answer, candidate.span):
            quoted = ParseFailure(
                "quoted", "the object is the text's, not the judge's", candidate.span
            )
            continue
        start, end = candidate.span
        doubt = unasserted(answer, start, strict=False) or withdrawn(answer[end:])
        if doubt:
            return ParseFailure(doubt, DOUBTS[doubt], candidate.span)
        if changed := _changed_by_mending(answer[slice(*candidate.span)], candidate):
            detail = f"{candidate.fault}; mending it would change {changed}"
            return ParseFailure("malformed_json", detail, candidate.span)
        before = _other_before(answer, held, candidate, candidates)
        if contradicted := contradiction(answer, before, candidate.span):
            return replace(contradicted, span=candidate.span)
        return candidate.value
    return quoted or ParseFailure("no_json", "the answer has no JSON object")


def _other_before(
    answer: str, held: Quotations, last: JsonObject, above: Iterable[JsonObject | ParseFailure]
) -> tuple[int, int] | None:
    """Return where an object above is asserted that says something else than the last one."""
    for one in islice(above, _MOST_BEFORE):
        if isinstance(one, ParseFailure):
            return None
        if (
            _says_otherwise(one.value, last.value)
            and not held.contain(answer, one.span)
            and unasserted(answer, one.span[0], strict=False) is None
        ):
            return one.span
    return None


def _says_otherwise(one: Any, other: Any) -> bool:
    """Return whether two values of a key differ; reasons may."""
    if isinstance(one, dict) and isinstance(other, dict):
        shared = [key for key in one.keys() & other.keys() if key.strip().lower() not in _REASONS]
        return any(_says_otherwise(one[key], other[key]) for key in shared)
    return bool(one != other)


def _changed_by_mending(written: str, parsed: JsonObject) -> str:
    """Return the words that a mended object has more or less of than the written one."""
    if not parsed.fault:
        return ""
    before, after = _words(written), _words(json.dumps(parsed.value, ensure_ascii=False))
    return ", ".join(map(repr, list((before - after) + (after - before))[:_MOST_NAMED]))


def _words(text: str) -> Counter[str]:
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else " ", text)
    return Counter(re.findall(r"\w+", plain.lower()))
