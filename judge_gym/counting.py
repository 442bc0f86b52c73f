"""Counts in messages, with a noun that agrees: "1 experiment", "2 experiments"."""

import re
from collections.abc import Iterable, Sequence

_FOLLOWS = re.compile(r" (?=(?:of|by|changed by) |\()")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which is given in the singular: `counted(2, "open batch")`.

    What the noun is of or by may follow: `counted(2, "cell of these columns")`.
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun, which what it is of, or by whom, may follow."""
    head = _FOLLOWS.split(noun, maxsplit=1)[0]
    return f"{_plural(head)}{noun.removeprefix(head)}"


def in_batches(number: int, noun: str = "") -> str:
    """Return that so many wait in batches: "1 judgement waits in batches"."""
    named = counted(number, noun) if noun else f"{number:,}"
    return f"{named} {'waits' if number == 1 else 'wait'} in batches"


def experiments_in_words(first_draws: int, experiments: int) -> str:
    """Return how many experiments there are, and with all draws of their rubrics where they vary.

    `first_draws` counts those of the first draw.
    """
    if first_draws in (0, experiments):
        return counted(experiments, "experiment")
    return f"{counted(first_draws, 'experiment')} ({experiments:,} with rubric draws)"


def there_are(number: int) -> str:
    """Return a number with its verb, of a noun named before: "it needs 2 items, and there is 1"."""
    return f"there {'is' if number == 1 else 'are'} {number:,}"


def first_of(names: Sequence[str], most: int = 3) -> str:
    """Return the first of some names in a list, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


SIMULATED_COST = "0 (simulated)"


def cost_in_words(
    usd: float, unknown: int, at_most_usd: float = 0.0, *, simulated: bool = False
) -> str:
    """Return a cost in US dollars: what is known, and of how many requests it is not.

    `at_most_usd` is the bound on the cost of those, as far as their models have a price. What is
    `simulated` costs nothing.
    """
    if simulated:
        lost = f"{counted(unknown, 'request')} of unknown outcome"
        return f"0 (simulated; {lost})" if unknown else SIMULATED_COST
    if not unknown:
        return f"{usd:.4g} USD"
    bound = f", counted in budgets as {at_most_usd:.4g} USD" if at_most_usd else ""
    rest = f"{counted(unknown, 'request')} of unknown cost{bound}"
    return f"at least {usd:.4g} USD (and {rest})" if usd else f"an unknown amount ({rest})"


def said_once(said: Iterable[tuple[str, str]]) -> list[str]:
    """Return what is said of several names, the same once; each (name, sentences).

    Whom it is of is told where that differs.
    """
    whose: dict[str, list[str]] = {}
    for name, sentences in said:
        whose.setdefault(sentences, []).append(name)
    if len(whose) == 1:
        return list(whose)
    return [f"{', '.join(names)}: {sentences}" for sentences, names in whose.items()]
