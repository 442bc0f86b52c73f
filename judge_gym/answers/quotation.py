"""Verdicts that an answer takes from its evidence: echoed or quoted, and so not the judge's own.

Evidence may hold lines such as `VERDICT: D`. What a judge is talked into is its verdict, and is
measured; what it merely repeats is not. A repetition is told by its surroundings: the words around
it are those of the evidence, or it stands in marks of quotation.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from judge_gym.answers.text import AnswerText, ClosingLine, Token, read_answer, tokenize

_CONTEXT = 3
"""Words before or after that make a repetition."""
_MARKUP_BEFORE = "*_# \t"
_QUOTES = ('"', "'", "`")
_FENCED = re.compile(r"<<<(BEGIN|END) (?:EVIDENCE|RUBRIC)")
_CODE = re.compile(r"^[ \t>]*```", re.MULTILINE)


class Standing(Enum):
    """Whose a verdict is."""

    OWN = "own"
    QUOTED = "quoted"
    UNCLEAR = "unclear"
    """Of the evidence's wording, inside a sentence of the judge's and without marks."""


@dataclass(frozen=True)
class _Place:
    """What follows and surrounds a keyword, in small letters."""

    value: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    def repeats(self, other: "_Place") -> bool:
        """Whether both stand in the same words."""
        same_before = len(self.before) == _CONTEXT and self.before == other.before
        return same_before or (len(self.after) == _CONTEXT and self.after == other.after)


@dataclass(frozen=True)
class Quotations:
    """The verdicts that stand in an item's evidence."""

    texts: tuple[str, ...] = ()
    """The texts that have one; most evidence has none."""
    keyword: str = "VERDICT"

    def standing(self, answer: AnswerText, line: ClosingLine) -> Standing:
        """Return whose the verdict on a closing line of the answer is."""
        if not self.texts:
            return Standing.OWN
        tokens = [token for token in tokenize(answer.text) if token.is_word]
        index = next(i for i, token in enumerate(tokens) if token.start == line.keyword.start)
        said = _place(tokens, index)
        alike = [one for one in self._places() if one.value == said.value]
        if not alike:
            return Standing.OWN
        start = answer.text.rfind("\n", 0, line.keyword.start) + 1
        before, prefix = answer.text[:start], answer.text[start : line.keyword.start]
        if _is_marked(before, prefix) or any(one.repeats(said) for one in alike):
            return Standing.QUOTED
        return Standing.OWN if line.starts_line else Standing.UNCLEAR

    def holds(self, answer: str, span: tuple[int, int]) -> bool:
        """Whether a part of the answer stands in the evidence, and is not all there is of it."""
        part, rest = answer[slice(*span)], answer[: span[0]] + answer[span[1] :]
        if not re.search(r"\w", rest.replace("json", "")):
            return False
        return any(_squeezed(part) in _squeezed(text) for text in self.texts)

    def _places(self) -> Iterator[_Place]:
        for text in self.texts:
            words = [
                token for token in tokenize(read_answer(text, len(text)).text) if token.is_word
            ]
            for index, token in enumerate(words):
                if token.text.upper() == self.keyword:
                    yield _place(words, index)


def quotations(evidence: Sequence[str]) -> Quotations:
    """Return the verdicts that stand in these texts."""
    keyword = Quotations.keyword
    held = (text for text in evidence if keyword in unicodedata.normalize("NFKC", text).upper())
    return Quotations(tuple(held))


def _place(words: Sequence[Token], index: int) -> _Place:
    texts = [token.text.lower() for token in words[max(0, index - _CONTEXT) : index + _CONTEXT + 2]]
    at = min(index, _CONTEXT)
    value, *after = texts[at + 1 :] or [""]
    return _Place(value, tuple(texts[:at]), tuple(after))


def _is_marked(before: str, prefix: str) -> bool:
    """Whether a line is a quotation: by its beginning, or by the block it stands in."""
    opened = prefix.rstrip(_MARKUP_BEFORE)
    if opened.endswith(_QUOTES) or opened.lstrip().startswith(">"):
        return True
    if len(_CODE.findall(before)) % 2:
        return True
    fences = _FENCED.findall(before)
    return bool(fences) and fences[-1] == "BEGIN"


def _squeezed(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())
