"""Drops, invariances and trends: verdicts on effects that are planted."""

import numpy as np
import pytest
from scipy.special import stdtr

from judge_gym.calibration.checks import Margins, Result
from judge_gym.calibration.monotonicity import (
    Effect,
    SeverityCurve,
    curve_checks,
    effect_checks,
    severity_means,
)
from judge_gym.planted.editing import Expectation

DROP, STAY, RISE = Expectation.DROP, Expectation.INVARIANT, Expectation.RISE
MARGINS = Margins()


def effect(moved, expectation=DROP, name="vague_ify", **more):
    """An effect whose perturbed items are these points above their originals."""
    original = np.linspace(40, 80, len(moved)) if len(moved) else np.empty(0)
    return Effect(name, expectation, original, original + np.array(moved, dtype=float), **more)


def one(found, rng):
    (check,) = effect_checks([found], MARGINS, rng)
    return check


def test_a_clear_drop_passes_and_says_how_large(rng):
    check = one(effect([-8, -12, -9, -11, -10, -7, -13, -10]), rng)
    assert check.result is Result.PASSES
    # s² = 28/7 = 4: t = 10·√8/2 with 7 degrees of freedom
    expected = stdtr(7, -10 * 8**0.5 / 2)
    assert (check.estimate.estimate, check.estimate.p) == (10, pytest.approx(expected))
    assert check.p_adjusted == check.estimate.p
    dz = check.beside[0]
    assert (dz.metric, dz.estimate) == ("effect_dz", pytest.approx(10 / 2))
    assert check.action == ""


def test_a_rise_never_passes_for_a_drop(rng):
    check = one(effect([8, 12, 9, 11, 10, 7, 13, 10]), rng)
    assert check.result is Result.FAILS
    assert check.estimate.p > 0.999
    assert "rewards vague_ify" in check.action
    assert "does not see" not in check.action
    same_for_all = one(effect([5] * 8), rng)
    assert same_for_all.result is Result.FAILS
    assert "rewards vague_ify" in same_for_all.action
    lower = one(effect([-8, -12, -9, -11, -10, -7, -13, -10], RISE), rng)
    assert "scores vague_ify lower" in lower.action
    # A mean rise of 0.1 whose interval holds 0 is no reward.
    blind = one(effect([1, -1] * 20 + [2]), rng)
    assert blind.result is Result.FAILS
    assert "does not see vague_ify" in blind.action
    assert one(effect([8, 12, 9, 11, 10, 7, 13, 10], RISE), rng).result is Result.PASSES


def test_too_few_items_say_how_many_it_takes(rng):
    check = one(effect([-5, 3, -4, 2, -6, 1, -3, 2, -5, 4, -2, 1, -3, 2, -4]), rng)
    assert check.result is Result.CANNOT_TELL
    assert check.action == (
        "Use more items: 34 items needed to find an effect of d_z 0.5, you have 15."
    )


def test_a_judge_that_moves_nothing_is_blind_once_there_are_enough_items(rng):
    assert one(effect([0] * 6), rng).result is Result.FAILS
    assert one(effect([0] * 5), rng).result is Result.CANNOT_TELL


def test_a_deterministic_judge_with_one_drop_for_all(rng):
    # no spread: no d_z, yet 1/2^6 of all signs reach it
    check = one(effect([-10] * 6), rng)
    assert check.result is Result.PASSES
    assert check.beside[0].estimate is None
    assert one(effect([-10] * 5), rng).result is Result.CANNOT_TELL


def test_a_significant_drop_that_is_too_small_fails(rng):
    # 400 items, d_z near 0.2: p far below the level, its interval below 0.5
    check = one(effect(rng.normal(-2, 10, 400)), rng)
    assert check.estimate.p < 0.001
    assert check.result is Result.FAILS


def test_invariance_is_shown_not_assumed(rng):
    still = one(effect([1, -1, 0, 1, -1, 0, 1, -1], STAY, "tone"), rng)
    assert still.result is Result.PASSES
    noisy = one(effect([20, -18, 15, -22, 19, -14], STAY, "tone"), rng)
    assert noisy.result is Result.CANNOT_TELL
    # sd √(1990/5) = 19.95: 5·√n/19.95 reaches t(168) + 1.282 = 3.256 at 169
    assert "169 items needed to show a change below 5 points, you have 6" in noisy.action
    moved = one(effect([9, 11, 10, 12, 8, 10, 9], STAY, "tone"), rng)
    assert moved.result is Result.FAILS
    assert "reacts to tone" in moved.action


def test_invariance_of_a_deterministic_judge(rng):
    same = one(effect([0] * 6, STAY), rng)
    assert (same.result, same.estimate.p) == (Result.PASSES, 1 / 2**6)
    assert "most texts" in same.question
    assert "up to 46% may move" in same.reason  # 0.025 = (1 - 0.46)^6
    assert one(effect([5] * 6, STAY), rng).result is Result.FAILS
    varies = one(effect([0, 1, -1, 0, 1, -1, 0, 0], STAY), rng)
    assert "moves the score" in varies.question


def test_holm_runs_over_all_types(rng):
    drops = [-4, -6, -1, -8, -3, -5, -2, 1]
    alone = one(effect(drops), rng)
    others = [effect([0, 1, -1, 2, 0, -1, 1, -2], name=f"other{k}") for k in range(7)]
    together = effect_checks([effect(drops), *others], MARGINS, rng)[0]
    assert alone.result is Result.PASSES
    assert together.p_adjusted == pytest.approx(8 * alone.estimate.p)
    assert together.result is Result.CANNOT_TELL


def test_what_could_not_be_changed_is_not_applicable(rng):
    check = one(effect([], not_applicable=9), rng)
    assert check.result is Result.NOT_APPLICABLE
    assert "it could be applied to none of 9 items" in check.reason
    partly = one(effect([-10] * 8, not_applicable=3), rng)
    assert "not applicable to 3 of 11 items" in partly.reason
    assert partly.estimate.n_items == 8


def curve(points, expectation=DROP):
    return SeverityCurve(
        "vague_ify", expectation, np.array([0, 0.5, 1]), np.array(points, dtype=float)
    )


def test_the_more_the_further():
    falling = curve([[80, 70, 60], [70, 65, 50], [90, 80, 75], [60, 55, 40], [50, 45, 41]])
    (check,) = curve_checks([falling])
    assert check.result is Result.PASSES
    # slopes over severity 0 to 1: 20, 20, 15, 20, 9
    assert check.estimate.estimate == pytest.approx(16.8)
    # all five items in the one order of 3! that falls: 1/6^5
    assert check.estimate.p == pytest.approx(1 / 6**5)
    assert [point.estimate for point in severity_means(falling)] == pytest.approx([70, 63, 53.2])


def test_a_trend_the_wrong_way_fails():
    rising = curve([[60, 70, 80], [50, 65, 70], [75, 80, 90], [40, 55, 60], [41, 45, 50]])
    (check,) = curve_checks([rising])
    assert check.result is Result.FAILS
    assert curve_checks([curve(rising.points, RISE)])[0].result is Result.PASSES
    assert curve_checks([curve(rising.points, STAY)]) == []


def test_a_judge_that_never_moves_is_not_told_to_take_more_items():
    (still,) = curve_checks([curve([[60, 60, 60], [50, 50, 50], [75, 75, 75]])])
    (moving,) = curve_checks([curve([[60, 60, 59], [50, 51, 50], [75, 75, 75]])])
    assert still.result is moving.result is Result.CANNOT_TELL
    assert "more items do not change" in still.action
    assert moving.action == "Use more items, or more severities."


def test_a_trend_needs_three_severities():
    two = SeverityCurve("vague_ify", DROP, np.array([0.0, 1]), np.ones((9, 2)))
    (check,) = curve_checks([two])
    assert check.result is Result.NOT_APPLICABLE
    assert "there are 2 and 9" in check.reason
    assert "three severities" in check.action
    (check,) = curve_checks([curve(np.empty((0, 3)))])
    assert "there are 3 and 0" in check.reason
    assert "three severities" not in check.action
    assert "every severity" in check.action


def test_size_and_power_of_the_drop():
    # at d_z = 0 a pass is a false one: 2.5% of 300 sets; at d_z = 0.5 and 34 items 80%
    rng = np.random.default_rng(5)

    def passes(shift):
        sets = [one(effect(rng.normal(-shift, 10, 34)), rng).result for _ in range(60)]
        return sets.count(Result.PASSES) / len(sets)

    assert passes(0) <= 0.1
    assert 0.65 <= passes(5) <= 0.95


def test_the_items_said_to_be_needed_are_enough_after_holm():
    # one effect of d_z 0.5 among 12 tests: 34 items found it in two thirds of sets
    rng = np.random.default_rng(6)
    few = effect(rng.normal(-5, 10, 30))
    others = [effect(rng.normal(0, 10, 30), name=f"other{k}") for k in range(11)]
    check = next(
        one
        for one in effect_checks([few, *others], MARGINS, rng)
        if one.result is not Result.PASSES
    )
    assert "60 items needed to find an effect of d_z 0.5" in check.action

    def found():
        moved = [effect(rng.normal(-5, 10, 60))]
        moved += [effect(rng.normal(0, 10, 60), name=f"other{k}") for k in range(11)]
        return effect_checks(moved, MARGINS, rng)[0].result is Result.PASSES

    assert sum(found() for _ in range(100)) >= 74


def test_the_interval_shown_is_the_one_tested(rng):
    drops = [-4, -6, -1, -8, -3, -5, -2, 1]
    others = [effect([0, 1, -1, 2, 0, -1, 1, -2], name=f"other{k}") for k in range(7)]
    alone, together = one(effect(drops), rng), effect_checks([effect(drops), *others], MARGINS, rng)
    assert "3.5 points, 95% interval 1.09 to 5.91" in alone.reason
    # 97.5% one-sided over 8 tests: 99.4%, which no longer leaves out 0
    assert "99.4% interval -0.423 to 7.42" in together[0].reason
    assert together[0].result is Result.CANNOT_TELL
    blind = one(effect([0, -1, 1, 0, 1, -1] * 8), rng)
    assert blind.result is Result.FAILS
    assert "d_z" in blind.reason
