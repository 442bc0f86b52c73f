"""Means of bounded values by random weights: beside scipy's exact binomial, and by simulation."""

import numpy as np
import pytest
from scipy import stats

from judge_gym.metrics.bounded_means import bounded_interval, bounded_p
from judge_gym.metrics.estimate import mean_difference


def moved(k: int, n: int, by: float = 100.0) -> np.ndarray:
    return np.repeat([by, 0.0], [k, n - k])


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 2), (0, 72), (1, 72), (3, 150), (70, 72), (9, 9)])
def test_shares_have_the_interval_of_clopper_and_pearson(k: int, n: int) -> None:
    found = bounded_interval(moved(k, n, 1.0), (0.0, 1.0), 0.95)
    exact = stats.binomtest(k, n).proportion_ci(0.95, "exact")
    assert found == pytest.approx((exact.low, exact.high), abs=1e-6)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_values_unlike_each_other_have_the_quantiles_of_random_weights(level: float) -> None:
    rng = np.random.default_rng(4)
    values = np.array([-30.0, -2, -2, 0, 1, 4, 7.5, 60])
    weights = rng.dirichlet(np.ones(9), 400_000)
    low = np.quantile(weights @ np.append(values, -100.0), (1 - level) / 2)
    high = np.quantile(weights @ np.append(values, 100.0), (1 + level) / 2)
    assert bounded_interval(values, (-100.0, 100.0), level) == pytest.approx((low, high), abs=0.25)


@pytest.mark.parametrize(("k", "n", "share"), [(1, 72, 0.05), (10, 200, 0.6), (5, 20, 0.26)])
def test_p_of_a_share_is_the_exact_binomial(k: int, n: int, share: float) -> None:
    p = bounded_p(moved(k, n, 1.0), (0.0, 1.0), (-1.0, share))
    assert p == pytest.approx(min(1.0, 2 * stats.binom.cdf(k, n, share)), rel=1e-6)


def test_p_is_a_twentieth_where_the_interval_ends() -> None:
    rng, bounds = np.random.default_rng(5), (-100.0, 100.0)
    for n in (2, 12, 80):
        values = rng.normal(3, 8, n)
        low, high = bounded_interval(values, bounds, 0.95)
        assert bounded_p(values, bounds, (-1e9, high)) == pytest.approx(0.05, abs=1e-5)
        assert bounded_p(values, bounds, (low, 1e9)) == pytest.approx(0.05, abs=1e-5)
        # Outside the region it is the side towards it that is tested.
        assert bounded_p(values, bounds, (-1e9, low)) == pytest.approx(0.05, abs=1e-5)


def test_few_texts_that_moved_have_the_exact_interval_and_others_have_t() -> None:
    def found(values: np.ndarray) -> tuple[float | None, float | None]:
        one = mean_difference("x", np.asarray(values, dtype=float), unit="points", widest=100.0)
        return one.lower, one.upper

    # One of 72: skewness² 69, so that t would need more than 25 times as many.
    exact = stats.binomtest(1, 72).proportion_ci(0.95, "exact")
    assert found(moved(1, 72))[1] == pytest.approx(100 * exact.high, abs=1e-4)
    # A share p has skewness² (1 - 2p)² / (p·(1 - p)): at 1/5 2.25, so t from 57 texts on.
    for n, by_t in ((55, False), (60, True)):
        values = moved(n // 5, n)
        t = stats.t.interval(0.95, n - 1, values.mean(), stats.sem(values))
        assert (found(values) == pytest.approx(t)) is by_t
    # No skewness: t at any number.
    values = np.array([-3.0, -1, 1, 3])
    assert found(values) == pytest.approx(stats.t.interval(0.95, 3, 0, stats.sem(values)))


def missed(draw, mean: float, n: int, sets: int) -> tuple[float, float]:
    """How often the interval lies below the mean, and above it."""
    rng = np.random.default_rng(7)
    ends = [mean_difference("x", draw(rng, n), unit="points", widest=100.0) for _ in range(sets)]
    below = np.mean([one.upper < mean for one in ends])
    above = np.mean([one.lower > mean for one in ends])
    return float(below), float(above)


@pytest.mark.slow
@pytest.mark.parametrize("n", [72, 100, 150, 200])
@pytest.mark.parametrize(("share", "by"), [(0.05, 100.0), (0.1, 50.0), (0.02, 100.0)])
def test_the_interval_of_few_texts_that_move_far_holds_the_mean(n: int, share: float, by: float):
    """t excludes it from above in 7 to 12% of such sets; 4% of 1,000 at 2.5% is three errors."""
    below, above = missed(lambda rng, n: by * (rng.random(n) < share), share * by, n, 1000)
    assert max(below, above) < 0.04


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 72])
@pytest.mark.parametrize(
    ("draw", "mean"),
    [
        (lambda rng, n: rng.normal(3, 10, n), 3.0),
        (lambda rng, n: rng.uniform(-20, 30, n), 5.0),
        (lambda rng, n: rng.choice([-25.0, 0, 25], n, p=[0.1, 0.7, 0.2]), 2.5),
        (lambda rng, n: rng.exponential(10, n).clip(0, 100), 10.0),
    ],
    ids=["normal", "uniform", "steps", "exponential"],
)
def test_ordinary_differences_are_covered(draw, mean: float, n: int) -> None:
    """1,000 sets at 5%: three errors are 2%."""
    assert sum(missed(draw, mean, n, 1000)) < 0.07
