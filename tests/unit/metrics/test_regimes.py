"""Regimes: each is recognised where it is distinct, and no wrong one is named from few items."""

import numpy as np
import pytest

from judge_gym.metrics.regimes import (
    Regime,
    UsePerItem,
    regime_chances,
    response_curve,
    steepest_rise,
    steepest_share,
)
from judge_gym.planted.regimes import REGIME_JUDGES, STAGES

PLANTED = {judge.name: judge for judge in REGIME_JUDGES}


def use_of(regime: Regime, position: np.ndarray, rng: np.random.Generator) -> UsePerItem:
    """Return what a judge of this regime does with items at these positions, five replicates."""
    shares = PLANTED[regime].shares(position, rng)
    return UsePerItem(shares, np.full(len(position), 0.1), position)


def named(regime: Regime, n_items: int, trials: int) -> list[Regime | None]:
    found = []
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        use = use_of(regime, rng.random(n_items), rng)
        found.append(regime_chances(use, rng).regime)
    return found


@pytest.mark.parametrize("regime", Regime)
def test_a_distinct_regime_is_recognised_at_thirty_items(regime: Regime) -> None:
    found = named(regime, 30, 20)
    assert found.count(regime) >= 18
    assert sum(one not in (regime, None) for one in found) <= 1


@pytest.mark.parametrize("regime", Regime)
def test_no_wrong_regime_is_named_at_nine_items(regime: Regime) -> None:
    assert sum(one not in (regime, None) for one in named(regime, 9, 20)) <= 1


def test_a_judge_that_mostly_abstains_is_compressed_whatever_it_says_else() -> None:
    shares = np.full((12, STAGES), np.nan)
    shares[:3] = np.eye(STAGES)[[0, 2, 4]]
    use = UsePerItem(shares, np.full(12, 0.9), np.linspace(0, 1, 12))
    assert regime_chances(use, np.random.default_rng(0)).regime is Regime.COMPRESSED


def test_too_few_items_and_a_reference_with_two_ends_alone_cannot_tell() -> None:
    rng = np.random.default_rng(0)
    few = regime_chances(use_of(Regime.GRADED, np.linspace(0, 1, 5), rng), rng)
    assert (few.regime, few.chances) == (None, {})
    assert "6 items" in few.because
    ends = np.array([0.0, 1.0] * 10)
    found = regime_chances(use_of(Regime.GRADED, ends, rng), rng)
    assert found.regime is None
    assert "between the ends" in found.because


def test_the_steepest_fifth_of_a_line_holds_a_fifth_and_of_a_step_everything() -> None:
    x = np.linspace(0, 1, 60)
    weights = np.ones((1, 60))
    [line] = steepest_share(weights, x, x)
    [step] = steepest_share(weights, x, (x > 0.5).astype(float))
    assert line == pytest.approx(0.2, abs=0.02)
    assert step > 0.95
    assert np.isnan(steepest_share(weights, x, 1 - x)[0])  # it falls


def of_stages(given: list[int], reference: np.ndarray) -> UsePerItem:
    """A judge of one verdict an item, on four stages."""
    return UsePerItem(np.eye(4)[np.array(given) - 1], np.zeros(len(given)), reference)


def test_the_curve_is_in_stages_over_fifths_of_the_reference() -> None:
    reference = np.array([0.2, 0.25, 0.4, 0.6, 0.7])  # fifths of 0.1 from 0.2 on
    found = list(response_curve(of_stages([1, 3, 2, 4, 4], reference), np.full(5, 3)))
    means = {place: one for place, one in found if one.metric == "response_mean"}
    assert list(means) == pytest.approx([0.25, 0.45, 0.65])
    assert [one.estimate for one in means.values()] == pytest.approx([2, 2, 4])
    assert [(one.n_items, one.n) for one in means.values()] == [(2, 6), (1, 3), (2, 6)]
    first = next(iter(means.values()))
    # Two items, of stages 1 and 3: 2 ± 12.7 is cut to the scale.
    assert (first.lower, first.upper) == (1, 4)
    # One item in the middle third tells no curve.
    assert len(found) == len(means)


def test_the_straight_line_joins_the_ends_of_the_curve() -> None:
    reference = np.linspace(0, 1, 41)
    step = of_stages([1 if x < 0.5 else 4 for x in reference], reference)
    fit = [(x, one) for x, one in response_curve(step, np.ones(41, int)) if one.floor is not None]
    assert [x for x, _ in fit] == pytest.approx([n / 10 for n in range(11)])
    assert [one.estimate for _, one in fit][0:11:5] == pytest.approx([1, 2.5, 4], abs=0.1)
    assert [one.floor for _, one in fit] == pytest.approx(
        list(np.linspace(fit[0][1].estimate or 0, fit[-1][1].estimate or 0, 11))
    )
    # The curve is flat where the line rises.
    assert fit[3][1].estimate == pytest.approx(1, abs=0.1)
    assert fit[3][1].floor == pytest.approx(1.9, abs=0.1)


def test_the_steepest_rise_has_an_interval_over_items_beside_the_lines_share() -> None:
    rng = np.random.default_rng(3)
    x = np.linspace(0, 1, 40)
    for given, low, high in (
        ([1 + round(3 * one) for one in x], 0.18, 0.45),
        ([1 if one < 0.5 else 4 for one in x], 0.9, 1),
    ):
        use = of_stages(given, x)
        rise = steepest_rise(use, regime_chances(use, rng).rises, 40)
        assert rise.floor == 0.2
        assert low <= (rise.lower or 0) <= (rise.estimate or 0) <= (rise.upper or 0) <= high + 1e-9
    falling = of_stages([4 - round(3 * one) for one in x], x)
    rise = steepest_rise(falling, regime_chances(falling, rng).rises, 40)
    assert rise.estimate is None
    assert "does not rise" in rise.because
