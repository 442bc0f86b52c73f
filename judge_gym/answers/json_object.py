"""JSON objects in model answers: fenced, surrounded by prose, slightly broken.

Callers interpret the keys. An object that is cut off is a failure and is not completed: a rubric
without its last stages, or half a list, would be a guess.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from judge_gym.answers.json_dialects import as_json
from judge_gym.answers.text import ParseFailure

JSON_LIMIT = 60_000
"""Longest answer, in characters, that is searched for JSON."""

DEPTH_LIMIT = 64
"""Deepest nesting of braces that is read."""

_STRUCTURE = re.compile(r'[{}"\n]|\\.')
_ESCAPED_END = re.compile(r"""[^\\]\\"\s*[,}\]]""")
_ARRAY_END = re.compile(r"\s*\]")
_KEY_OPENING = re.compile(r"""\{\s*["'“‘]""")


@dataclass(frozen=True)
class JsonObject:
    """An object and its character offsets in the answer."""

    value: dict[str, Any]
    span: tuple[int, int]
    fault: str = ""
    """Why it is not JSON, where its syntax was repaired by a guess; "" where it has one meaning."""


@dataclass(frozen=True)
class _Braces:
    """Outermost balanced {...} as (start, end, depth), and the offsets of unclosed braces."""

    balanced: list[tuple[int, int, int]]
    open: list[int]


def read_json_object(answer: str) -> dict[str, Any] | ParseFailure:
    """Return the last JSON object; small defects such as trailing commas are repaired."""
    result = next(find_json_objects(answer))
    return result.value if isinstance(result, JsonObject) else result


def find_json_objects(answer: str) -> Iterator[JsonObject | ParseFailure]:
    """Yield the outermost JSON objects of an answer, the last one first.

    A failure ends the search. At least one object or failure is yielded.
    """
    if len(answer) > JSON_LIMIT:
        detail = f"{len(answer)} characters, and at most {JSON_LIMIT} are read"
        yield ParseFailure("too_long", detail)
        return
    braces = _match_braces(answer, string_end=None)
    if braces.open:
        # A stray quotation mark hides the braces after it; here only up to the end of its line.
        by_line = _match_braces(answer, string_end="\n")
        braces = min(braces, by_line, key=lambda b: (len(b.open), -len(b.balanced)))
    cut_off = [start for start in braces.open if _KEY_OPENING.match(answer, start)]
    if cut_off:
        span = (cut_off[-1], len(answer))
        yield ParseFailure("malformed_json", _cut_off(answer[slice(*span)]), span)
        return
    objects = [extent for extent in reversed(braces.balanced) if ":" in answer[slice(*extent[:2])]]
    if not objects:
        yield ParseFailure("no_json", "the answer has no JSON object")
    for start, end, depth in objects:
        result = _read_object(answer, start, end, depth)
        yield result
        if isinstance(result, ParseFailure):
            return


def _cut_off(written: str) -> str:
    if _ESCAPED_END.search(written):
        return "the object does not end: a backslash stands before the end of a string"
    return "the object is cut off"


def _match_braces(answer: str, string_end: str | None) -> _Braces:
    """Match braces in one pass, except inside strings. `string_end` also ends a string."""
    balanced: list[tuple[int, int, int]] = []
    stack: list[int] = []
    deepest: list[int] = []  # nesting below each open brace
    in_string = False
    for match in _STRUCTURE.finditer(answer):
        sign = match.group()
        if sign == string_end:
            in_string = False
        elif sign == '"' and stack:
            in_string = not in_string
        elif sign == "{" and not in_string:
            stack.append(match.start())
            deepest.append(1)
        elif sign == "}" and not in_string and stack:
            start, depth = stack.pop(), deepest.pop()
            if deepest:
                deepest[-1] = max(deepest[-1], depth + 1)
            while balanced and balanced[-1][0] > start:
                balanced.pop()
            balanced.append((start, match.end(), depth))
    return _Braces(balanced, stack)


def _read_object(answer: str, start: int, end: int, depth: int) -> JsonObject | ParseFailure:
    span = (start, end)
    if depth > DEPTH_LIMIT:
        return ParseFailure("malformed_json", f"nested deeper than {DEPTH_LIMIT}", span)
    if _ARRAY_END.match(answer, end):
        return ParseFailure("malformed_json", "an array where an object was asked for", span)
    fault = ""
    try:
        value = _loaded(answer[start:end])
    except _TwoValuesError as error:
        return ParseFailure("malformed_json", f"the key {error.key[:40]!r} has two values", span)
    except (ValueError, RecursionError) as error:
        value, fault = _repaired(answer[start:end]), _named(error)
    if not isinstance(value, dict) or not value:
        return ParseFailure("malformed_json", fault or "an object without keys", span)
    return JsonObject(value, span, fault)


def _loaded(text: str) -> Any:
    """Return the value of JSON, or of a dialect of one meaning."""
    try:
        return json.loads(text, strict=False, object_pairs_hook=_unambiguous)
    except (ValueError, RecursionError) as error:
        try:
            return json.loads(as_json(text), strict=False, object_pairs_hook=_unambiguous)
        except (ValueError, RecursionError):
            raise error from None


def _named(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at character {error.pos + 1} of the object"
    return f"not JSON: {error}"


class _TwoValuesError(Exception):
    """A key has two values in an object."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    for key, value in pairs:
        # NaN is no second value of itself.
        if values[key] is not value and values[key] != value:
            raise _TwoValuesError(key)
    return values


def _repaired(text: str) -> Any:
    import json_repair  # slow to import, and needed for broken answers only

    try:
        return json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError):  # brackets may nest deeper than braces
        return None
