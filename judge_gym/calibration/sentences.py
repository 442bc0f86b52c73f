"""Where the sentences of a text stand: prose, lists, wrapped lines, several scripts.

By rule, for texts nobody has marked up. Fenced code is no prose and has no sentences. A break in
doubt is not made: two sentences taken for one are edited together, half a sentence makes no sense.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

_FENCE = re.compile(r"^[ \t]*(```|~~~)")
_MARKER = re.compile(r"(?:[ \t]*(?:[-*+•–]|\(?(?:\d{1,3}|[^\W\d_])[.):]|\#{1,6}|>)[ \t]+){1,2}")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_LINE_END = re.compile(r"[^\S\n]*\n?")
_SHORT_LINE = 40
"""A line break after fewer characters is not the wrapping of a paragraph."""
_CLOSERS = "\"'”’»)\\]"
_END = re.compile(rf"[.!?…]+[{_CLOSERS}]*\s+|[。！？｡][」』”）]*")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«„]{1,20}\Z")
_LETTERS_AND_DOTS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_QUOTE = re.compile(r"“[^“”\n]{1,600}”|\"[^\"\n]{1,600}\"|«[^«»\n]{1,600}»|„[^„“”\n]{1,600}[“”]")
_TITLES = frozenset(
    (
        "Dr", "Mr", "Mrs", "Ms", "Prof", "St", "Gen", "Col", "Lt", "Sgt", "Capt", "Rep", "Sen",
        "Gov", "Hon", "Rev", "Sr", "Sra", "Srta", "Dra", "Mme", "Mlle", "M",
    )
)  # fmt: skip
_SHORTENED = frozenset(("vs", "cf", "ca", "approx", "resp", "bzw", "vgl", "hrsg"))
_BEFORE_NUMBERS = frozenset(
    (
        "no", "nos", "nr", "fig", "figs", "eq", "eqs", "vol", "pp", "p", "art", "sec", "ch",
        "abb", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "sep", "oct", "nov", "dec",
    )
)  # fmt: skip
_GERMAN_MONTHS = frozenset(
    (
        "januar", "jänner", "februar", "märz", "april", "mai", "juni", "juli", "august",
        "september", "oktober", "november", "dezember",
    )
)  # fmt: skip


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
    found = []
    for start, stop in _blocks(text):
        line_end = _LINE_END.match(text, stop)
        block_end = line_end.end() if line_end else stop
        marker = _MARKER.match(text, start, stop)
        opening = marker.end() if marker else start
        heading = bool(_HEADING.match(text, start, stop))
        spans = list(_split(text, opening, stop))
        afters = [first for first, _ in spans[1:]] + [last for _, last in spans[-1:]]
        found += [
            Sentence(first, last, after, start, block_end, heading)
            for (first, last), after in zip(spans, afters, strict=True)
        ]
    return tuple(found)


def quotes(text: str) -> list[tuple[int, int]]:
    """Return the quoted passages, marks included, in order; apostrophes quote nothing."""
    return [match.span() for match in _QUOTE.finditer(text)]


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


def _split(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    quoted = [(start + a, start + b) for a, b in quotes(text[start:stop])]
    breaks = [
        match.end()
        for match in _END.finditer(text, start, stop)
        if _ends(text, match, quoted) and match.end() < stop
    ]
    for first, last in pairwise([start, *breaks, stop]):
        sentence = text[first:last]
        if sentence.strip():
            yield first + len(sentence) - len(sentence.lstrip()), first + len(sentence.rstrip())


def _ends(text: str, match: re.Match[str], quoted: list[tuple[int, int]]) -> bool:
    mark = match.start()
    if any(first < mark and match.start() + len(match.group().rstrip()) < last
           for first, last in quoted):  # fmt: skip
        return False
    following = text[match.end() : match.end() + 1]
    if following.islower():
        return False
    if text[mark] != "." or match.group().startswith(".."):
        return True
    return not _abbreviated(text, mark, match.end())


def _abbreviated(text: str, dot: int, following: int) -> bool:
    """Return whether the full stop at `dot` belongs to the word before it."""
    found = _LAST_WORD.search(text, max(0, dot - 20), dot)
    word = found.group() if found else ""
    after = text[following : following + 20]
    if word.isdecimal() and len(word) <= 2:
        return after.split(" ")[0].casefold() in _GERMAN_MONTHS
    if word.casefold() in _BEFORE_NUMBERS and after[:1].isdecimal():
        return True
    initial = len(word) == 1 and word.isupper() and word != "I"
    dotted = bool(_LETTERS_AND_DOTS.fullmatch(word))
    return initial or dotted or word in _TITLES or word.casefold() in _SHORTENED
