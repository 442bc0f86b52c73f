"""The two orders in which a pair is shown, as files name them, AB and BA, and its two answers."""

from collections.abc import Collection, Sequence
from itertools import combinations, takewhile

from judge_gym.alike import folded, two_answers
from judge_gym.recorded.tables import words_of

_TURNED = {"swapped", "swap", "reversed", "reverse", "flipped", "inverted"}
"""Words that say that a pair was shown in the other order."""

_TIES = {"tie", "ties", "draw", "equal", "neither", "both", "same"}
"""Verdicts on a pair that are neither answer."""


def stages_of_a_pair(verdicts: Collection[str]) -> tuple[str, ...]:
    """Return the verdicts that name the two answers of a pair, with a tie between them; () without.

    >>> stages_of_a_pair(["tie", "B", "A", "garbage"])
    ('A', 'tie', 'B')
    """
    ties = [one for one in verdicts if folded(one) in _TIES]
    answers = two_answers(sorted(verdicts))
    return tuple(tie_between([*answers, *ties])) if answers and len(ties) <= 1 else ()


def tie_between(verdicts: Sequence[str]) -> list[str]:
    """Return three verdicts of which one is a tie with it between the others; others as given."""
    ties = [one for one in verdicts if folded(one) in _TIES]
    answers = [one for one in verdicts if one not in ties]
    between = len(ties) == 1 and len(answers) == 2
    return [answers[0], *ties, answers[1]] if between else [*verdicts]


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
