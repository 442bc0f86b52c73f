"""Regimes: each is recognised where it is distinct, and no wrong one is named from few items."""

import numpy as np
import pytest

from judge_gym.metrics.regimes import Regime, UsePerItem, regime_chances, steepest_share

STAGES = 5


def use_of(regime: Regime, position: np.ndarray, rng: np.random.Generator) -> UsePerItem:
    """Return what a judge of this regime does with items at these positions, five replicates."""
    top = STAGES - 1
    mean, spread = {
        Regime.GRADED: (position * top, 0.5),
        Regime.THRESHOLDED: (np.where(position > 0.5, top, 0.0), 0.25),
        Regime.INTERIOR: (1.2 + 1.6 * position, 0.4),
        Regime.COMPRESSED: (np.full(len(position), 1.0), 0.25),
    }[regime]
    low, high = (1, top - 1) if regime is Regime.INTERIOR else (0, top)
    drawn = mean[:, None] + rng.normal(0, spread, (len(position), 5))
    stages = np.clip(np.rint(drawn), low, high).astype(int)
    shares = np.stack([np.bincount(row, minlength=STAGES) / 5 for row in stages])
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
