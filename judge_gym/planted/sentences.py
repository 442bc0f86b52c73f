"""Positions of the sentences of a text: prose, lists, wrapped lines, several scripts.

Paragraphs, list items and headings by rule; their sentences by a library, which knows no markup.
Fenced code has no sentences. Doubtful breaks are not made: two sentences edited as one do less harm
than half a sentence.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from sentencex import get_sentence_boundaries

_FENCE = re.compile(r"^[ \t]*(```|~~~)")
_MARKER = re.compile(r"(?:[ \t]*(?:[-*+•–]|\(?(?:\d{1,3}|[^\W\d_])[.):]|\#{1,6}|>)[ \t]+){1,2}")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_LINE_END = re.compile(r"[^\S\n]*\n?")
_SHORT_LINE = 40
"""A line break after fewer characters is not the wrapping of a paragraph."""
_END = re.compile(r"([.!?…।॥؟۔][\"'”’»)\]]*(?=\s)|[。！？｡][」』”）]*)\s*\Z")
_LONGEST_END = 20
_LETTERS = re.compile(r"\b(?:[^\W\d_]\.){2,}\s+\Z")
_SHORT_WORD = re.compile(r"\b[^\W\d_]{1,4}\.\s+\Z")
_FOLLOWING = re.compile(r"\s*(?=(\S))[\W_]*[^\W_]")
_QUOTE = re.compile(r"“[^“”\n]{1,600}”|\"[^\"\n]{1,600}\"|«[^«»\n]{1,600}»|„[^„“”\n]{1,600}[“”]")
_GERMAN = frozenset(("der", "die", "das", "und", "nicht", "ist", "ein", "eine", "mit", "von"))
_MANY_GERMAN = 0.1


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence `[start, end)` of a text, without the spaces around it.

    `after` is where the next sentence of its block starts, or its own end. The block is its
    paragraph, list item or heading: it starts, with its marker, at `block`, and ends, with its
    line break, at `block_end`.
    """

    start: int
    end: int
    after: int
    block: int
    block_end: int
    heading: bool


@lru_cache(maxsize=64)
def sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of `text` in order; empty for a text without any."""
    parts: list[Sentence] = []
    language = "de" if is_german(text) else "en"
    for start, stop in _blocks(text):
        line_end = _LINE_END.match(text, stop)
        block_end = line_end.end() if line_end else stop
        marker = _MARKER.match(text, start, stop)
        opening = marker.end() if marker else start
        heading = bool(_HEADING.match(text, start, stop))
        spans = list(_split(text, opening, stop, language))
        afters = [first for first, _ in spans[1:]] + [last for _, last in spans[-1:]]
        parts += [
            Sentence(first, last, after, start, block_end, heading)
            for (first, last), after in zip(spans, afters, strict=True)
        ]
    return tuple(parts)


def quotes(text: str) -> list[tuple[int, int]]:
    """Return the quoted passages, marks included, in order; apostrophes do not count as quotes."""
    return [match.span() for match in _QUOTE.finditer(text)]


def is_german(text: str) -> bool:
    """Return whether one word in ten is among the most frequent German words."""
    words = [word.casefold() for word in re.findall(r"[^\W\d_]+", text)]
    return bool(words) and sum(word in _GERMAN for word in words) / len(words) >= _MANY_GERMAN


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield `[start, end)` of each paragraph, list item and heading; nothing within fences."""
    start: int | None = None
    end, fenced, alone = 0, False, False
    for at, line in _lines(text):
        fence = bool(_FENCE.match(line))
        blank = fenced or fence or not line.strip()
        if start is not None and (blank or alone or _MARKER.match(line)):
            yield start, end
            start = None
        fenced ^= fence
        if blank:
            continue
        start = at if start is None else start
        end = at + len(line.rstrip())
        alone = bool(_HEADING.match(line)) or len(line) < _SHORT_LINE
    if start is not None:
        yield start, end


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.splitlines(keepends=True):
        yield at, line
        at += len(line)


def _split(text: str, start: int, stop: int, language: str) -> Iterator[tuple[int, int]]:
    block = text[start:stop]
    quoted = quotes(block)
    ends = [sentence["end_index"] for sentence in get_sentence_boundaries(language, block)]
    breaks = [end for end in ends if _is_break(block, end, quoted)]
    for first, last in pairwise([0, *breaks, len(block)]):
        sentence = block[first:last]
        if sentence.strip():
            yield start + last - len(sentence.lstrip()), start + first + len(sentence.rstrip())


def _is_break(block: str, end: int, quoted: list[tuple[int, int]]) -> bool:
    """Return whether two sentences part at the `end` that the library set.

    Not where no mark ends the one or no word follows, nor after "p.m." or between a short word and
    its number, nor within a quotation: half of it would be left.
    """
    earliest = max(0, end - _LONGEST_END)
    mark = _END.search(block, earliest, end)
    following = _FOLLOWING.match(block, end)
    if mark is None or following is None or following.group(1).islower():
        return False
    if _LETTERS.search(block, earliest, end):
        return False
    if following.group(1).isdecimal() and _SHORT_WORD.search(block, earliest, end):
        return False
    return not any(first < mark.start() and mark.end(1) < last for first, last in quoted)
