"""Where a scale ends, by the scores and labels on it: one declared too small or too large; and what
to look for where it may run the other way."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

FEWEST = 10
"""Fewest scores by which a scale is doubted."""
USUAL_ENDS = (1, 5, 10, 100)
"""Where scales usually end. The highest of few labels may be lower than their scale's."""
OTHER_SCALE = 4
"""Times the end of a scale from which a number is a slip, or of another scale."""
_RARE = 0.02
"""A score that fewer of a judge's than this share are may be a slip, where it has few scores."""
_FEW_SCORES = 10
"""Most different scores of a judge of which a rare one may be a slip, and the end of a scale with a
stage for each score."""
_FEW_ZEROS = 0.1
"""Most zeros of a judge, as a share of its scores, that may say that there is no score."""
_FEWEST_DIFFERENT = 4
"""Different scores, with 0, from which it is one of a scale and no code of two or three answers."""
_FURTHER, _AT_LEAST = 1.6, 3
"""Times a usual end, and steps above it, from which a score is of a scale that ends further on."""

_SLIPS = 0.1
"""Most different numbers far from a scale, as a share of all, that may be slips."""
_AS_LARGE, _ROUND = 2, 5
"""Times a scale, and above 10, from which only a multiple of this is the end of one: 39 is none of
1 to 10."""

_CHANCE = 0.01
"""How likely labels of the whole scale may be to stop below its end by chance."""

_RANGE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:-|–|—|\.\.|to|bis)\s*(\d+(?:\.\d+)?)")
"""A scale in the name of a column, such as 1-5 or 0 to 10."""


def other_way(judges: int = 1) -> str:
    """Return what to look for where judges are shown to agree less than by chance with labels."""
    gives, its = ("It gives", "its scale") if judges == 1 else ("They give", "their scale")
    return (
        f"{gives} the higher score to what people give the lower one: look whether {its}, or that "
        "of the labels, runs the other way round."
    )


def named_end(column: str) -> float | None:
    """Return where the scale ends that a column's name gives, as `Score (1-5)` does."""
    named = _RANGE.search(column)
    return float(named[2]) if named else None


def doubted_end(
    scale: tuple[float, float], top: float, count: int, column: str = ""
) -> float | None:
    """Return where the scale of `count` scores may end below that which is declared; else None.

    The column's name says so, or the highest score, `top` of many, is not above the middle.
    """
    lowest, highest = scale
    named = named_end(column)
    if named is not None and top <= named < highest:
        return named
    is_low = count >= FEWEST and lowest < top <= (lowest + highest) / 2
    return top if is_low and named is None else None


def never_reached(scale: tuple[float, float], scores: Iterable[float]) -> float | None:
    """Return the usual end that whole scores stop at, just below that of their scale; else None.

    They start at the lowest, and are so many that they would stop there by chance in fewer than 1%
    of files, if each stage were as frequent: 14 labels of 1 to 7, and 26 of 1 to 6.
    """
    (lowest, highest), given = scale, list(scores)
    top = max(given, default=lowest)
    stages = highest - lowest + 1
    if not lowest < top < highest or top not in USUAL_ENDS or stages > _FEW_SCORES:
        return None
    if len(given) < FEWEST:
        return None
    within = (top - lowest + 1) / stages
    is_whole = min(given) == lowest and all(one % 1 == 0 for one in given)
    return top if is_whole and within ** len(given) < _CHANCE else None


def wider(lowest: float, highest: float, given: Iterable[float], named: str = "the scale") -> str:
    """Return what to write if numbers off a scale are on it; "" where none is near it.

    Nor where several numbers are far from it, since these are of another scale, of which the
    nearest are no end. A single number that is far is a slip, or says that there is no score.
    `named` is the scale.

    >>> wider(1, 4, [5, 5, 99])
    'If the scale ends at 5, write `highest: 5`.'
    >>> wider(2, 5, [0, 1])
    'If the scale starts at 0, write `lowest: 0`.'
    >>> wider(1, 10, [32, 39, 61, 84])
    ''
    """
    size = max(abs(lowest), abs(highest), highest - lowest)
    different = set(given)
    near = {one for one in different if abs(one) < OTHER_SCALE * size}
    if len(different - near) > max(1, _SLIPS * len(different)):
        return ""
    starts, ends = min([lowest, *near]), max([highest, *near])
    if float(lowest).is_integer() and float(highest).is_integer():  # 4.5 beside 1 to 4 is up to 5
        starts, ends = math.floor(starts), math.ceil(ends)
    if any(
        abs(end) > max(_AS_LARGE * size, _FEW_SCORES) and end % _ROUND for end in (starts, ends)
    ):
        return ""
    said = []
    if starts < lowest:
        said.append(("starts", "lowest", starts))
    if ends > highest:
        said.append(("ends", "highest", ends))
    if not said:
        return ""
    of_scale = " and ".join(f"{verb} at {end:g}" for verb, _, end in said)
    keys = " and ".join(f"`{key}: {end:g}`" for _, key, end in said)
    return f"If {named} {of_scale}, write {keys}."


def scales_apart(
    given: Mapping[str, Counter[float]], written: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return who gives scores on which scale, as its end, where these are evidently several.

    `given` has each judge's scores with how often it gives them, `written` the ends that scores
    name, as 4/5 does. A judge of which nothing tells is left out, and {} is of a single scale: 2
    to 4 may be of any other. 1 to 5 beside 1 to 8 or more is of another, and so is 0 to 4 beside 1
    to 5 where nobody gives both 0 and 5.

    >>> one, ten = Counter(range(1, 6)), Counter(range(1, 11))
    >>> scales_apart({"a": one + one, "b": ten})
    {'a': 5.0, 'b': 10.0}
    >>> scales_apart({"a": Counter({1: 99, 3: 99, 4: 99, 5: 1}), "b": ten})
    {'a': 5.0, 'b': 10.0}
    >>> scales_apart({"a": Counter({2: 9, 3: 9, 4: 9}), "b": ten})
    {}
    """
    spans = {who: span for who, scores in given.items() if (span := _span(scores))}
    usual = {
        who: float(end) for who, span in spans.items() if (end := _usual_end(span, given[who]))
    }
    ends = usual | dict(written or {})
    for who, (_, high) in spans.items():
        least = min(ends.values(), default=math.inf)
        if who not in ends and high >= max(_FURTHER * least, least + _AT_LEAST):
            ends[who] = float(next((end for end in USUAL_ENDS if end >= high), high))
    return ends if len(set(ends.values())) > 1 else _starting_apart(spans)


def lone_zero(given: Mapping[str, Counter[float]]) -> tuple[str, float, float] | None:
    """Return who alone gives a 0, seldom, and the ends of all other scores, from 1 on; else None.

    `given` has each judge's scores with how often it gives them.

    >>> others = Counter({1: 9, 3: 9, 5: 9})
    >>> lone_zero({"a": others + Counter({0: 3}), "b": others})
    ('a', 1, 5)
    >>> lone_zero({"a": others + Counter({0: 4}), "b": others})
    """
    scores = sum(given.values(), Counter[float]())
    zero = [who for who, of in given.items() if of[0]]
    if len(zero) != 1 or len(scores) < _FEWEST_DIFFERENT:
        return None
    own = given[zero[0]]
    least, lowest, *_, highest = sorted(scores)
    is_rare = own[0] <= _FEW_ZEROS * own.total() and scores.total() - own.total() >= FEWEST
    if least < 0 or lowest != 1 or highest > _FEW_SCORES or not is_rare:
        return None
    return zero[0], lowest, highest


def slip_above(scores: Counter[float]) -> tuple[float, float] | None:
    """Return a highest score that may be a slip, and the next one; None where it is none.

    It is rare, and so far above the next that it is of no scale with it.

    >>> slip_above(Counter({1: 9, 5: 9, 55: 1}))
    (55, 5)
    """
    if scores.total() < FEWEST or len(scores) < 3:
        return None
    *_, following, highest = sorted(scores)
    is_rare = scores[highest] <= max(1, _RARE * scores.total())
    is_far = following > 0 and highest >= OTHER_SCALE * following
    return (highest, following) if is_rare and is_far else None


def _span(scores: Counter[float]) -> tuple[float, float] | None:
    """Return the lowest and the highest of a judge's scores; None of few scores, or of one alone.

    A rare one of few different scores is a slip, and no end, but for a usual end next to the
    others: one 5 of 300 scores from 1 to 4.
    """
    least = _RARE * scores.total() if len(scores) <= _FEW_SCORES else 0
    often = [score for score, times in scores.items() if times >= least]
    if scores.total() < FEWEST or len(often) < 2:
        return None
    high = max(often)
    return min(often), high + 1 if high + 1 in USUAL_ENDS and scores[high + 1] else high


def _usual_end(span: tuple[float, float], scores: Iterable[float]) -> int | None:
    """Return the usual end that the highest score is; 1 of fractions, whose highest may be less."""
    low, high = span
    if low >= 0 and high <= 1 and any(score % 1 for score in scores):
        return USUAL_ENDS[0]
    return next((end for end in USUAL_ENDS if end == high), None)


def _starting_apart(spans: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """Return whose scale starts at 0 or below and ends lower than that of others, from 1; {} where
    one judge has both ends."""
    zero = {who: high for who, (low, high) in spans.items() if low <= 0}
    top = max(zero.values(), default=math.inf)
    beyond = {who: span for who, span in spans.items() if who not in zero and span[1] > top}
    end = max((high for _, high in beyond.values()), default=0.0)
    if end > _FEW_SCORES or not any(low == 1 for low, _ in beyond.values()):
        return {}
    return dict.fromkeys(zero, top) | dict.fromkeys(beyond, end)
