"""Pairs judged in both orders: what a judge gets right, and whether the order decides for it."""

from dataclasses import replace

import numpy as np

from judge_gym.metrics.cells import BoolArray, IntArray, Verdicts
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.outcomes import clustered_share


def order_inconsistency(verdicts: Verdicts, reversed_order: BoolArray) -> Estimate:
    """Return the share of pairs whose verdicts differ between the two orders, in [0, 1].

    `verdicts` are point verdicts of one judge in the rubric's own order, `reversed_order` says
    which were given with the pair turned round. A pair counts when it has one verdict in each
    order; a tie against a winner is a difference. Wilson interval over pairs; needs one pair.
    """
    stage = [
        np.bincount(
            verdicts.item[chosen], weights=verdicts.stages[chosen], minlength=verdicts.n_items
        )
        for chosen in (~reversed_order, reversed_order)
    ]
    counts = [
        np.bincount(verdicts.item[chosen], minlength=verdicts.n_items)
        for chosen in (~reversed_order, reversed_order)
    ]
    once = (counts[0] == 1) & (counts[1] == 1)
    metric = "order_inconsistency"
    if not once.any():
        because = "no pair has one verdict in each order"
        return not_estimable(metric, because, n=len(verdicts), unit="share")
    differs = once & (stage[0] != stage[1])
    share = clustered_share(metric, differs.astype(np.int64), once.astype(np.int64))
    return replace(share, n=2 * int(once.sum()), method="share of pairs, Wilson interval")


def votes(stages: IntArray, truth: IntArray, n_stages: int) -> IntArray:
    """Return +1 for a point verdict at the truth, 0 for the midpoint (a tie) or none, else -1.

    `stages` are bitmasks, 0 where a judgement gave no verdict; `truth` is 1 or `n_stages`.
    """
    tie = 1 << (n_stages // 2) if n_stages % 2 else 0
    right = stages == 1 << (truth - 1)
    return np.where((stages == 0) | (stages == tie), 0, np.where(right, 1, -1)).astype(np.int64)
