"""Text in a dialect of JSON → JSON, without a guess.

Models write comments, trailing commas, Python's `None` and single quotes, digits of other scripts,
and LaTeX in a string without doubling its backslashes. Each has one meaning. Anything else is left
as it is, so that the JSON reader refuses it.
"""

import json
import re
import unicodedata

_TOKEN = re.compile(
    r'(?P<double>"(?:[^"\\]|\\.)*")'
    r"|(?P<single>'(?:[^'\\]|\\.)*')"
    r"|(?P<comment>//[^\n]*|\#[^\n]*|/\*.*?\*/)"
    r"|(?P<comma>,)"
    r"|(?P<close>[}\]])"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<digits>\d+)"
    r"|(?P<space>\s+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_WORDS = {"None": "null", "True": "true", "False": "false"}
# In a string that JSON refuses, \b and \f begin \beta and \frac rather than control characters.
_BACKSLASH = re.compile(r'\\(u[0-9a-fA-F]{4}|u|["\\/nrt]|.)', re.DOTALL)
_KEPT = ('"', "\\", "/", "n", "r", "t")


def as_json(text: str) -> str:
    """Return a text in such a dialect as JSON; a text in none of them stays none."""
    parts: list[str] = []
    comma = False
    for token in _TOKEN.finditer(text):
        kind, written = token.lastgroup, token.group()
        if kind in ("space", "comment"):
            parts.append(" ")
            continue
        if comma and kind != "close":
            parts.append(",")
        comma = kind == "comma"
        if not comma:
            parts.append(_plain(kind or "", written))
    return "".join(parts)


def _plain(kind: str, written: str) -> str:
    if kind in ("double", "single"):
        return _string(written[1:-1], written[0])
    if kind == "word":
        return _WORDS.get(written, written)
    if kind == "digits":
        return "".join(str(unicodedata.decimal(digit)) for digit in written)
    return written


def _string(inner: str, quote: str) -> str:
    """Return the inside of a string as a string of JSON; backslashes of no escape are text."""

    def escape(match: re.Match[str]) -> str:
        after = match[1]
        if after == quote == "'":
            return "'"
        return match[0] if after in _KEPT or len(after) > 1 else f"\\\\{after}"

    mended = _BACKSLASH.sub(escape, inner)
    if quote == "'":
        mended = re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', mended)
    return json.dumps(json.loads(f'"{mended}"', strict=False))
