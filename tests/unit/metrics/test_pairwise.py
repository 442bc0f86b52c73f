"""Votes of pairs and what their order decides."""

import numpy as np

from judge_gym.metrics.pairwise import order_inconsistency, votes


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
