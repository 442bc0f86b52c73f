"""Differential functioning: against least squares of statsmodels, and planted differences."""

import numpy as np
import pytest
import statsmodels.api as sm

from judge_gym.metrics.estimate import t_quantile
from judge_gym.metrics.item_functioning import FULLER, item_functioning, paired_functioning

RNG = np.random.default_rng


def planted(seed: int, shift: float, items: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A judge, three others and a group that lies 0.2 higher for all of them."""
    rng, focal = RNG(seed), np.arange(items) < items // 2
    level = 0.4 + 0.15 * rng.normal(size=items) + 0.2 * focal
    others = level + rng.normal(0, 0.1, (3, 1)) + 0.1 * rng.normal(size=(3, items))
    return 0.1 + level + shift * focal + 0.1 * rng.normal(size=items), others, focal


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_slope_on_consensus_is_that_of_least_squares_over_its_reliability(seed: int) -> None:
    judged, others, focal = planted(seed, 0.1)
    consensus = others.mean(axis=0)
    # Least squares within groups, and the variance of a true score from covariances of judges.
    fit = sm.OLS(judged, sm.add_constant(np.column_stack([consensus, focal]))).fit()
    within = np.where(
        focal, others - others[:, focal].mean(axis=1, keepdims=True),
        others - others[:, ~focal].mean(axis=1, keepdims=True),
    )  # fmt: skip
    covariance = within @ within.T / (len(focal) - 2)
    true, observed = covariance[np.triu_indices(3, 1)].mean(), covariance.mean()
    slope = fit.params[1] * observed / (true + FULLER * (observed - true) / (len(focal) - 2))
    apart = consensus[focal].mean() - consensus[~focal].mean()
    expected = judged[focal].mean() - judged[~focal].mean() - slope * apart
    assert item_functioning(judged, others, focal, 30).estimate == pytest.approx(expected)


@pytest.mark.parametrize("items", [20, 110])
def test_the_interval_is_a_jackknife_over_items(items: int) -> None:
    """Each item (from 40 in a group on, each block of items) is left out of a fit of its own."""
    judged, others, focal = planted(items, 0.1, items)
    parts = []
    for group in (np.flatnonzero(focal), np.flatnonzero(~focal)):
        without = []
        for left in range(min(40, len(group))):
            kept = np.delete(np.arange(items), group[left::40])
            part = item_functioning(judged[kept], others[:, kept], focal[kept], len(kept))
            without.append(part.estimate)
        parts.append((len(without) - 1) * np.var(without))
    df = int(sum(parts) ** 2 / sum(part**2 / (min(40, items // 2) - 1) for part in parts))
    half = t_quantile(min(items - 3, max(1, df))) * sum(parts) ** 0.5
    found = item_functioning(judged, others, focal, items)
    assert (found.lower, found.upper) == pytest.approx(
        (found.estimate - half, found.estimate + half)
    )


def test_a_group_that_all_judges_place_higher_functions_alike() -> None:
    found = [item_functioning(*planted(seed, 0.0), 30) for seed in range(200)]
    assert np.mean([one.estimate for one in found]) == pytest.approx(0, abs=0.01)
    # 5% of 200, and three standard errors.
    assert sum(one.p < 0.05 for one in found if one.p is not None) <= 19


def test_a_planted_difference_is_found() -> None:
    found = [item_functioning(*planted(seed, 0.15), 30) for seed in range(60)]
    assert np.mean([one.estimate for one in found]) == pytest.approx(0.15, abs=0.02)
    assert np.mean([one.p < 0.05 for one in found if one.p is not None]) > 0.6


@pytest.mark.parametrize(
    ("judges", "in_group", "because"), [(1, 10, "two other judges"), (3, 4, "5 items in the group")]
)
def test_what_it_needs(judges: int, in_group: int, because: str) -> None:
    rng = RNG(1)
    focal = np.arange(20) < in_group
    estimate = item_functioning(rng.random(20), rng.random((judges, 20)), focal, 20)
    assert estimate.estimate is None
    assert because in estimate.because


def test_a_change_of_the_text_is_compared_with_that_of_the_others() -> None:
    judged, others = np.array([0.3, 0.1, 0.2]), np.array([[0.1, 0.1, 0.1], [-0.1, 0.1, 0.3]])
    # Less 0, 0.1 and 0.2: 0.3, 0 and 0; a single item moves, either sign is as extreme.
    estimate = paired_functioning(judged, others, 18, RNG(1))
    assert estimate.estimate == pytest.approx(0.1)
    assert estimate.p == 1.0
