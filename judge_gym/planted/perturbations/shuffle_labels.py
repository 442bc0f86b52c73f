"""Labels of list items change places, two by two: (A) and (B), 1. and 2.; the items stay."""

import random
import re

from judge_gym.planted.editing import Change, Expectation, swaps

EXPECTATION = Expectation.INVARIANT
NEEDS = "second list item with a letter, or with a number"

_BEFORE, _AFTER = r"^[ \t]*(?:[-*+•][ \t]+)?[(\[]?(?P<label>", r")[.):\]](?=\s)"
_LETTER = re.compile(f"{_BEFORE}[A-Za-z]{_AFTER}", re.MULTILINE)
_NUMBER = re.compile(f"{_BEFORE}[0-9]{{1,3}}{_AFTER}", re.MULTILINE)


def changes(text: str, rng: random.Random) -> list[Change]:
    """Return exchanges of labels within the letters and within the numbers."""
    return [
        exchange
        for kind in (_LETTER, _NUMBER)
        for exchange in swaps(text, [match.span("label") for match in kind.finditer(text)], rng)
    ]
