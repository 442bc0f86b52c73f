"""Vendors' APIs, which refuse what the real ones refuse; the judge families answer through each.

`anthropic` speaks the Messages API and `gemini` generateContent; what OpenAI's reasoning models
refuse is in `judge_gym.simulator.chat`. What is refused, and in which words, comes from the
vendors' documentation and from errors that people reported. It shares nothing with what judge-gym
takes models to refuse.
"""

import re

from judge_gym.planted.families import family_named
from judge_gym.seeds import derive_seed
from judge_gym.simulator.answering import Request
from judge_gym.simulator.http import Refusal

SHORTEST, LONGEST = 600, 1800


def thinking_tokens(request: Request, budget: int | None = None) -> int:
    """Return tokens of thinking before the answer: 600 to 1,800, and at most the budget.

    A pure function of the request.
    """
    drawn = SHORTEST + derive_seed("thinking", *request.identity) % (LONGEST - SHORTEST + 1)
    return drawn if budget is None else min(drawn, budget)


def check_model(model: str, unknown: str) -> None:
    """Raise `Refusal` with the words `unknown` when no family answers for a model."""
    if family_named(model) is None:
        raise Refusal(unknown, "model", status=404)


def version_in(model: str, pattern: re.Pattern[str]) -> tuple[int, int]:
    """Return major and minor version, the groups of `pattern`; 0, 0 for a name without any."""
    match = pattern.search(model)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)
