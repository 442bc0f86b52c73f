"""Mentions in a text that can be checked: numbers, and names of people, places and bodies.

By rule: names are words with a capital where the language would not put one. A language that
capitalises its nouns gives only names of several words, and a script without capitals none.
"""

import re
from collections.abc import Iterator

from judge_gym.planted.sentences import is_german, sentences

Span = tuple[int, int]

NUMBER_WORDS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
    "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred", "thousand",
)  # fmt: skip
_NUMBER = re.compile(
    # Not part of a word, a date, a time, a fraction, a version or an address.
    r"(?<![\w.,:/#@-])[$€£¥]?[0-9]+(?:,[0-9]{3})*(?:[.,][0-9]+)?(?:\s?%)?(?!\w|[.,:/-]\w)"
)
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
_CAPITALS = "".join(filter(str.isupper, map(chr, [*range(0x250), *range(0x370, 0x530)])))
_TITLES = r"(?:Dr|Mr|Mrs|Ms|Prof|St)\."
_TITLE = rf"(?:{_TITLES}[ \n])?"
_WORD = rf"{_TITLE}[{_CAPITALS}][\w’'-]*"
_LINKS = r"(?:(?:of|de|del|la|van|von|bin|al|da|dos) (?:the )?)?"
_NAME = re.compile(rf"(?<![\w@#/.-]){_WORD}(?:[ \n]{_LINKS}{_WORD})*")
# Before a title, or a code such as F2, stands an ordinary word.
_ORDINARY = re.compile(rf"[\w’'-]+[ \n](?={_TITLES}|\w*\d)")
_OPENING = re.compile(r"(?:^|[.!?:…][\"'”’»)\]]*\s+)[\"'“‘«„(\[¿¡*_]*\Z|[\"“‘«„¿¡]\Z")
_ENDING = re.compile(r"['’]s?$|-+$")
_I = re.compile(r"I['’](?:m|d|ll|ve)\b")
_OPENERS = frozenset(
    (
        "the", "a", "an", "this", "that", "these", "those", "it", "its", "he", "she", "they",
        "we", "you", "i", "his", "her", "their", "our", "your", "my", "in", "on", "at", "by",
        "for", "from", "with", "without", "to", "of", "as", "and", "but", "or", "so", "if",
        "when", "while", "where", "after", "before", "since", "until", "although", "because",
        "however", "therefore", "moreover", "thus", "then", "there", "here", "what", "who",
        "how", "why", "which", "both", "each", "every", "some", "many", "most", "all", "no",
        "not", "only", "also", "yes", "please", "note", "first", "second", "third", "next",
        "finally", "today", "yesterday", "tomorrow", "now", "once", "step", "everyone",
        "everybody", "someone", "somebody", "nobody", "anyone", "let", "use", "der", "die",
        "das", "ein", "eine", "le", "les", "el", "los", "las", "un", "une", "una",
    )
)  # fmt: skip
_CALENDAR = frozenset(
    (
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
        "january", "february", "march", "april", "may", "june", "july", "august", "september",
        "october", "november", "december",
    )
)  # fmt: skip


def numbers(text: str) -> list[Span]:
    """Return the numbers of the sentences, in digits and words, with currency and percent sign."""
    spans = []
    for sentence in sentences(text):
        for pattern in (_NUMBER, _NUMBER_WORD):
            spans += [m.span() for m in pattern.finditer(text, sentence.start, sentence.end)]
    return sorted(spans)


def names(text: str) -> list[Span]:
    """Return the names in the sentences, without a possessive ending.

    A single capitalised word that occurs only at the start of sentences counts as an ordinary word.
    """
    nouns_are_capital = is_german(text)
    runs = [run for sentence in sentences(text) if not sentence.heading
            for run in _in_sentence(text, sentence.start, sentence.end)]  # fmt: skip
    known = {word for span, opens in runs if not opens for word in text[slice(*span)].split()}
    return [
        span
        for span, opens in runs
        if len(text[slice(*span)].split()) > 1
        or (not nouns_are_capital and (not opens or text[slice(*span)] in known))
    ]


def _in_sentence(text: str, start: int, end: int) -> Iterator[tuple[Span, bool]]:
    """Yield each capitalised run and whether it opens the sentence or a quotation."""
    for match in _NAME.finditer(text, start, end):
        first, last = match.span()
        opens = bool(_OPENING.search(text[start:first]))
        if _I.match(text, first):
            continue
        word = match.group().split()[0]
        if opens and word.casefold() in _OPENERS:
            first += len(word) + 1
            opens = False
        elif opens and (ordinary := _ORDINARY.match(match.group())):
            first += ordinary.end()
            opens = False
        run = _ENDING.sub("", text[first:last])
        # A word with a possessive ending is a name, also at the start of a sentence.
        opens &= len(run) == last - first
        bare = {part.casefold() for part in run.split()}
        if len(run) > 1 and not bare <= _CALENDAR and not bare <= _OPENERS:
            yield (first, first + len(run)), opens
