"""How alike two short texts are, and which of two lists say the same; pure, in [0, 1]."""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+")
_SHORTEST = 4
"""Letters of a word that tells texts apart; figures always do."""
_KEPT = 10_000
"""Texts whose words are kept: each is held against many others."""


def word_overlap(first: str, second: str) -> float:
    """Return 2·|A∩B| / (|A| + |B|) over the words of four letters or more and the figures.

    0 where neither has any. Source: Dice 1945, Ecology 26.
    """
    left, right = _words(first), _words(second)
    return 2 * len(left & right) / (len(left) + len(right)) if left or right else 0.0


def trigram_similarity(first: str, second: str) -> float:
    """Return |A∩B| / |A∪B| over the trigrams of the words, as PostgreSQL's pg_trgm.

    Words are in lower case, with two spaces before and one after; 0 where neither has any.
    """
    left, right = _trigrams(first), _trigrams(second)
    return len(left & right) / len(left | right) if left or right else 0.0


def matched(
    extracted: Sequence[str], labelled: Sequence[str], least: float
) -> list[tuple[int, int]]:
    """Return places of pairs that say the same: each text in one pair at most.

    The pairs with a `word_overlap` of `least` or more whose sum of overlaps is the largest.
    """
    from scipy.optimize import linear_sum_assignment

    alike = np.array([[word_overlap(text, label) for label in labelled] for text in extracted])
    alike = np.where(alike >= least, alike, 0.0).reshape(len(extracted), len(labelled))
    pairs = zip(*linear_sum_assignment(alike, maximize=True), strict=True)
    return [(int(text), int(label)) for text, label in pairs if alike[text, label] > 0]


@lru_cache(maxsize=_KEPT)
def _words(text: str) -> frozenset[str]:
    words = _WORD.findall(text.lower())
    return frozenset(word for word in words if word[0].isdigit() or len(word) >= _SHORTEST)


@lru_cache(maxsize=_KEPT)
def _trigrams(text: str) -> frozenset[str]:
    words = (f"  {word} " for word in re.findall(r"[^\W_]+", text.lower()))
    return frozenset(word[place : place + 3] for word in words for place in range(len(word) - 2))
