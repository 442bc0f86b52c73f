"""Votes of pairs and what their order decides."""

import numpy as np
import pytest

from judge_gym.metrics.accuracy import order_inconsistency, pair_balance, votes
from judge_gym.metrics.estimate import wilson


def test_votes_by_hand():
    # winner right, wrong, tie, nothing; on a scale of two there is no tie
    stages, truth = np.array([0b001, 0b100, 0b010, 0]), np.array([1, 1, 1, 1])
    assert votes(stages, truth, 3).tolist() == [1, -1, 0, 0]
    assert votes(np.array([0b01, 0b10]), np.array([2, 2]), 2).tolist() == [-1, 1]


def test_order_inconsistency_by_hand(build_verdicts):
    # 1|1 agree, 1|3 differ, 2|3 differ, and the last pair has one order only
    verdicts = build_verdicts([[[1, 1], [1, 3], [2, 3], [1]]], n_stages=3)
    share = order_inconsistency(verdicts, np.array([False, True, False, True, False, True, False]))
    assert share.estimate == 2 / 3
    assert (share.n, share.n_items) == (6, 3)


def test_without_both_orders_there_is_nothing_to_compare(build_verdicts):
    share = order_inconsistency(build_verdicts([[[1]]], n_stages=3), np.array([False]))
    assert "no pair has one verdict in each order" in share.reason


def balance(votes_of_pairs, right_first=(True, False)):
    """Pairs of votes in two orders; None is no verdict, and a missing order is left out."""
    rows = [
        (pair, vote or 0, first, vote is not None)
        for pair, votes in enumerate(votes_of_pairs)
        for vote, first in zip(votes, right_first, strict=False)
    ]
    item, vote, first, scored = (np.array(column) for column in zip(*rows, strict=True))
    return pair_balance(item, vote, first, scored)


def test_a_pair_counts_by_the_sign_of_its_votes():
    # +1 for right twice and for right and tied; 0 for right and wrong, and for tied twice; -1
    found = balance([(1, 1), (1, 0), (1, -1), (0, 0), (-1, 0), (-1, -1), (1, 1), (1, None)])
    assert found.estimate == (1 + 1 + 0 + 0 - 1 - 1 + 1 + 1) / 8
    assert (found.n, found.n_items) == (16, 8)


def test_the_habit_of_place_scores_nothing_over_both_orders():
    assert balance([(1, -1)] * 30 + [(0, 0)] * 10).floor == 0


def test_the_habit_of_place_is_what_pairs_in_one_order_are_held_against():
    # The better text is first throughout, and a judge takes the first 8 times, the second twice.
    found = balance([(1,)] * 8 + [(-1,)] * 2)
    assert (found.estimate, found.floor) == pytest.approx((0.6, 0.6))


@pytest.mark.parametrize(("votes", "estimate"), [((1, 1), 1), ((-1, 0), -1), ((0, 0), 0)])
def test_pairs_that_all_count_the_same_have_the_bounds_of_wilson(votes, estimate):
    found = balance([votes] * 50)
    missed = 1 - wilson(50, 50)[0]
    half = missed * (2 if estimate else 1)
    low, high = max(-1, estimate - half), min(1, estimate + half)
    assert (found.estimate, found.lower, found.upper) == pytest.approx((estimate, low, high))


def test_without_a_verdict_there_is_no_balance():
    found = balance([(None, None)] * 3)
    assert found.estimate is None
    assert "none of its 6 judgements" in found.reason
