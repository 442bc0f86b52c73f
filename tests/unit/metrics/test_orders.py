"""Figures of pairs by order, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from judge_gym.metrics.orders import PairJudgements, accuracy_over_wordings, order_figures

# Pair: truth, choice as listed, choice swapped (0: unreadable).
PAIRS = [(1, 1, 1), (1, 1, 2), (2, 2, 2), (2, 1, 0), (1, 0, 0)]


def pairs_of(rows):
    item, stages, truth, listed = [], [], [], []
    for number, (right, *choices) in enumerate(rows):
        for order, choice in zip((True, False), choices, strict=True):
            item.append(number)
            stages.append(1 << (choice - 1) if choice else 0)
            truth.append(right)
            listed.append(order)
    return PairJudgements(
        np.array(item), np.array(stages), np.array(truth), np.array(listed), len(rows), 2
    )


def figures_of(rows, n_stages=2):
    pairs = replace(pairs_of(rows), n_stages=n_stages)
    return {one.metric: one for one in order_figures(pairs, np.random.default_rng(1))}


@pytest.mark.parametrize(
    ("metric", "value", "n"),
    [
        ("accuracy_of_all", 5 / 10, 10),
        ("accuracy_as_listed", 3 / 5, 5),
        ("accuracy_swapped", 2 / 5, 5),
        ("accuracy_every_order", 2 / 5, 5),
        # Two unreadable answers are the same outcome, a winner and none are not.
        ("same_choice", 3 / 5, 5),
        ("same_winner", 2 / 5, 5),
        ("same_tie", 0, 5),
        # Of 7 winners: 1, 1 and 1 as listed, 2, 2 of the swapped; 2 and 1 were shown second.
        ("first_shown_share", 5 / 7, 7),
        # Three pairs are read in both orders: 2 of 3 agree, by chance (2·1 + 1·2)/9.
        ("kappa_between_orders", (2 / 3 - 4 / 9) / (1 - 4 / 9), 3),
    ],
)
def test_orders_by_hand(metric, value, n):
    figure = figures_of(PAIRS)[metric]
    assert (figure.estimate, figure.n) == (pytest.approx(value), n)


def test_two_wordings_are_one_share_with_the_items_as_clusters():
    # The same pairs under two wordings that answer alike: twice the judgements, no more items.
    once = pairs_of(PAIRS)
    columns = ("item", "stages", "truth", "listed")
    doubled = {name: np.tile(getattr(once, name), 2) for name in columns}
    one, two = (accuracy_over_wordings(pairs) for pairs in (once, replace(once, **doubled)))
    assert (one.estimate, one.n, one.n_items) == (5 / 10, 10, 5)
    assert (two.estimate, two.n, two.n_items) == (5 / 10, 20, 5)
    assert (two.lower, two.upper) == (pytest.approx(one.lower), pytest.approx(one.upper))


def test_two_ties_are_no_winner_that_both_orders_share():
    # Of 8 pairs: a tie in both orders 6 times, one winner in both once, and one for each once.
    figures = figures_of([*[(1, 2, 2)] * 6, (1, 1, 1), (1, 1, 3)], n_stages=3)
    shares = ("same_choice", "same_winner", "same_tie")
    assert [figures[name].estimate for name in shares] == [7 / 8, 1 / 8, 6 / 8]


def test_a_judge_without_a_verdict_has_no_figures():
    figures = figures_of([(1, 0, 0), (2, 0, 0)])
    assert len(figures) == 9
    assert all(one.estimate is None for one in figures.values())


def test_a_judge_that_always_takes_the_first_is_right_half_the_time_and_never_twice():
    figures = figures_of([(1 + number % 2, 1, 2) for number in range(10)])
    assert figures["first_shown_share"].estimate == 1
    assert figures["accuracy_of_all"].estimate == 0.5
    assert figures["accuracy_every_order"].estimate == 0
    assert figures["same_choice"].estimate == 0
