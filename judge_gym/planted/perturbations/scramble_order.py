"""Sentences change places, two by two."""

import random

from judge_gym.planted.editing import Change, Expectation, swaps
from judge_gym.planted.sentences import sentences

EXPECTATION = Expectation.INVARIANT
NEEDS = "second sentence that is no heading"


def changes(text: str, rng: random.Random) -> list[Change]:
    """Return exchanges of sentences, each with one other; headings stay where they are."""
    return swaps(text, [(one.start, one.end) for one in sentences(text) if not one.heading], rng)
