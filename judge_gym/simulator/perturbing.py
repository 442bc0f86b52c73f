"""Changing a text as a perturber is asked to: by the rule for the change that is described."""

import re
from collections.abc import Sequence

from judge_gym.planted.editing import Perturbed
from judge_gym.planted.perturbations import perturbations
from judge_gym.simulator.prompt_reader import Message, documents_in, outside_fences

_SHARE = re.compile(r"\((?P<percent>\d{1,3}(?:\.\d+)?)%\)")


def perturb(messages: Sequence[Message]) -> str:
    """Return the text with the change made, or as it is where the rule finds nothing to change."""
    asked = next(text for who, text in messages if who == "user")
    request = outside_fences(asked)
    text = "\n\n".join(documents_in(asked))
    wanted = (one for one in perturbations().values() if one.description in request)
    change, share = next(wanted, None), _SHARE.search(request)
    if change is None or share is None:
        return "The message does not say which change to make, and how much of it."
    # One seed for all: a greater share adds to what a smaller one changes.
    found = change.apply(text, min(1.0, float(share["percent"]) / 100), seed=0)
    return found.text if isinstance(found, Perturbed) else text
