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
    held = Quotations(tuple(shown))
    quoted: ParseFailure | None = None
    for found in find_json_objects(answer):
        if isinstance(found, ParseFailure):
            return quoted or found
        if held.contain(answer, found.span):
            quoted = ParseFailure("quoted", "the object is the text's, not the judge's", found.span)
            continue
        start, end = found.span
        doubt = unasserted(answer, start, strict=False) or withdrawn(answer[end:])
        if doubt:
            return ParseFailure(doubt, DOUBTS[doubt], found.span)
        if _is_ambiguous(answer[slice(*found.span)], found):
            return ParseFailure("malformed_json", "the object can be read in two ways", found.span)
        return found.value
    return quoted or ParseFailure("no_json", "the answer has no JSON object")


def _is_ambiguous(written: str, found: JsonObject) -> bool:
    if found.repaired:
        return _words(written) != _words(json.dumps(found.value, ensure_ascii=False))
    twice: list[str] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = Counter(name for name, _ in pairs)
        twice.extend(name for name, count in names.items() if count > 1)
        return dict(pairs)

    json.loads(written, strict=False, object_pairs_hook=keep)
    return bool(twice)


def _words(text: str) -> Counter[str]:
    plain = _ESCAPE.sub(lambda one: chr(int(one[1], 16)) if one[1] else " ", text)
    return Counter(re.findall(r"\w+", plain.lower()))
