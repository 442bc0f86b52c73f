"""Interactions of two axes: shares derived by hand, and the test for a change of sign."""

import numpy as np
import pytest
from scipy import stats

from judge_gym.metrics.interactions import sign_changes, variance_shares

RNG = np.random.default_rng


def table(means: list[list[float]], items: int = 20, noise: float = 0.0) -> np.ndarray:
    cells = np.array(means)
    rng = RNG(3)
    return (
        cells + rng.normal(0, 0.2, (items, 1, 1)) + noise * rng.normal(size=(items, *cells.shape))
    )


def test_shares_are_those_of_the_cell_means_where_there_is_no_noise() -> None:
    # Effects ±0.1 of the first axis, ±0.2 of the second, ±0.05 of both: squares 4, 16 and 1.
    cells = [[0.35, 0.65], [0.45, 0.95]]
    values = [share.estimate for share in variance_shares(table(cells), 80, RNG(1))]
    assert values == pytest.approx([4 / 21, 16 / 21, 1 / 21])


def test_the_variance_of_a_part_is_the_mean_of_products_of_different_items() -> None:
    cells = table([[0.3, 0.6], [0.5, 0.9]], items=6, noise=0.03)
    effects = {
        "first": (cells[:, 1].mean(axis=1) - cells[:, 0].mean(axis=1)) / 2,
        "second": (cells[:, :, 1].mean(axis=1) - cells[:, :, 0].mean(axis=1)) / 2,
        "both": (cells[:, 1, 1] - cells[:, 1, 0] - cells[:, 0, 1] + cells[:, 0, 0]) / 4,
    }
    products = {
        name: np.mean(
            [one * other for i, one in enumerate(e) for j, other in enumerate(e) if i != j]
        )
        for name, e in effects.items()
    }
    total = sum(max(0, value) for value in products.values())
    raw = sum(products.values())
    assert total == pytest.approx(raw, rel=0.05)
    shares = variance_shares(cells, 24, RNG(1))
    assert [s.estimate for s in shares] == pytest.approx(
        [max(0, products[name]) / raw for name in effects]
    )


def test_an_interaction_that_is_not_there_reaches_0() -> None:
    shares = variance_shares(table([[0.2, 0.5], [0.4, 0.7]], noise=0.1), 80, RNG(1))
    both = shares[2]
    assert both.p is not None
    assert both.p > 0.05
    assert both.lower == 0.0


def test_noise_alone_has_no_shares() -> None:
    (first, *_) = variance_shares(table([[0.5, 0.5], [0.5, 0.5]], noise=0.1), 80, RNG(1))
    assert "do not differ" in first.because


def test_an_effect_up_here_and_down_there_changes_sign() -> None:
    cells = table([[0.3, 0.5], [0.5, 0.3]], noise=0.05)
    (change,) = sign_changes(cells, 80)
    assert (change.lowest_at, change.highest_at) == (1, 0)
    effects = cells[:, 1] - cells[:, 0]
    up = stats.ttest_1samp(effects[:, 0], 0, alternative="greater").pvalue
    down = stats.ttest_1samp(effects[:, 1], 0, alternative="less").pvalue
    assert change.mean.p == pytest.approx(2 * max(up, down))
    assert change.mean.p < 0.001
    assert (change.lowest.estimate, change.highest.estimate) == pytest.approx(
        (effects[:, 1].mean(), effects[:, 0].mean())
    )


def test_the_interval_of_an_extreme_allows_for_the_choice() -> None:
    cells = table([[0.3, 0.3, 0.3], [0.4, 0.4, 0.4]], noise=0.1)
    (change,) = sign_changes(cells, 120)
    lowest = (cells[:, 1] - cells[:, 0])[:, change.lowest_at]
    # Bonferroni for one side of three levels: 1 - 2 * 0.05 / 3
    low, high = stats.ttest_1samp(lowest, 0).confidence_interval(1 - 0.1 / 3)
    assert (change.lowest.lower, change.lowest.upper) == pytest.approx((low, high))


def test_an_effect_that_is_strong_here_and_absent_there_does_not() -> None:
    (change,) = sign_changes(table([[0.3, 0.5], [0.7, 0.5]], noise=0.05), 80)
    assert change.mean.p is not None
    assert change.mean.p > 0.05


def test_every_change_of_an_axis_is_tested() -> None:
    found = sign_changes(table([[0.1, 0.2], [0.2, 0.1], [0.3, 0.9]], noise=0.01), 120)
    assert [(one.start, one.end) for one in found] == [(0, 1), (0, 2), (1, 2)]
