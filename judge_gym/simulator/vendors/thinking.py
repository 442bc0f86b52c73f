"""How many tokens a stand-in thinks before it answers: a pure function of the request."""

from judge_gym.seeds import derive_seed
from judge_gym.simulator.answering import Request

SHORTEST, LONGEST = 600, 1800


def thinking_tokens(request: Request, budget: int | None = None) -> int:
    """Return tokens of thinking: 600 to 1,800, and at most the budget."""
    drawn = SHORTEST + derive_seed("thinking", *request.identity) % (LONGEST - SHORTEST + 1)
    return drawn if budget is None else min(drawn, budget)
