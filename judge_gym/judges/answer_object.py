"""The JSON object of an answer: the last one that is the judge's own, read without a guess."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from judge_gym.answers.assertion import DOUBTS, Quotations, unasserted, withdrawn
from judge_gym.answers.json_object import JsonObject, find_json_objects
from judge_gym.answers.verdict import ParseFailure

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


def own_object(answer: str, shown: Sequence[str]) -> dict[str, Any] | ParseFailure:
    """Return the last object that does not stand in the texts shown, or why there is none.

    One that is denied, attributed to somebody else, one of several or taken back is none. One that
    says something twice, or loses a word or a number when it is mended
    (`{"winner": 1 or 2}`), would have to be guessed.
    """
    if not answer.strip():
        return ParseFailure("empty", "the answer is empty")
    held = Quotations(tuple(shown))
    quoted: ParseFailure | None = None
    for candidate in find_json_objects(answer):
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
        if _is_ambiguous(answer[slice(*candidate.span)], candidate):
            return ParseFailure(
                "malformed_json", "the object can be read in two ways", candidate.span
            )
        return candidate.value
    return quoted or ParseFailure("no_json", "the answer has no JSON object")


def _is_ambiguous(written: str, parsed: JsonObject) -> bool:
    return parsed.repaired and _words(written) != _words(
        json.dumps(parsed.value, ensure_ascii=False)
    )


def _words(text: str) -> Counter[str]:
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else " ", text)
    return Counter(re.findall(r"\w+", plain.lower()))
