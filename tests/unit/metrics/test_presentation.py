"""Position bias, label bias, and paired effects of the swap arms."""

import numpy as np
import pytest

from judge_gym.metrics.cells import CellMeans, Verdicts
from judge_gym.metrics.estimate import NO_SPREAD, Remark, RemarkKind
from judge_gym.metrics.inference import paired_contrast, score_shift
from judge_gym.metrics.presentation import (
    Displays,
    SwapArm,
    label_bias,
    position_bias,
    swap_sensitivity,
    verdict_change,
    verdict_shift,
)


def displays(stage, shown_first, lettered_a, judge=None, item=None, n_stages=4):
    size = len(stage)
    judge = np.zeros(size, dtype=np.int64) if judge is None else np.array(judge)
    item = np.zeros(size, dtype=np.int64) if item is None else np.array(item)
    return Displays(
        judge=judge, item=item, n_judges=int(judge.max()) + 1, n_items=int(item.max()) + 1,
        stage=np.array(stage), shown_first=np.array(shown_first),
        lettered_a=np.array(lettered_a), n_stages=n_stages,
    )  # fmt: skip


def test_a_judge_that_takes_the_first_is_found_by_position_not_by_label(rng):
    shown = displays(stage=[1, 2, 3], shown_first=[1, 2, 3], lettered_a=[4, 3, 4])
    position, label = position_bias(shown, rng), label_bias(shown, rng)
    # any verdict meets each of the three displays equally often: 1 - 1/3
    assert position.estimate == pytest.approx(1 - 1 / 3)
    # of 3! ways to deal the displays, one makes every verdict the first shown
    assert position.p == pytest.approx(1 / 6, abs=0.04)
    # one verdict of three is at 3, which is lettered A in one display of three: 0 - 1/9
    assert label.estimate == pytest.approx(-1 / 9)
    assert (position.n, position.n_items) == (3, 1)


@pytest.mark.parametrize("bias", [0.0, 0.4])
def test_planted_bias_is_recovered(rng, bias):
    # A judge that favours stage 2 whatever is shown, and follows the first with chance `bias`.
    judge, item, _ = (axis.ravel() for axis in np.indices((2, 40, 6)))
    first, letter = rng.integers(1, 5, (2, judge.size))
    latent = rng.choice([1, 2, 3, 4], size=judge.size, p=[0.1, 0.7, 0.1, 0.1])
    stage = np.where(rng.random(judge.size) < bias, first, latent)
    shown = displays(stage, first, letter, judge, item)
    position, label = position_bias(shown, rng), label_bias(shown, rng)
    # excess share = bias + (1 - bias)/4 - 1/4 = 0.75 * bias, standard error 0.02
    assert position.estimate == pytest.approx(0.75 * bias, abs=0.07)
    assert (position.p < 0.01) == (bias > 0)
    assert label.estimate == pytest.approx(0, abs=0.07)
    assert (position.lower > 0) == (bias > 0)


def test_items_weigh_the_same_whatever_their_samples(rng):
    # Item 0: judge 0 hits 2 of 2, where 1/2 is due; judge 1 hits 1 of 1, and 1 is due: 1/4.
    # Item 1: 0 of 2, and 0 is due. The mean is 1/8. Marks 1, 2 and 3 weigh 3/8, 1/8 and 1/2, so
    # that they vary by 1 - 26/64 over all cells, and within cells by 1 - (1/8 + 1/4 + 1/4).
    shown = displays(
        stage=[1, 2, 3, 2, 2],
        shown_first=[1, 2, 3, 1, 3],
        lettered_a=[1] * 5,
        judge=[0, 0, 1, 0, 0],
        item=[0, 0, 0, 1, 1],
    )
    expected = 1 / 8 * (38 / 64) / (3 / 8)
    assert position_bias(shown, rng).estimate == pytest.approx(expected)
    assert label_bias(shown, rng).estimate is None


def test_the_p_value_weighs_items_the_same_too(rng):
    # Each of three cells hits both or neither when its two displays are dealt: A alone on item
    # 0 (weight 1/2), B and C on item 1 (1/4 each). Observed A: 1/2. Of 8 deals, A with anything
    # (4) and B with C (1) reach 1/2.
    shown = displays(
        stage=[1, 2, 1, 2, 1, 2],
        shown_first=[1, 2, 2, 1, 2, 1],
        lettered_a=[1] * 6,
        judge=[0, 0, 0, 0, 1, 1],
        item=[0, 0, 1, 1, 1, 1],
    )
    assert position_bias(shown, rng, 4000).p == pytest.approx(5 / 8, abs=0.04)


@pytest.mark.parametrize(
    ("first", "item"),
    [
        ([1, 1, 1, 1], [0, 0, 1, 1]),  # one order for all
        ([1, 1, 2, 2], [0, 0, 1, 1]),  # an order per item tells items and order apart nowhere
    ],
)
def test_a_display_fixed_within_cells_identifies_nothing(rng, first, item):
    shown = displays(stage=[1, 1, 1, 2], shown_first=first, lettered_a=[1] * 4, item=item)
    for figure in (position_bias(shown, rng), label_bias(shown, rng)):
        assert figure.estimate is None
        assert "the display does not vary between the replicates" in figure.reason


def test_the_order_of_rows_does_not_matter(rng):
    shown = displays(
        stage=[1, 2, 3, 4], shown_first=[1, 3, 3, 2], lettered_a=[1] * 4, item=[0, 1, 0, 1]
    )
    turned = shown.rows(np.array([3, 1, 2, 0]))
    assert position_bias(shown, rng).estimate == position_bias(turned, rng).estimate


def of_pairs(chosen_first, chosen_second):
    """Pairs shown in both orders: stage 1 is the first text, 3 the second, 2 a tie."""
    pairs = len(chosen_first)
    stage = np.stack([chosen_first, chosen_second], axis=1).ravel()
    first = np.tile([1, 3], pairs)
    return displays(stage, first, first, item=np.repeat(np.arange(pairs), 2), n_stages=3)


@pytest.mark.parametrize(
    ("as_given", "turned", "excess"),
    [
        ([1, 3] * 50, [1, 3] * 50, 0),  # the same text whatever the order
        ([2] * 100, [2] * 100, 0),  # always a tie, which never stands first
        ([1] * 100, [3] * 100, 1 / 2),  # always the text shown first: 1, and 1/2 is due
        ([3] * 100, [1] * 100, -1 / 2),
        ([1] * 50 + [2] * 50, [3] * 50 + [2] * 50, 1 / 4),
        ([1] * 100, [2] * 100, 1 / 4),  # 1/2 of its verdicts; due are 1/2 of those not a tie
    ],
)
def test_pairs_in_both_orders_are_compared_with_their_own_null(rng, as_given, turned, excess):
    shown = of_pairs(as_given, turned)
    for figure in (position_bias(shown, rng, 200), label_bias(shown, rng, 200)):
        assert figure.estimate == pytest.approx(excess, abs=1e-12)
        assert (figure.p < 0.01) == (excess > 0)


def test_the_bias_does_not_depend_on_the_number_of_replicates(rng):
    # A judge that takes the first of 4 with probability 0.6: 0.6·(1 - 1/4) = 0.45.
    for replicates in (2, 3, 10):
        judge, item, _ = (axis.ravel() for axis in np.indices((1, 3000, replicates)))
        first = rng.integers(1, 5, judge.size)
        latent = rng.choice([1, 2, 3, 4], size=judge.size, p=[0.1, 0.7, 0.1, 0.1])
        stage = np.where(rng.random(judge.size) < 0.6, first, latent)
        shown = displays(stage, first, first, judge, item)
        assert position_bias(shown, rng, 100).estimate == pytest.approx(0.45, abs=0.03)


def test_swap_sensitivity_pairs_cells_by_item(build_probes, rng):
    # items: 0.6 - 0.8 = -0.2 and 0.5 - 0.6 = -0.1; items 2 and 3 have one arm only.
    own = build_probes([[[(1, 0.7), (1, 0.9)], [(1, 0.6)], [(1, 0.1)], []]])
    rival = build_probes([[[(2, 0.6)], [(2, 0.5)], [], [(2, 1.0)]]])
    effect = swap_sensitivity(own, rival, rng)
    assert effect.estimate == pytest.approx(-0.15)
    assert (effect.n, effect.n_items) == (5, 2)
    assert effect.p == 0.5  # both signs agree: 2 of 4 flips reach |sum| = 0.3
    # s = 0.0707107, s/sqrt(2) = 0.05, t(1) = 12.7062: half-width 0.63531
    assert (effect.lower, effect.upper) == pytest.approx((-0.78531, 0.48531), abs=1e-5)
    assert effect.metric == "swap_sensitivity"
    assert Remark(RemarkKind.FEW_ITEMS, 2, 15) in effect.remarks


def test_judges_are_averaged_within_the_item(build_probes, rng):
    own = build_probes([[[(1, 0.5)], [(1, 0.5)]], [[(1, 0.5)], []]])
    other = build_probes([[[(1, 0.3)], [(1, 0.1)]], [[(1, 0.7)], [(1, 0.9)]]])
    # item 0: (-0.2 + 0.2)/2 = 0; item 1: only the first judge has both arms, -0.4
    sham = swap_sensitivity(own, other, rng, SwapArm.SHAM)
    assert (sham.metric, sham.estimate) == ("sham_sensitivity", pytest.approx(-0.2))


def test_no_shared_item_is_a_reason(build_probes, build_verdicts, rng):
    probes = swap_sensitivity(
        build_probes([[[(1, 0.5)], []]]), build_probes([[[], [(1, 0.5)]]]), rng
    )
    own, other = build_verdicts([[[1], []]]), build_verdicts([[[], [1]]])
    for figure in (probes, verdict_shift(own, other, rng), verdict_change(own, other, rng)):
        assert figure.estimate is None
        assert figure.reason.startswith("not estimable, because no judge has")


def test_verdicts_that_move_apart_shift_by_nothing_but_change(build_verdicts, rng):
    # item 0 moves 1 -> 4 (+1), item 1 moves 4 -> 1 (-1)
    own = build_verdicts([[[1] * 5, [4] * 5]])
    other = build_verdicts([[[4] * 5, [1] * 5]])
    assert verdict_shift(own, other, rng).estimate == 0
    change = verdict_change(own, other, rng)
    assert change.estimate == 1
    # Per item E|2k/5 - 1| with k hypergeometric(10, 5, 5): sum C(5,k)^2/252 * |2k - 5|/5
    # = 2 * (1*1 + 25*0.6 + 100*0.2)/252 = 2/7
    assert change.floor == pytest.approx(2 / 7, abs=0.03)
    assert change.p < 0.01


def test_a_shift_is_in_shares_of_the_scale(build_verdicts, rng):
    own, other = build_verdicts([[[1, 2], [2, 2]]]), build_verdicts([[[2, 3], [3, 3]]])
    assert verdict_shift(own, other, rng, SwapArm.SHAM).estimate == pytest.approx(1 / 3)


def test_one_replicate_cannot_tell_change_from_noise(build_verdicts, rng):
    change = verdict_change(build_verdicts([[[1], [2]]]), build_verdicts([[[3], [2]]]), rng)
    assert change.estimate == pytest.approx(1 / 3)
    assert change.floor == pytest.approx(change.estimate)
    assert change.p == 1


def test_noise_alone_stays_at_the_floor(rng):
    def draw():
        judge, item, _ = np.indices((2, 30, 5))
        return Verdicts(
            judge=judge.ravel(), item=item.ravel(), stages=1 << rng.integers(0, 4, judge.size),
            n_judges=2, n_items=30, n_stages=4,
        )  # fmt: skip

    change = verdict_change(draw(), draw(), rng)
    assert change.estimate == pytest.approx(change.floor, abs=0.04)
    assert change.p > 0.05


def test_change_weighs_items_equally_whatever_the_number_of_judges(build_verdicts, rng):
    # item 0: judges change by 1 and 0, mean 1/2; item 1: one judge, no change. Mean 1/4.
    own = build_verdicts([[[1], [2]], [[3], []]])
    other = build_verdicts([[[4], [2]], [[3], [1]]])
    change = verdict_change(own, other, rng)
    assert change.estimate == pytest.approx(0.25)
    assert (change.n, change.n_items) == (6, 2)


def test_conditions_on_different_scales_compare_on_zero_to_one(build_verdicts, rng):
    # stage 2 of 3 is 1/2, stage 4 of 5 is 3/4; the second item 1 -> 1 does not move
    before = build_verdicts([[[2], [1]]], n_stages=3)
    after = build_verdicts([[[4], [1]]], n_stages=5)
    shift = score_shift("tone_effect", before, after, rng)
    assert (shift.metric, shift.estimate) == ("tone_effect", pytest.approx(0.125))


def test_conditions_must_index_the_same_items(rng):
    one, two = (
        CellMeans(np.zeros((1, size)), np.ones((1, size), dtype=np.int64)) for size in (1, 2)
    )
    with pytest.raises(ValueError, match="different judges or items"):
        paired_contrast("effect", one, two, rng, "share")


def test_rubrics_must_index_the_same_items(build_verdicts, rng):
    with pytest.raises(ValueError, match="different judges or items"):
        verdict_change(build_verdicts([[[1]]]), build_verdicts([[[1], [2]]]), rng)


def test_a_constant_move_has_a_p_but_no_interval(build_verdicts, rng):
    own, other = build_verdicts([[[3]] * 4]), build_verdicts([[[2]] * 4])
    shift = verdict_shift(own, other, rng)
    assert shift.p == 0.125  # 2 of 2^4 sign patterns
    assert (shift.lower, shift.upper) == (None, None)
    assert NO_SPREAD in shift.reason
