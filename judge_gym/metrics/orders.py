"""Figures of pairs by the order in which they were shown, on every judgement a judge was given.

Published tables of pair benchmarks have this form. An answer that could not be read is not right.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.metrics.accuracy import ADVISED_ITEMS, kappa_of_tables, no_verdict
from judge_gym.metrics.cells import BoolArray, IntArray
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import Estimate, caution_below, not_estimable


@dataclass(frozen=True, eq=False)
class PairJudgements:
    """Judgements of pairs by one judge, as parallel arrays.

    `stages` are bitmasks of one stage in the rubric's own order, 0 without a verdict; `truth` is
    the right stage, and `listed` says whether the pair was shown in the file's order.
    """

    item: IntArray
    stages: IntArray
    truth: IntArray
    listed: BoolArray
    n_items: int
    n_stages: int


def order_figures(pairs: PairJudgements, rng: np.random.Generator) -> Iterator[Estimate]:
    """Yield the share right in all and by order, right in every order, and of equal choices.

    Each is a share in [0, 1] with a Wilson interval clustered by item. `first_shown_share` is the
    share of the verdicts for a winner that choose what was shown first; 0.5 is no preference where
    every pair has both orders. `same_choice` is the share of pairs with the same outcome in both,
    as published tables count it: one winner (`same_winner`), a tie twice (`same_tie`), or nothing
    readable twice. `kappa_between_orders` is Cohen's κ between the choices in the two
    orders of pairs that were read in both. Needs one verdict; 100 items advised.
    """
    shares = (
        *("accuracy_of_all", "accuracy_as_listed", "accuracy_swapped"),
        *("accuracy_every_order", "same_choice", "same_winner", "same_tie", "first_shown_share"),
    )
    if not pairs.stages.any():
        because, n = no_verdict(len(pairs.item)), len(pairs.item)
        yield from (not_estimable(metric, because, n=n, unit="share") for metric in shares)
        yield not_estimable("kappa_between_orders", because, n=n)
        return
    right = pairs.stages == 1 << (pairs.truth - 1)
    everything = np.ones(len(right), dtype=np.bool_)
    for metric, chosen in zip(shares[:3], (everything, pairs.listed, ~pairs.listed), strict=True):
        yield _share(metric, pairs, right, chosen)
    once = _in_each_order(pairs)
    both = np.bincount(pairs.item, weights=right, minlength=pairs.n_items) == 2
    choice = [_by_item(pairs, order) for order in (pairs.listed, ~pairs.listed)]
    same = choice[0] == choice[1]
    winner = (choice[0] == 1) | (choice[0] == 1 << (pairs.n_stages - 1))
    for metric, holds in (
        ("accuracy_every_order", both),
        ("same_choice", same),
        ("same_winner", same & winner),
        ("same_tie", same & ~winner & (choice[0] > 0)),
    ):
        share = clustered_share(metric, (once & holds).astype(np.int64), once.astype(np.int64))
        yield caution_below(
            replace(share, method=share.method and "share of pairs, Wilson interval"),
            ADVISED_ITEMS,
        )
    first = np.where(pairs.listed, 1, 1 << (pairs.n_stages - 1))
    winner = (pairs.stages == 1) | (pairs.stages == 1 << (pairs.n_stages - 1))
    yield _share("first_shown_share", pairs, pairs.stages == first, winner)
    yield _kappa(pairs, choice, once, rng)


def accuracy_over_wordings(pairs: PairJudgements) -> Estimate:
    """Return the share right of all judgements under several wordings, in [0, 1].

    Wilson interval clustered by item: other items under the same wordings. Needs one verdict; 100
    items advised.
    """
    if not pairs.stages.any():
        because, n = no_verdict(len(pairs.item)), len(pairs.item)
        return not_estimable("accuracy_over_wordings", because, n=n, unit="share")
    right = pairs.stages == 1 << (pairs.truth - 1)
    return _share("accuracy_over_wordings", pairs, right, np.ones(len(right), dtype=np.bool_))


def length_preference(pairs: PairJudgements, longest: IntArray) -> Estimate:
    """Return the share of verdicts for a winner that choose the longer text, in [0, 1].

    `longest` holds the stage of the longer text for each item, 0 where there is none. Wilson
    interval clustered by item. Compare it with `longer_right`.
    Needs one verdict; 100 items advised.
    """
    winner = (pairs.stages == 1) | (pairs.stages == 1 << (pairs.n_stages - 1))
    stage = longest[pairs.item]
    holds = pairs.stages == 1 << np.maximum(stage - 1, 0)
    return _share("longer_share", pairs, holds, winner & (stage > 0))


def longer_right(truth: IntArray, longest: IntArray) -> Estimate:
    """Return the share of pairs whose longer text is the right one, in [0, 1]; Wilson interval.

    Both arrays hold a stage for each item, 0 where it is not known. Needs one pair with both.
    """
    known = (truth > 0) & (longest > 0)
    right = known & (truth == longest)
    return clustered_share("longer_right_share", right.astype(np.int64), known.astype(np.int64))


def _share(metric: str, pairs: PairJudgements, holds: BoolArray, chosen: BoolArray) -> Estimate:
    counts = [
        np.bincount(pairs.item[among], minlength=pairs.n_items)
        for among in (chosen & holds, chosen)
    ]
    return caution_below(clustered_share(metric, *counts), ADVISED_ITEMS)


def _in_each_order(pairs: PairJudgements) -> BoolArray:
    """Return which items have exactly one judgement in each order."""
    counts = [
        np.bincount(pairs.item[order], minlength=pairs.n_items)
        for order in (pairs.listed, ~pairs.listed)
    ]
    return np.asarray((counts[0] == 1) & (counts[1] == 1))


def _by_item(pairs: PairJudgements, order: BoolArray) -> IntArray:
    """Return the bitmask of each item's judgement in an order; 0 without a verdict."""
    stages = np.zeros(pairs.n_items, dtype=np.int64)
    stages[pairs.item[order]] = pairs.stages[order]
    return stages


def _kappa(
    pairs: PairJudgements, choice: list[IntArray], once: BoolArray, rng: np.random.Generator
) -> Estimate:
    read = once & (choice[0] > 0) & (choice[1] > 0)
    listed, swapped = (np.bitwise_count(one[read] - 1).astype(np.int64) for one in choice)
    size = pairs.n_stages
    tables = np.zeros((int(read.sum()), size, size))
    tables[np.arange(len(tables)), listed, swapped] = 1
    estimate = kappa_of_tables(tables, rng)
    if estimate.estimate is None:
        because = "the verdicts of one order are all the same, or there is no pair"
        return not_estimable("kappa_between_orders", because, n=len(tables))
    return replace(estimate, metric="kappa_between_orders")
