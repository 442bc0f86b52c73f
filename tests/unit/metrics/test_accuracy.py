"""Accuracy against answers and indices, by pair of judges and over both orders of display."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from judge_gym.metrics.accuracy import (
    both_orders_correct,
    cohens_kappa,
    control_error,
    control_rank_correlation,
    order_inconsistency,
    pair_balance,
    set_utilities,
    share_correct,
    stage_error,
    subset_accuracy,
    truth_stages,
    votes,
)
from judge_gym.metrics.estimate import Remark, RemarkKind, clustered_wilson, wilson


def test_an_index_maps_to_the_nearest_stage_halves_up():
    index = np.array([0, 0.16, 0.17, 0.5, 0.84, 1])
    # of four stages: 3v = 0, .48, .51, 1.5, 2.52, 3
    assert truth_stages(index, 4).tolist() == [1, 1, 2, 3, 4, 4]
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        truth_stages(np.array([1.1]), 4)


def test_share_correct_with_one_verdict_per_item_is_plain_wilson(build_verdicts):
    estimate = share_correct(build_verdicts([[[1], [2], [3], [4]]]), np.array([1, 2, 3, 1]))
    assert estimate.estimate == 3 / 4
    assert (estimate.lower, estimate.upper) == pytest.approx(wilson(3, 4))
    assert Remark(RemarkKind.FEW_ITEMS, 4, 100) in estimate.remarks


@pytest.mark.parametrize(
    ("truth", "said", "chance"),
    [
        # two of four stages are ever true: a coin gets 1/2, this judge's shares 3/8
        ([1, 1, 3, 3], [1, 3, 2, 1], 1 / 2),
        # always the frequent stage: 3/4 without looking, and no more
        ([1, 1, 1, 3], [1, 1, 1, 1], 3 / 4),
        # three stages are true: 1/3 against 1/2*1/2 + 1/4*1/4 + 1/4*1/4 = 3/8
        ([1, 1, 2, 3], [1, 1, 2, 3], 3 / 8),
        ([1, 1, 1, 1], [1, 1, 1, 3], None),
    ],
)
def test_chance_is_that_of_the_better_guesser(build_verdicts, truth, said, chance):
    estimate = share_correct(build_verdicts([[[one] for one in said]]), np.array(truth))
    assert estimate.floor == (None if chance is None else pytest.approx(chance))


def test_replicates_do_not_pass_for_items(build_verdicts):
    estimate = share_correct(build_verdicts([[[1] * 5, [2] * 5]]), np.array([1, 1]))
    expected = clustered_wilson(np.array([5, 0]), np.array([5, 5]))
    assert (estimate.lower, estimate.upper) == pytest.approx(expected)


def test_point_figures_refuse_sets_and_emptiness(build_verdicts, rng):
    sets, nothing = build_verdicts([[[1, (1, 2)]]]), build_verdicts([[[]]])
    for figure in (share_correct(sets, np.array([1])), cohens_kappa(sets, np.array([1]), rng)):
        assert "1 of 2 verdicts name several stages" in figure.reason
    assert "there is no verdict" in share_correct(nothing, np.array([1])).reason


@pytest.mark.parametrize("truth", [0, 5])
def test_a_truth_off_the_scale_is_refused(build_verdicts, rng, truth):
    verdicts = build_verdicts([[[1]]])
    for measure in (share_correct, subset_accuracy):
        with pytest.raises(ValueError, match=r"outside 1\.\.4"):
            measure(verdicts, np.array([truth]))
    with pytest.raises(ValueError, match=r"outside 1\.\.4"):
        cohens_kappa(verdicts, np.array([truth]), rng)


def test_kappa_by_hand(build_verdicts, rng):
    # truth 1,1,1,2 / verdict 1,1,2,2: observed 3/4; expected 3/4*1/2 + 1/4*1/2 = 1/2; kappa 1/2
    verdicts = build_verdicts([[[1], [1], [2], [2]]])
    truth = np.array([1, 1, 1, 2])
    estimate = cohens_kappa(verdicts, truth, rng)
    assert estimate.estimate == pytest.approx(0.5)
    assert estimate.lower < 0.5 < estimate.upper
    # with two stages in use all weights are equal, squared or not
    assert cohens_kappa(verdicts, truth, rng, quadratic=True).estimate == pytest.approx(0.5)


def test_kappa_of_a_constant_judge_is_chance(build_verdicts, rng):
    verdicts = build_verdicts([[[1], [1], [1], [1]]])
    assert cohens_kappa(verdicts, np.array([1, 1, 1, 2]), rng).estimate == pytest.approx(0)


@pytest.mark.parametrize("said", [[1, 1, 1, 1], [1, 1, 2, 2]])
def test_kappa_says_nothing_where_the_truth_is_one_stage(build_verdicts, rng, said):
    estimate = cohens_kappa(build_verdicts([[[one] for one in said]]), np.array([1] * 4), rng)
    assert estimate.estimate is None
    assert "same stage throughout" in estimate.reason


def test_subset_figures_by_hand(build_verdicts):
    # truth 2: {2} earns 1; {2,3}: 1/2, .65, .80; {1,4}: 0; each on an item of its own
    verdicts = build_verdicts([[[2], [(2, 3)], [(1, 4)]]])
    figures = {f.metric: f.estimate for f in subset_accuracy(verdicts, np.array([2, 2, 2]))}
    assert figures == pytest.approx(
        {
            "coverage": 2 / 3,
            "accuracy_discounted": 1.5 / 3,
            "accuracy_u65": 1.65 / 3,
            "accuracy_u80": 1.8 / 3,
        }
    )


@given(st.lists(st.tuples(st.integers(1, 31), st.integers(1, 5)), min_size=1, max_size=20))
@settings(max_examples=50)
def test_caution_is_rewarded_between_discount_and_coverage(pairs):
    stages, truth = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    earned = set_utilities(stages, truth)
    covered = (stages >> (truth - 1)) & 1
    ladder = [np.zeros(len(pairs)), earned.discounted, earned.u65, earned.u80, covered]
    assert all((low <= high + 1e-12).all() for low, high in pairwise(ladder))


def test_both_orders_must_outvote_a_position(rng):
    # item 0: right twice; 1: always picks the first, +1 - 1; 2: right and a tie; 3: wrong, tie;
    # 4: right in the one order it was shown in, which may be its place; 5: not judged;
    # 6: always picks the first, asked twice as listed
    item = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 6, 6, 6])
    vote = np.array([1, 1, 1, -1, 1, 0, -1, 0, 1, 1, -1, 1])
    listed = np.array([True, False] * 4 + [True, True, False, True])
    estimate = both_orders_correct(item, vote, listed, n_items=7)
    assert (estimate.estimate, estimate.n, estimate.n_items) == (2 / 5, 11, 5)
    assert (estimate.lower, estimate.upper) == pytest.approx(wilson(2, 5))


def test_pairs_of_one_order_have_no_accuracy_over_both():
    item, vote = np.array([0, 1]), np.array([1, 1])
    for listed in (np.array([True, True]), np.array([True, False])):
        estimate = both_orders_correct(item, vote, listed, n_items=2)
        assert estimate.estimate is None
        assert "no pair is judged in both orders" in estimate.reason


def test_a_tie_votes_for_the_pair_whose_answers_are_as_good():
    # first, tie, second and none (a bitmask each), where the first is right and where a tie is
    stages = np.array([1, 2, 4, 0] * 2)
    truth = np.repeat([1, 2], 4)
    assert votes(stages, truth, 3).tolist() == [1, 0, -1, 0, -1, 1, -1, 0]


def test_the_distance_from_the_true_stage_is_in_stages_and_of_all_verdicts(build_verdicts):
    # Item 1: 1 and 4 of a true 2 are off by 1 and 2; item 2: 3 of a true 3 by 0.
    verdicts, truth = build_verdicts([[[1, 4], [3]]], n_stages=9), np.array([2, 3])
    estimate = stage_error(verdicts, truth)
    assert estimate.estimate == pytest.approx((1 + 2 + 0) / 3)
    # A ratio of 3 to 3: residuals 3 - 2 and 0 - 1, so s = sqrt(2); n is 1.5 on average.
    half = t.ppf(0.975, df=1) * (2**0.5 / 1.5) / 2**0.5
    assert (estimate.lower, estimate.upper) == (0, pytest.approx(min(8, 1 + half)))
    assert (estimate.n, estimate.n_items, estimate.unit) == (3, 2, "stages")
    # It is of the same answers as the accuracy beside it: 0 or 1 stage off, and right or wrong.
    near = build_verdicts([[[1, 2, 2], [2], [1, 1]]], n_stages=2)
    stages = np.array([2, 1, 1])
    assert stage_error(near, stages).estimate == pytest.approx(
        1 - (share_correct(near, stages).estimate or 0)
    )
    assert stage_error(build_verdicts([[[(1, 2)]]]), np.array([1])).estimate is None


def test_control_error_is_of_single_verdicts(build_verdicts):
    # item 0: |0 - .5| and |1 - .5| are both .5 though their mean is exact; item 1: |1/3 - 1/3|
    estimate = control_error(build_verdicts([[[1, 4], [2]]]), np.array([0.5, 1 / 3]))
    assert estimate.estimate == pytest.approx(0.25)


def test_rank_correlation_shares_ranks_among_ties(build_verdicts):
    # score ranks 1.5, 1.5, 3, 4, 5 against 1..5: sum of squared centred ranks 9.5 and 10,
    # cross product 9.5; rho = 9.5 / sqrt(95)
    verdicts = build_verdicts([[[1], [1], [2], [3], [4]]])
    estimate = control_rank_correlation(verdicts, np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    rho = 9.5 / 95**0.5
    assert estimate.estimate == pytest.approx(rho)
    # Bonett-Wright: z = atanh(rho) = 2.178..., half 1.959964 * sqrt((1 + rho^2/2)/2)
    half = 1.959964 * ((1 + 0.95 / 2) / 2) ** 0.5
    expected = np.tanh(np.arctanh(rho) - half), np.tanh(np.arctanh(rho) + half)
    assert (estimate.lower, estimate.upper) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("stages", "index", "estimate", "reason"),
    [
        ([1, 2, 3], [0.1, 0.2, 0.3], None, "needs 4 items, and there are 3"),
        ([2, 2, 2, 2], [0.1, 0.2, 0.3, 0.4], None, "are the same for all items"),
        ([1, 2, 3, 4], [0.4, 0.3, 0.2, 0.1], -1, "the ranks agree perfectly"),
    ],
)
def test_rank_correlation_says_what_is_missing(build_verdicts, stages, index, estimate, reason):
    figure = control_rank_correlation(build_verdicts([[[s] for s in stages]]), np.array(index))
    assert figure.estimate == (None if estimate is None else pytest.approx(estimate))
    assert reason in figure.reason
    assert figure.lower is None


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
