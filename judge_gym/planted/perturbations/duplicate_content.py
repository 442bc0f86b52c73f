"""Sentences are said twice, word for word."""

import random

from judge_gym.planted.editing import Change, Expectation, additions

EXPECTATION = Expectation.INVARIANT
NEEDS = "sentence to repeat"


def changes(text: str, rng: random.Random) -> list[Change]:
    """Return the repetition of each sentence that is no heading, right after it."""
    return additions(text, lambda one: text[one.start : one.end])
