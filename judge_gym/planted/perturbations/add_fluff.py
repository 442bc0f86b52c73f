"""Sentences that say nothing of the matter are put between the others."""

import random

from judge_gym.planted.editing import Change, Expectation, additions

EXPECTATION = Expectation.INVARIANT
NEEDS = "sentence to put one after"

_FLUFF = (
    "Many people have thought about this over the years.",
    "It is a subject with more than one side.",
    "Opinions differ, as they often do.",
    "There is always more to learn.",
    "The wider context is worth keeping in mind.",
    "Circumstances vary from case to case.",
    "Much has been written elsewhere on related matters.",
    "As with most things, details can be important.",
    "Time will tell how such matters develop.",
    "Careful thought is rarely wasted.",
    "Similar questions come up in other fields as well.",
    "Good communication is helpful in situations of many kinds.",
    "Interest in topics of this kind has a long history.",
    "Every reader brings their own experience.",
    "Nothing exists in isolation.",
    "The world has changed a great deal.",
)


def changes(text: str, rng: random.Random) -> list[Change]:
    """Return the insertion of such a sentence after each sentence that is no heading."""
    return additions(text, lambda _: rng.choice(_FLUFF))
