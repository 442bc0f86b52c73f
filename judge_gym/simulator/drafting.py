"""What the simulator's models write for gyms: a generalisation of a text, or its claims.

Both are made of the text's own sentences. What the instruction asks for in so many words counts, as
do the parameters planted here; how a text reads to a grader is in `text_features`.
"""

import re
from random import Random

from judge_gym.simulator.anonymizing import abstract
from judge_gym.simulator.prompt_reader import documents_in, outside_fences
from judge_gym.simulator.text_features import advises, sentences_of, stated_in

_OVERLOOKED = 0.15
"""Share of claims that a reader overlooks."""
_KEEPING = re.compile(r"\b(?:figures?|numbers?|specifics?|details?)\b", re.IGNORECASE)
_ALL = re.compile(r"\b(?:all|each|every)\b", re.IGNORECASE)


def generalise(prompt: str) -> str:
    """Return the advice of a text, or its first sentence, with names taken out.

    With what it rests on, when the instruction asks for figures or specifics.
    """
    sentences, _ = sentences_of("\n\n".join(documents_in(prompt)))
    advice = [one for one in sentences if advises(one)] or sentences[:1]
    grounds = [one for one in sentences if stated_in(one) and one not in advice]
    kept = [*grounds, *advice] if _KEEPING.search(outside_fences(prompt)) else advice
    return abstract(" ".join(kept)) or "The text teaches nothing in general."


def claims(prompt: str, rng: Random) -> str:
    """Return sentences that state a figure or a name, one a line, less those that are overlooked.

    All sentences, when the instruction asks for all, each or every one.
    """
    sentences, _ = sentences_of("\n\n".join(documents_in(prompt)))
    wanted = sentences
    if not _ALL.search(outside_fences(prompt)):
        wanted = [one for one in sentences if stated_in(one)]
    found = [one for one in wanted if rng.random() >= _OVERLOOKED]
    return "\n".join(f"- {one}" for one in found) or "NONE"
