"""How likely an answer's tokens made the letter of its verdict. Pure."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from judge_gym.answers.verdict import Verdict

_KEY = re.compile(r"""(?<!\\)["']verdict["']\s*:""", re.IGNORECASE)
_WORD = re.compile("verdict", re.IGNORECASE)


class LikelyToken(Protocol):
    """A token of an answer with the likeliest tokens at its place."""

    @property
    def token(self) -> str: ...
    @property
    def logprob(self) -> float: ...
    @property
    def others(self) -> Sequence[tuple[str, float]]: ...


@dataclass(frozen=True)
class LetterProbability:
    """Probabilities in [0, 1] at the place of a verdict's letter, as the provider gives them.

    They are not rescaled: what is missing to 1 lies on tokens that name no letter, or that the
    provider did not list.
    """

    verdict: float
    """Of the letter that the verdict names."""
    by_letter: Mapping[str, float]
    """Offered letter → its probability, among the listed tokens; with the verdict's own."""


def letter_probability(
    answer: str, verdict: Verdict, offered: Sequence[str], tokens: Sequence[LikelyToken]
) -> LetterProbability | None:
    """Return how likely the tokens made the letter of this verdict, and the other letters.

    None without tokens, for a verdict that is not one letter, and where the letter is not a token
    of its own. Tokens are aligned with `answer` from its end: it may lack their beginning, which
    can be thinking.
    """
    if len(verdict.letters) != 1:
        return None
    (letter,) = verdict.letters
    place = _place(answer, verdict, letter)
    token = None if place is None else _token_at(answer, place, tokens)
    if token is None or _letter_of(token.token) != letter.upper():
        return None
    by_letter: dict[str, float] = {}
    for text, logprob in _alternatives(token):
        name = _letter_of(text)
        if name is not None and name in offered:
            by_letter[name] = by_letter.get(name, 0.0) + math.exp(min(0.0, logprob))
    chances = {name: min(1.0, chance) for name, chance in sorted(by_letter.items())}
    return LetterProbability(chances[letter], chances) if letter in chances else None


def _place(answer: str, verdict: Verdict, letter: str) -> int | None:
    """Return where the verdict's letter stands in the answer: alone, after the keyword."""
    start, end = verdict.span
    keywords = [*_KEY.finditer(answer, start, end)] or [*_WORD.finditer(answer, start, end)]
    if not keywords:
        return None
    alone = re.compile(rf"(?<![A-Za-z]){letter}(?![A-Za-z])", re.IGNORECASE)
    found = alone.search(answer, keywords[-1].end(), end)
    return found.start() if found else None


def _token_at(answer: str, place: int, tokens: Sequence[LikelyToken]) -> LikelyToken | None:
    tail = answer[place:].rstrip()
    whole = "".join(token.token for token in tokens).rstrip()
    if not whole.endswith(tail):
        return None
    left = len(whole) - len(tail)
    for token in tokens:
        if left < len(token.token):
            return token
        left -= len(token.token)
    return None


def _alternatives(token: LikelyToken) -> Iterator[tuple[str, float]]:
    """Yield the tokens at a place with their log probabilities, each once."""
    yield token.token, token.logprob
    yield from ((text, logprob) for text, logprob in token.others if text != token.token)


def _letter_of(token: str) -> str | None:
    """Return the letter of a token that has one, beside spaces and signs; else None."""
    letters = re.findall(r"[^\W\d_]", token)
    return letters[0].upper() if len(letters) == 1 else None
