"""Slopes partially pooled: against scipy's regression and the formula of empirical Bayes."""

import numpy as np
import pytest
from scipy.stats import linregress, t

from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.metrics.slopes import Points, partially_pooled


def points(slope, noise, items=12, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(10, 2, items)
    return Points(
        np.arange(items) + 100 * seed, x, 0.5 + slope * x + rng.normal(0, noise, items), 2 * items
    )


def test_a_slope_alone_is_that_of_least_squares():
    one = points(0.1, 0.2)
    slopes = partially_pooled("m", {"a": one}, "0-1 scale")
    fit = linregress(one.x, one.y)
    estimate = slopes.alone["a"]
    half = t.ppf(0.975, 10) * fit.stderr
    assert estimate.estimate == pytest.approx(fit.slope)
    assert (estimate.lower, estimate.upper) == pytest.approx((fit.slope - half, fit.slope + half))
    assert not slopes.drawn
    assert slopes.mean.estimate is None


def test_slopes_are_drawn_to_their_mean_by_how_little_they_know():
    planted = [("a", -0.3, 0.1), ("b", 0.3, 0.1), ("c", 0.0, 2)]
    groups = {
        name: points(slope, noise, seed=seed) for seed, (name, slope, noise) in enumerate(planted)
    }
    slopes = partially_pooled("m", groups, "0-1 scale")
    fits = {name: linregress(one.x, one.y) for name, one in groups.items()}
    tau2, mean = slopes.spread.estimate**2, slopes.mean.estimate
    # DerSimonian and Laird by hand.
    b = np.array([fit.slope for fit in fits.values()])
    v = np.array([fit.stderr**2 for fit in fits.values()])
    w = 1 / v
    centre = (w * b).sum() / w.sum()
    q = (w * (b - centre) ** 2).sum()
    assert tau2 == pytest.approx((q - 2) / (w.sum() - (w**2).sum() / w.sum()))
    full = 1 / (v + tau2)
    assert mean == pytest.approx((full * b).sum() / full.sum())
    for name, fit in fits.items():
        weight = tau2 / (tau2 + fit.stderr**2)
        expected = weight * fit.slope + (1 - weight) * mean
        assert slopes.drawn[name].estimate == pytest.approx(expected)
    moved = {name: abs(slopes.drawn[name].estimate - fits[name].slope) for name in groups}
    assert max(moved, key=moved.get) == "c"


def test_slopes_that_are_all_one_become_their_mean():
    groups = {name: points(0.1, 0.5, seed=2) for name in "ab"}
    slopes = partially_pooled("m", groups, "0-1 scale")
    assert slopes.spread.estimate == 0
    for one in slopes.drawn.values():
        assert one.estimate == pytest.approx(slopes.mean.estimate)


def test_too_few_items_or_lengths_have_no_slope():
    short = points(0.1, 0.2, items=3)
    level = Points(np.arange(9), np.ones(9), np.arange(9.0), 9)
    slopes = partially_pooled("m", {"a": short, "b": level}, "0-1 scale")
    assert not slopes.alone
    assert "needs 4 items" in slopes.mean.because


def test_rubrics_on_the_same_items_do_not_make_their_mean_surer():
    """Twelve groups with the same points know what one of them knows."""
    one = points(0.1, 0.5, seed=2)
    alone = partially_pooled("m", {"a": one}, "0-1 scale").alone["a"]
    mean = partially_pooled("m", {str(n): one for n in range(12)}, "0-1 scale").mean
    assert mean.estimate == pytest.approx(alone.estimate)
    widths = [found.upper - found.lower for found in (mean, alone)]
    assert 0.7 < widths[0] / widths[1] < 1.4


def test_the_mean_of_two_slopes_has_a_caution_and_that_of_six_has_none():
    def mean(groups):
        slopes = [(-1) ** one * 0.3 for one in range(groups)]
        given = {str(n): points(slope, 0.1, seed=n) for n, slope in enumerate(slopes)}
        return partially_pooled("m", given, "0-1 scale").mean

    # Slopes that are far apart: the error is that over groups, t with groups - 1.
    assert mean(2).remarks == (Remark(RemarkKind.FEW_DEGREES, 1, 4),)
    assert mean(6).remarks == ()
