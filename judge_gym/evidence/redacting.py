"""Personal data in texts, replaced by markers before anything is stored, sent or shown.

What is replaced is said as a list: `email`, `phone`, `{column}` for what a column of the row holds,
or a regular expression of one's own. It finds what looks like these and no more: a name that no
column has stays.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from typing import Any

from judge_gym.counting import counted
from judge_gym.evidence.columns import ColumnError, ColumnSource, as_text, value_at
from judge_gym.evidence.phone_numbers import FEWEST_DIGITS, PHONE, look_alike

_DOT = r"(?:\.|\s?[(\[]dot[)\]]\s?)"
KINDS = {
    # `@` may be written `(at)`, `[at]` or `%40`, and may have a space around it.
    "email": (
        r"(?i:[\w.!#$%&'*+/=?^`{|}~-]{1,64}(?:\s?@\s?|\s?[(\[]at[)\]]\s?|%40)"
        rf"(?:[^\W_](?:[\w-]{{0,61}}[^\W_])?{_DOT})+[^\W\d_]{{2,63}})"
    ),
    "phone": PHONE,
}
"""Kind → what it looks like; of `phone`, what only looks like it is in named groups."""
_LIKE_A_KEY = re.compile(r"[A-Za-z_]+=")
_ALIKE = 0.75
"""Least similarity of a word to a kind that is taken for a misspelling."""
_COLUMN = re.compile(r"\{([^{}]+)\}")
_SHORTEST = 2
"""Characters of a column's value that is looked for; a letter would be found in every word."""


@dataclass
class Redaction:
    """Replaces what it is told to, and counts it."""

    what: Sequence[str] = ()
    counts: Counter[str] = field(default_factory=Counter)
    """What was replaced → how often."""
    kept: Counter[str] = field(default_factory=Counter)
    """Kind of what looks like a phone number and is none → how often it stayed."""
    rows: int = 0
    """Rows in which something was replaced."""

    def __post_init__(self) -> None:
        """Raise `ValueError` for a pattern that is none."""
        self._patterns: dict[str, re.Pattern[str]] = {}
        for one in self.what:
            if _COLUMN.fullmatch(one):
                continue
            _check_meant(one)
            try:
                pattern = re.compile(KINDS.get(one, one))
            except re.error as error:
                raise ValueError(
                    f"redact has {one!r}, which is no regular expression ({error}); it takes "
                    f"{', '.join(KINDS)}, a column as {{name}}, or a regular expression"
                ) from None
            if pattern.search(""):
                raise ValueError(f"redact has {one!r}, which fits an empty text")
            self._patterns[one] = pattern

    def values(
        self, values: Mapping[str, Any], only: Collection[str] | None = None,
        without: Collection[str] = (),
    ) -> dict[str, Any]:  # fmt: skip
        """Return the values of a row with what is told replaced: of the columns `only`, and not of
        those `without`; in lists and objects, too."""
        if not self.what:
            return dict(values)
        before = self.counts.total()
        looked_for = list(self._looked_for(values))
        chosen = set(values if only is None else only) - set(without)
        found = {
            name: self._replaced(value, looked_for) if name in chosen else value
            for name, value in values.items()
        }
        self.rows += self.counts.total() > before
        return found

    def _looked_for(self, values: Mapping[str, Any]) -> Iterator[tuple[str, re.Pattern[str]]]:
        """Yield what is looked for in a row, in the order it was told: of a column what it holds,
        as a whole word of any case."""
        for one in self.what:
            if not (named := _COLUMN.fullmatch(one)):
                yield one, self._patterns[one]
                continue
            try:
                given = value_at(named[1], ColumnSource(values, {"": ""}))
            except ColumnError:
                continue
            written = as_text(given) if isinstance(given, str | int | float) else ""
            if len(written) >= _SHORTEST:
                yield one, re.compile(rf"(?<!\w){re.escape(written)}(?!\w)", re.IGNORECASE)

    def _replaced(self, value: Any, looked_for: Sequence[tuple[str, re.Pattern[str]]]) -> Any:
        if isinstance(value, Mapping):
            return {name: self._inner(inner, looked_for) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._inner(inner, looked_for) for inner in value]
        if not isinstance(value, str):
            return value
        for name, pattern in looked_for:
            value = pattern.sub(partial(self._shown, name), value)
        return value

    def _inner(self, value: Any, looked_for: Sequence[tuple[str, re.Pattern[str]]]) -> Any:
        """Return a value of a list or an object: a whole number, such as one that a tool was
        called with, is read as a text and stays a number where nothing is found in it."""
        if not isinstance(value, int) or isinstance(value, bool):
            return self._replaced(value, looked_for)
        text = self._replaced(str(value), looked_for)
        return value if text == str(value) else text

    def _shown(self, name: str, found: re.Match[str]) -> str:
        """Return what stands in place of what was found, and count it."""
        if name == "phone" and found.lastgroup:
            if sum(map(str.isdecimal, found[0])) >= FEWEST_DIGITS:
                self.kept[look_alike(found.lastgroup)] += 1
            return found[0]
        self.counts[name] += 1
        return marker(name)

    def said(self) -> str:
        """Return what was replaced and how often, as a sentence; "" where nothing was to be."""
        if not self.what:
            return ""
        kept = ", ".join(f"{kind} ({count:,})" for kind, count in self.kept.most_common())
        rest = f" Not taken for phone numbers, and kept: {kept}." if kept else ""
        if not self.counts:
            return f"Redacted: nothing; no text has {' or '.join(map(_named, self.what))}.{rest}"
        named = ", ".join(f"{_named(name)} ({self.counts[name]:,})" for name in self.what)
        return f"Redacted in {counted(self.rows, 'row')}: {named}.{rest}"


def _check_meant(pattern: str) -> None:
    """Raise `ValueError` for a pattern that is another key, or a misspelt kind."""
    if key := _LIKE_A_KEY.match(pattern):
        raise ValueError(
            f"redact has {pattern!r}, which looks like another key: give each key by itself, as "
            f"{pattern}; a regular expression that begins so is "
            f"{key[0][:-1]}[=]{pattern[key.end() :]}"
        )
    if pattern not in KINDS and (close := get_close_matches(pattern, KINDS, 1, _ALIKE)):
        raise ValueError(
            f"redact has {pattern!r}. Did you mean {close[0]}? It takes {', '.join(KINDS)}, a "
            "column as {name}, or a regular expression"
        )


def _named(what: str) -> str:
    return what if what in KINDS or _COLUMN.fullmatch(what) else f"the expression {what}"


def marker(what: str) -> str:
    """Return what stands in a text in place of what was replaced."""
    named = _COLUMN.fullmatch(what)
    return f"[redacted {named[1] if named else what if what in KINDS else 'pattern'}]"


def split(written: str) -> list[str]:
    """Return a list that is written with commas, but for those inside brackets of a pattern."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(written):
        if written[max(0, place - 1)] == "\\" and place:
            continue
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth <= 0:
            parts.append(written[start:place])
            start = place + 1
    return [part for part in (one.strip() for one in [*parts, written[start:]]) if part]
