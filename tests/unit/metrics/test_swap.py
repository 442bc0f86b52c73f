"""Paired effects: the swap arms and the contrasts between conditions."""

import numpy as np
import pytest

from judge_gym.metrics.cells import CellMeans, Verdicts
from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.metrics.inference import paired_contrast, score_shift
from judge_gym.metrics.presentation import Arm, swap_sensitivity, verdict_change, verdict_shift


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
    sham = swap_sensitivity(own, other, rng, Arm.SHAM)
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
    assert verdict_shift(own, other, rng, Arm.SHAM).estimate == pytest.approx(1 / 3)


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
    assert "every item gave the same value" in shift.reason
