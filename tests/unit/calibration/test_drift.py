"""Drift of a judge since its last review: shown by intervals, or not shown at all."""

import numpy as np
import pytest

from judge_gym.calibration.checks import Margins, Result, more_items
from judge_gym.calibration.comparisons import Drift, at_look, changed_check, drift_checks
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.margins import Direction, MarginClaim

MARGINS = Margins(equivalence=5, changed_verdicts=0.1)


def check(moved, rng, *, verdicts=False):
    drift = Drift(np.array(moved, dtype=float), verdicts=verdicts)
    return drift_checks([drift], MARGINS, rng)[0]


def test_scores_that_stayed_pass_with_their_interval(rng):
    # mean 0.5, sd √(10·0.25/9) = 0.527, 2.262·0.527/√10 = 0.377
    found = check([0, 1] * 5, rng)
    assert found.result is Result.PASSES
    estimate = found.estimate
    assert (estimate.lower, estimate.upper) == pytest.approx((0.123, 0.877), abs=0.001)
    assert "0.5 points, 95% interval 0.123 to 0.877" in found.reason


def test_scores_that_fell_beyond_the_margin_fail(rng):
    # mean -10, interval -10 ± 0.377
    assert check([-10.5, -9.5] * 5, rng).result is Result.FAILS


def test_an_interval_across_the_margin_says_how_many_items_it_takes(rng):
    # mean 3, sd √(8·100/7) = 10.7, half 2.365·10.7/√8 = 8.94; (8.94/2)²·8 = 160
    found = check([13, -7] * 4, rng)
    assert found.result is Result.INCONCLUSIVE
    assert found.action == "Use more items: about 160 would show it, you have 8."


def test_items_that_all_moved_alike_are_told_by_their_signs(rng):
    # two-sided 2/2⁵ = 0.0625, 2/2⁶ = 0.03125
    assert check([0] * 5, rng).result is Result.INCONCLUSIVE
    assert check([0] * 6, rng).result is Result.PASSES
    assert check([20] * 5, rng).result is Result.INCONCLUSIVE
    assert check([20] * 6, rng).result is Result.FAILS
    assert check([-20] * 6, rng).p_adjusted == pytest.approx(1 / 32)


def test_verdicts_are_told_by_the_share_that_changed(rng):
    # Wilson: 0 of 36 reaches to 3.84/39.84 = 0.096, 0 of 30 to 3.84/33.84 = 0.114
    assert check([0] * 36, rng, verdicts=True).result is Result.PASSES
    few = check([0] * 30, rng, verdicts=True)
    assert few.result is Result.INCONCLUSIVE
    assert "about 35 would show it, you have 30" in few.action
    # 8 of 20: 0.219 to 0.613
    many = check([1] * 8 + [0] * 12, rng, verdicts=True)
    assert many.result is Result.FAILS
    assert "0.4, 95% interval 0.219 to 0.613" in many.reason


def test_several_judges_share_the_level(rng):
    """Six items that moved alike are enough alone, and not beside a second judge."""
    six = Drift(np.full(6, 20.0))
    alone = drift_checks([six], MARGINS, rng)[0]
    assert (alone.result, alone.p_adjusted) == (Result.FAILS, pytest.approx(1 / 32))
    both = drift_checks([six, Drift(np.zeros(6))], MARGINS, rng)
    assert [one.p_adjusted for one in both] == pytest.approx([1 / 16, 1 / 16])
    assert {one.result for one in both} == {Result.INCONCLUSIVE}


@pytest.mark.parametrize("verdicts", [False, True])
def test_nothing_to_compare_is_said(rng, verdicts):
    found = check([], rng, verdicts=verdicts)
    assert found.result is Result.NOT_APPLICABLE
    assert "not estimable" in found.reason
    assert check([1], rng, verdicts=verdicts).result is Result.INCONCLUSIVE


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
    assert at_look(check, claim, 58).result is Result.INCONCLUSIVE
    passes = changed_check(np.zeros(100), 10.0, 0.2)
    assert at_look(passes, claim, 10_000).result is Result.PASSES


@pytest.mark.parametrize(
    ("value", "said"), [(0.921, "would show that it does not hold"), (0.97, "would show it")]
)
def test_more_items_show_the_side_on_which_the_value_lies(value: float, said: str) -> None:
    estimate = Estimate("readable", value, value - 0.05, min(1.0, value + 0.05), 60, 60)
    assert said in more_items(estimate, MarginClaim(Direction.ABOVE, 0.95))
