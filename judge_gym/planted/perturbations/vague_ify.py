"""Numbers and names become vague words, so that nothing can be checked."""

import random
import re

from judge_gym.planted.editing import Change, Edit, Expectation
from judge_gym.planted.mentions import names, numbers
from judge_gym.planted.sentences import sentences

EXPECTATION = Expectation.DROP
NEEDS = "number or name"

_PLACE = re.compile(r"\b(?:in|at|near)\s+(?:the\s+)?$")
_DATED = re.compile(r"\b(?:in|since|by|until|of|[A-Z][a-z]{2,8})\s+$")
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")


def changes(text: str, rng: random.Random) -> list[Change]:
    """Return the replacement of each number and name by a word of the same kind."""
    openings = {one.start for one in sentences(text)}
    vague = [(span, _number(text, *span)) for span in numbers(text)]
    vague += [(span, _name(text, *span)) for span in names(text)]
    return [
        (Edit(first, last, word.capitalize() if first in openings else word),)
        for (first, last), word in vague
    ]


def _number(text: str, first: int, last: int) -> str:
    number = text[first:last]
    if number.endswith("%"):
        return "some share"
    if not number[0].isalnum():
        return "some amount"
    if _YEAR.fullmatch(number) and _DATED.search(text, max(0, first - 12), first):
        return "some year"
    return "some"


def _name(text: str, first: int, last: int) -> str:
    return "a certain place" if _PLACE.search(text, max(0, first - 16), first) else "someone"
