"""Documents put into bundles by a plan: balanced groups, by chance, by words or by date."""

from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from judge_gym.design.bundles import BY_TEXT, Bundles
from judge_gym.seeds import generator

Similarity = NDArray[np.float64]
"""Documents x documents: cosines, those of words in [0, 1], those of embeddings in [-1, 1]."""


def unknown() -> Similarity:
    """Stand for the similarity of documents whose texts are not at hand."""
    raise ValueError("bundles by similarity need the texts of their documents")


def grouped(
    plan: Bundles,
    documents: Sequence[str],
    window_key: str,
    similarity: Callable[[], Similarity],
    dates: Callable[[], Sequence[date | None]] = list,
) -> list[tuple[str, ...]]:
    """Return the bundles of a plan: they partition the document keys, sizes differ by at most one.

    `similarity` and `dates` are computed only where the plan needs them, in the order of
    `documents`.
    """
    order = sorted(range(len(documents)), key=lambda place: documents[place])
    seed = (plan.seed,) if plan.seed else ()
    generator("bundles", window_key, plan.size, *seed).shuffle(order)
    n_groups = len(order) // plan.size
    if not n_groups:
        return []
    if plan.by == "window":
        order = _in_turns(order, dates(), n_groups)
    bounds = [len(order) * number // n_groups for number in range(n_groups + 1)]
    group = np.empty(len(order), dtype=np.int64)
    for number in range(n_groups):
        group[order[bounds[number] : bounds[number + 1]]] = number
    if plan.by in BY_TEXT:
        group = _swapped(group, similarity() * (1 if plan.by == "similar" else -1))
    return [
        tuple(documents[place] for place in order if group[place] == number)
        for number in range(n_groups)
    ]


def _in_turns(drawn: Sequence[int], dates: Sequence[date | None], n_groups: int) -> list[int]:
    """Return the places so that each group has one document of each stretch of the window.

    Documents are ordered by date, those without one last in the order of the source; a stretch is
    as many of them as there are groups. `drawn` says in which order a stretch is dealt.
    """
    rank = {place: number for number, place in enumerate(drawn)}
    by_date = sorted(
        range(len(drawn)), key=lambda place: (dates[place] is None, dates[place] or date.min, place)
    )
    groups: list[list[int]] = [[] for _ in range(n_groups)]
    for start in range(0, len(by_date), n_groups):
        stretch = sorted(by_date[start : start + n_groups], key=rank.__getitem__)
        # The last stretch may be short: it goes to the groups that `grouped` makes one larger.
        free = sorted(range(n_groups), key=lambda number: -_size(number, len(drawn), n_groups))
        chosen = free if len(stretch) < n_groups else range(n_groups)
        for number, place in zip(chosen, stretch, strict=False):
            groups[number].append(place)
    return [place for group in groups for place in group]


def _size(number: int, documents: int, n_groups: int) -> int:
    """Return how many documents a group has."""
    return documents * (number + 1) // n_groups - documents * number // n_groups


def _swapped(group: NDArray[np.int64], weight: Similarity) -> NDArray[np.int64]:
    """Return the groups after swaps of two documents, the best first, while a sum grows.

    The sum is that of the weights within groups, so it is never below that of the start.
    """
    weight = weight.copy()
    np.fill_diagonal(weight, 0.0)
    while True:
        within = weight @ np.eye(group.max() + 1)[group]
        own = within[np.arange(len(group)), group]
        moved = within[:, group] - own[:, None]
        gain = moved + moved.T - 2 * weight
        gain[group[:, None] == group[None, :]] = 0.0
        first, second = np.unravel_index(gain.argmax(), gain.shape)
        if gain[first, second] <= 1e-9:
            return group
        group = group.copy()
        group[[first, second]] = group[[second, first]]


def within_similarity(groups: Sequence[Sequence[int]], similarity: Similarity) -> list[float]:
    """Return the mean similarity of two documents of each group; 1 for a single document."""
    means = []
    for group in groups:
        block = similarity[np.ix_(group, group)]
        pairs = len(group) * (len(group) - 1)
        means.append(float((block.sum() - np.trace(block)) / pairs) if pairs else 1.0)
    return means
