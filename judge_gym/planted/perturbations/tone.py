"""The same is said with more feeling: exclamations and lead-ins that add no fact."""

import random

from judge_gym.planted.editing import Change, Edit, Expectation, lead_ins
from judge_gym.planted.sentences import sentences

EXPECTATION = Expectation.INVARIANT
NEEDS = "sentence that is no heading"

_LEAD_INS = (
    "Make no mistake:",
    "Let us be honest:",
    "And mark this well:",
    "It has to be said out loud:",
    "Believe it or not:",
)


def changes(text: str, rng: random.Random) -> list[Change]:
    """Return a lead-in for each sentence, and an exclamation mark for each final full stop."""
    stops = [
        (Edit(one.end - 1, one.end, "!"),)
        for one in sentences(text)
        if text[one.end - 1] == "." and text[one.end - 2 : one.end] != ".."
    ]
    return lead_ins(text, _LEAD_INS, rng) + stops
