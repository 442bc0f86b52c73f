"""Costs in messages: never 0 for what is not known."""

from judge_gym.counting import counted


def cost_in_words(usd: float, unknown: int, at_most_usd: float = 0.0) -> str:
    """Return a cost in US dollars: what is known, and of how many requests it is not.

    `at_most_usd` is the bound on the cost of those, as far as their models have a price.
    """
    if not unknown:
        return f"{usd:.4g} USD"
    bound = f", counted in budgets as {at_most_usd:.4g} USD" if at_most_usd else ""
    rest = f"{counted(unknown, 'request')} of unknown cost{bound}"
    return f"at least {usd:.4g} USD (and {rest})" if usd else f"an unknown amount ({rest})"
