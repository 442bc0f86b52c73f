"""Which items to read: those whose verdict a setting moves most, and the sentences that changed."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from judge_gym.analysis.data import SweepData
from judge_gym.analysis.facets import pooled
from judge_gym.analysis.figures.axes import AxisPair, axis_pairs, verdicts_of
from judge_gym.analysis.groups import comparison_groups
from judge_gym.design.axis_pairs import REGROUPED
from judge_gym.planted.sentences import sentences

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 4
"""Words of a sentence that argues; fewer are a heading or a verdict."""


@dataclass(frozen=True)
class MovedItem:
    """An item whose verdict by one judge changes with one setting.

    `item` is its number in the data, `change` the mean verdict after less that before, on the 0-1
    scale.
    """

    item: int
    change: float
    pair: AxisPair


def moved_items(data: SweepData, most: int) -> list[MovedItem]:
    """Return the items that a change of one axis moves most, each with its largest change.

    Verdicts are means over replicates, wordings and rubric draws; an item that does not move is
    left out. Ties go by item, then in the order of the contrasts.
    """
    largest: dict[int, MovedItem] = {}
    for found in _changes(pooled(data)):
        known = largest.get(found.item)
        if known is None or abs(found.change) > abs(known.change) + 1e-9:
            largest[found.item] = found
    ordered = sorted(largest.values(), key=lambda one: (-round(abs(one.change), 9), one.item))
    return ordered[:most]


def _changes(data: SweepData) -> Iterator[MovedItem]:
    for axis, pairs in axis_pairs(data, comparison_groups(data)):
        for pair in pairs:
            if not pair.refused and axis not in REGROUPED:
                before, after = verdicts_of(data, pair)
                moved = np.where(before.present & after.present, after.value - before.value, 0.0)
                for item in np.flatnonzero(moved[0]):
                    yield MovedItem(int(item), float(moved[0, item]), pair)


def changed_sentences(first: str, second: str, verdicts: Collection[str] = ()) -> tuple[str, str]:
    """Return of each text the sentence that is least like any of the other; "" where none is.

    Likeness is the share of words in common (Jaccard). Sentences that hold one of `verdicts`, and
    those of three words or fewer, do not count: a verdict always changes with itself.
    """
    both = [_sentences(text, verdicts) for text in (first, second)]
    return _unlike(both[0], both[1]), _unlike(both[1], both[0])


def _sentences(text: str, verdicts: Collection[str]) -> list[tuple[str, frozenset[str]]]:
    found = []
    for one in sentences(text):
        said = text[one.start : one.end]
        words = frozenset(word.lower() for word in _WORD.findall(said))
        if len(words) >= _FEWEST_WORDS and not any(word and word in said for word in verdicts):
            found.append((said, words))
    return found


def _unlike(own: list[tuple[str, frozenset[str]]], other: list[tuple[str, frozenset[str]]]) -> str:
    likeness = [
        max((len(words & theirs) / len(words | theirs) for _, theirs in other), default=0.0)
        for _, words in own
    ]
    least = min(likeness, default=1.0)
    return own[likeness.index(least)][0] if least < 1 else ""
