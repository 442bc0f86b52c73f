"""Drift of a judge since its last review: shown by intervals, or not shown at all."""

import numpy as np
import pytest

from judge_gym.calibration.checks import Margins, Result, more_items
from judge_gym.calibration.comparisons import (
    Drift,
    at_look,
    changed_check,
    compare_judges,
    drift_checks,
)
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.margins import Direction, MarginClaim

MARGINS = Margins(equivalence=5, changed_verdicts=0.1)


def check(moved, *, verdicts=False):
    drift = Drift(np.array(moved, dtype=float), verdicts=verdicts)
    return drift_checks([drift], MARGINS)[0]


def test_scores_that_stayed_pass_with_their_interval():
    # mean 0.5, sd √(10·0.25/9) = 0.527, 2.262·0.527/√10 = 0.377
    found = check([0, 1] * 5)
    assert found.result is Result.PASSES
    estimate = found.estimate
    assert (estimate.lower, estimate.upper) == pytest.approx((0.123, 0.877), abs=0.001)
    assert "0.5 points, 95% interval 0.123 to 0.877" in found.reason


def test_scores_that_fell_beyond_the_margin_fail():
    # mean -10, interval -10 ± 0.377
    assert check([-10.5, -9.5] * 5).result is Result.FAILS


def test_an_interval_across_the_margin_says_how_many_items_it_takes():
    # mean 3, sd √(8·100/7) = 10.7, half 2.365·10.7/√8 = 8.94; (8.94/2)²·8 = 160
    found = check([13, -7] * 4)
    assert found.result is Result.CANNOT_TELL
    assert found.action == "Use more items: about 160 would show it, you have 8."


@pytest.mark.parametrize(
    ("items", "result"),
    [
        # 0.95⁷¹ = 0.0262 and 0.95⁷² = 0.0249, beside 0.025
        (6, Result.CANNOT_TELL),
        (20, Result.CANNOT_TELL),
        (71, Result.CANNOT_TELL),
        (72, Result.PASSES),
    ],
)
def test_items_that_did_not_move_bound_what_others_may(items, result):
    found = check([0] * items)
    assert found.result is result
    if result is Result.CANNOT_TELL:
        assert found.needed == 72
        assert "about 72 would show it" in found.action
    assert found.p_adjusted == pytest.approx(min(1.0, 2 * 0.95**items))


@pytest.mark.parametrize("value", [20, -20, 5.1])
@pytest.mark.parametrize(("items", "result"), [(6, Result.CANNOT_TELL), (7, Result.FAILS)])
def test_a_judge_most_of_whose_texts_moved_beyond_the_margin_fails(value, items, result):
    """Two sides of two tests: 4/2⁶ = 0.0625, 4/2⁷ = 0.03125. The mean alone would take 28 at 20."""
    found = check([value] * items)
    assert found.result is result
    assert found.p_adjusted == pytest.approx(4 / 2**items)
    way = "up" if value > 0 else "down"
    assert f"{items} of {items} texts moved by more than 5 {way}" in found.reason
    if result is Result.CANNOT_TELL:
        assert found.needed == 7
        assert "about 7 would show that it does not hold" in found.action


def test_a_mean_beyond_the_margin_by_few_texts_is_no_move_of_most():
    # 3 of 20 by 100: the mean is 15, Clopper and Pearson's lower end 3.2%.
    found = check([100] * 3 + [0] * 17)
    assert found.result is Result.CANNOT_TELL
    assert "3 of 20 texts moved by more than 5 up" in found.reason
    # 12 of 80, and one more text by -100: drawn weights put the mean at 5 or below in about 1.2%.
    moved = [100.0] * 12 + [0.0] * 68
    found = check(moved)
    assert found.result is Result.FAILS
    weights = np.random.default_rng(1).dirichlet(np.ones(81), 40_000)
    below = np.mean(weights @ np.array([*moved, -100.0]) <= 5)
    assert found.p_adjusted == pytest.approx(4 * below, rel=0.1)


def test_the_bias_of_two_judges_and_drift_have_one_rule(rng):
    few_far, noise = np.repeat([100.0, 0.0], [2, 98]), rng.normal(1, 3, 30)
    for old, moved in ((0, np.zeros(80)), (0, few_far), (50, noise)):
        before = np.full(len(moved), float(old))
        bias = compare_judges(before, before + moved, Margins(), rng).checks[0]
        found = check(moved)
        ends = bias.estimate.lower, bias.estimate.upper
        assert (found.estimate.lower, found.estimate.upper) == pytest.approx(ends)
        assert found.result is bias.result
        assert found.needed == bias.needed


@pytest.mark.slow
@pytest.mark.parametrize(("items", "most"), [(20, 0.0), (72, 0.04), (150, 0.04)])
def test_of_texts_of_which_a_twentieth_moves_by_the_scale_few_sets_pass(items, most):
    """The mean moves by the margin: 2.5% may pass. By signs and t 35, 10 and 5% did."""
    rng = np.random.default_rng(5)
    passed = sum(
        check(100.0 * (rng.random(items) < 0.05)).result is Result.PASSES for _ in range(1000)
    )
    assert passed <= 1000 * most


def test_verdicts_are_told_by_the_share_that_changed():
    # Wilson: 0 of 36 reaches to 3.84/39.84 = 0.096, 0 of 30 to 3.84/33.84 = 0.114
    assert check([0] * 36, verdicts=True).result is Result.PASSES
    few = check([0] * 30, verdicts=True)
    assert few.result is Result.CANNOT_TELL
    assert "about 35 would show it, you have 30" in few.action
    # 8 of 20: 0.219 to 0.613
    many = check([1] * 8 + [0] * 12, verdicts=True)
    assert many.result is Result.FAILS
    assert "0.4, 95% interval 0.219 to 0.613" in many.reason


def test_several_judges_share_the_level():
    """80 items that did not move are enough alone, and not beside a second judge: 86 are."""
    still = Drift(np.zeros(80))
    alone = drift_checks([still], MARGINS)[0]
    assert (alone.result, alone.p_adjusted) == (Result.PASSES, pytest.approx(2 * 0.95**80))
    for one in drift_checks([still, still], MARGINS):
        assert (one.result, one.p_adjusted) == (Result.CANNOT_TELL, pytest.approx(4 * 0.95**80))
        # ln 0.0125 / ln 0.95 = 85.4
        assert one.needed == 86
        assert "about 86 would show it" in one.action
    enough = Drift(np.zeros(86))
    assert {one.result for one in drift_checks([enough, enough], MARGINS)} == {Result.PASSES}


@pytest.mark.parametrize("verdicts", [False, True])
def test_nothing_to_compare_is_said(verdicts):
    found = check([], verdicts=verdicts)
    assert found.result is Result.NOT_APPLICABLE
    assert "not estimable" in found.reason
    assert check([1], verdicts=verdicts).result is Result.CANNOT_TELL


def test_at_its_margin_a_judge_fails_in_at_most_a_twentieth_of_streams_of_looks() -> None:
    """A fifth of 100 texts changes at each of 60 looks; by its interval alone many streams fail."""
    rng, claim = np.random.default_rng(3), MarginClaim(Direction.BELOW, 0.2)
    spent = alone = 0
    for _ in range(100):
        looks = [changed_check(30.0 * (rng.random(100) < 0.2), 10.0, 0.2) for _ in range(60)]
        alone += any(check.result is Result.FAILS for check in looks)
        spent += any(
            at_look(check, claim, look).result is Result.FAILS
            for look, check in enumerate(looks, start=1)
        )
    assert spent <= 5
    assert alone > 30


def test_a_look_fails_by_a_level_that_sums_to_a_twentieth() -> None:
    """40 of 100 beside a margin of 0.2: Wilson's half below is 0.4 - 0.3094, so t is 4.380 and the
    one-sided p, of 99 degrees of freedom, 1.475e-5: below 0.05 / (look·(look + 1)) to look 57."""
    check = changed_check(np.repeat([30.0, 0.0], [40, 60]), 10.0, 0.2)
    claim = MarginClaim(Direction.BELOW, 0.2)
    assert at_look(check, claim, 1) == check
    assert at_look(check, claim, 57).result is Result.FAILS
    assert at_look(check, claim, 58).result is Result.CANNOT_TELL
    passes = changed_check(np.zeros(100), 10.0, 0.2)
    assert at_look(passes, claim, 10_000).result is Result.PASSES


@pytest.mark.parametrize(
    ("value", "said"), [(0.921, "would show that it does not hold"), (0.97, "would show it")]
)
def test_more_items_show_the_side_on_which_the_value_lies(value: float, said: str) -> None:
    estimate = Estimate("readable", value, value - 0.05, min(1.0, value + 0.05), 60, 60)
    assert said in more_items(estimate, MarginClaim(Direction.ABOVE, 0.95))
