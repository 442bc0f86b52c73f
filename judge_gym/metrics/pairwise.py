"""Pairs judged in both orders: what a judge gets right, and whether the order decides for it."""

from dataclasses import replace

import numpy as np

from judge_gym.metrics.cells import BoolArray, IntArray, Verdicts
from judge_gym.metrics.estimate import (
    SIGNED_UNIT,
    Estimate,
    mean_over_items,
    not_estimable,
    with_interval,
)
from judge_gym.metrics.intervals import wilson
from judge_gym.metrics.outcomes import clustered_share

OF_PAIRS = "right less wrong"
"""The unit of `pair_balance`."""


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


def pair_balance(
    item: IntArray, vote: IntArray, right_first: BoolArray, scored: BoolArray
) -> Estimate:
    """Return the share of pairs judged right less the share judged wrong, in [-1, 1].

    `vote` is that of `votes`, `right_first` says whether the better text was shown first, and
    `scored` whether there is a verdict. A pair counts +1 when right in both orders, or right once
    and tied once, -1 for the mirror image, else 0, so that ties are no errors. The floor is what
    the judge's habit of place alone would score: 0 for pairs judged in both orders, however often
    it ties. t interval over pairs; where all count the same, the bounds of Wilson's interval.
    Needs one verdict.
    """
    metric, unit = "pair_balance", OF_PAIRS
    pairs, place = np.unique(item, return_inverse=True)
    if not scored.any():
        return not_estimable(metric, no_verdict(len(item)), n=len(item), unit=unit)
    counts = np.sign(np.bincount(place, weights=vote))
    found = mean_over_items(metric, counts, n=len(item), unit=unit, bounds=SIGNED_UNIT)
    if np.ptp(counts) == 0:
        level, missed = counts[0], 1 - wilson(len(pairs), len(pairs))[0]
        half = missed * (1 + abs(level))
        found = with_interval(replace(found, reason=""), (level - half, level + half), SIGNED_UNIT)
    side = np.where(right_first, 1, -1) * scored
    habit = float((side * vote).sum() / scored.sum())
    due = habit * np.bincount(place, weights=side) / np.maximum(np.bincount(place, scored), 1)
    method = "mean over pairs of +1, 0 or -1, t interval; floor by the habit of place"
    return replace(found, floor=float(due.mean()), method=method)


def no_verdict(judgements: int) -> str:
    """Return why a judge none of whose answers could be read has no accuracy."""
    return f"none of its {judgements} judgements has a verdict that could be read"
