"""The two orders in which a pair is shown, as files name them: AB and BA, plain and swapped."""

from collections.abc import Sequence
from itertools import combinations, takewhile

from judge_gym.recorded.tables import words_of

_TURNED = {"swapped", "swap", "reversed", "reverse", "flipped", "inverted"}
"""Words that say that a pair was shown in the other order."""


def two_orders(one: str, other: str) -> tuple[str, str] | None:
    """Return two names of an order, the plain one first; None of names that are not that."""
    first, second = sorted((one, other))
    plain, turned = ("".join(filter(str.isalnum, name)).casefold() for name in (first, second))
    if plain != turned and plain == turned[::-1]:
        return first, second
    is_turned = {name: bool(words_of(name) & _TURNED) for name in (first, second)}
    if len(set(is_turned.values())) == 2:
        return (second, first) if is_turned[first] else (first, second)
    return None


def columns_in_two_orders(columns: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return judge → its two columns, the plain order first, where names differ in an order alone.

    Such as gpt4_AB and gpt4_BA, or gpt4 and gpt4_swapped.
    """
    found: dict[str, tuple[str, str]] = {}
    for one, other in combinations(columns, 2):
        start = _shared(one, other)
        end = _shared(one[start:][::-1], other[start:][::-1])
        parts = [name[start : len(name) - end] for name in (one, other)]
        around = (one[:start] + one[len(one) - end :]).replace("()", " ")
        judge = " ".join(around.split()).strip(" _-.")
        if not judge or (orders := two_orders(*parts)) is None:
            continue
        found[judge] = (one, other) if orders[0] == parts[0] else (other, one)
    return found


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
