"""JSON objects in model answers: fenced, surrounded by prose, slightly broken.

Callers interpret the keys. An object that is cut off is a failure and is not completed: a rubric
without its last stages, or half a list, would be a guess.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from judge_gym.answers.text import ParseFailure

JSON_LIMIT = 60_000
"""Longest answer, in characters, that is searched for JSON."""

DEPTH_LIMIT = 64
"""Deepest nesting of braces that is read."""

_STRUCTURE = re.compile(r'[{}"\n]|\\.')
_ARRAY_END = re.compile(r"\s*\]")
_KEY_OPENING = re.compile(r"""\{\s*["'“‘]""")


@dataclass(frozen=True)
class JsonObject:
    """An object, its character offsets in the answer, and whether its syntax was repaired."""

    value: dict[str, Any]
    span: tuple[int, int]
    repaired: bool


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
        yield ParseFailure("malformed_json", "the object is cut off", (cut_off[-1], len(answer)))
        return
    objects = [extent for extent in reversed(braces.balanced) if ":" in answer[slice(*extent[:2])]]
    if not objects:
        yield ParseFailure("no_json", "the answer has no JSON object")
    for start, end, depth in objects:
        result = _read_object(answer, start, end, depth)
        yield result
        if isinstance(result, ParseFailure):
            return


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
    repaired = False
    try:
        value = json.loads(answer[start:end], strict=False, object_pairs_hook=_unambiguous)
    except _TwoValuesError:
        return ParseFailure("malformed_json", "the object can be read in two ways", span)
    except (ValueError, RecursionError):
        value, repaired = _repaired(answer[start:end]), True
    if not isinstance(value, dict) or not value:
        return ParseFailure("malformed_json", "the object cannot be read as JSON", span)
    return JsonObject(value, span, repaired)


class _TwoValuesError(Exception):
    """A key has two values in an object."""


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    for key, value in pairs:
        # NaN is no second value of itself.
        if values[key] is not value and values[key] != value:
            raise _TwoValuesError
    return values


def _repaired(text: str) -> Any:
    import json_repair  # slow to import, and needed for broken answers only

    try:
        return json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError):  # brackets may nest deeper than braces
        return None
