"""The estimate's own promises, and the intervals behind it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from judge_gym.metrics.estimate import (
    LEVEL,
    NO_SPREAD,
    ONE_ITEM,
    RESAMPLES_OF_MANY,
    Estimate,
    Remark,
    RemarkKind,
    caution_below,
    clustered_wilson,
    expected_half_width,
    jackknife_interval,
    jackknife_weights,
    mean_over_items,
    not_estimable,
    resampled_interval,
    resampled_intervals,
    rescaled,
    studentised_interval,
    t_interval,
    wilson,
)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"estimate": float("nan")}, "not a finite number"),
        ({"estimate": 1.0, "p": float("inf")}, "not a finite number"),
        ({"estimate": 1.0, "lower": 0.5}, "two ends"),
        ({"estimate": None}, "no reason"),
    ],
)
def test_an_estimate_never_hides_a_hole(fields, says):
    complete = {"lower": None, "upper": None, "n": 1, "n_items": 1, **fields}
    with pytest.raises(ValueError, match=says):
        Estimate("figure", **complete)


def test_a_figure_is_rescaled_with_all_that_is_in_its_unit():
    share = Estimate(
        "share", 0.5, 0.25, 0.75, 9, 9, floor=0.125, p=0.5, items_lower=0.375, items_upper=0.625
    )
    points = Estimate("share", 3, 2, 4, 9, 9, floor=1.5, p=0.5, items_lower=2.5, items_upper=3.5)
    assert rescaled(share, 4, 1) == points
    nothing = not_estimable("share", "there is one judge")
    assert rescaled(nothing, 4, 1) == nothing


def test_no_half_width_of_a_share_is_above_a_half():
    about = {"n": 2, "n_items": 2, "method": "t", "unit": "share"}
    assert expected_half_width("width", 0.5, **about).estimate == 0.5
    assert expected_half_width("width", 1.25, **about).estimate is None


def test_not_estimable_says_why():
    missing = not_estimable("figure", "there is one judge")
    assert missing.estimate is None
    assert missing.reason == "not estimable, because there is one judge"


def test_mean_over_items_has_a_t_interval_cut_to_the_range():
    # mean 0.5, s = 0.5, t(2) = 4.302653: half-width 4.302653 * 0.5 / sqrt(3) = 1.242069
    values = np.array([0.0, 0.5, 1.0])
    free = mean_over_items("figure", values, n=3, unit="share")
    assert (free.estimate, free.lower, free.upper) == pytest.approx((0.5, -0.742069, 1.742069))
    cut = mean_over_items("figure", values, n=3, unit="share", bounds=(0.0, 1.0))
    assert (cut.lower, cut.upper) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "estimate", "reason"),
    [
        ([], None, "not estimable, because no item qualifies"),
        ([0.3], 0.3, f"no interval, because {ONE_ITEM}"),
        ([0.3, 0.3, 0.3], 0.3, f"no interval, because {NO_SPREAD}"),
    ],
)
def test_too_little_for_an_interval_is_said(values, estimate, reason):
    figure = mean_over_items("figure", np.array(values), n=len(values), unit="share")
    assert figure.estimate == (None if estimate is None else pytest.approx(estimate))
    assert (figure.lower, figure.upper, figure.reason) == (None, None, reason)


def test_caution_names_both_numbers_only_when_short():
    figure = mean_over_items("figure", np.array([0.1, 0.2]), n=2, unit="share")
    assert caution_below(figure, 30).remarks == (Remark(RemarkKind.FEW_ITEMS, 2, 30),)
    assert caution_below(figure, 2) == figure


def test_wilson_of_nothing_still_has_an_upper_end():
    # for 0 of n the score interval is [0, z^2/(n + z^2)]: 3.841459/13.841459
    assert wilson(0, 10) == pytest.approx((0, 0.277533), abs=1e-6)
    with pytest.raises(ValueError, match="at least one trial"):
        wilson(0, 0)


@pytest.mark.parametrize(("x", "n"), [(1, 2), (3, 10), (7, 9), (1, 400), (2.6, 4.4), (0.3, 1.5)])
def test_wilson_ends_are_the_shares_that_lie_z_errors_away(x, n):
    """Wilson 1927: the ends π solve (x/n - π)² = z²·π(1 - π)/n."""
    z = 1.959963984540054
    for end in wilson(x, n):
        assert (x / n - end) ** 2 == pytest.approx(z**2 * end * (1 - end) / n, rel=1e-12)


def test_wilson_ends_exactly_where_all_trials_agree():
    assert {wilson(0, n)[0] for n in range(1, 200)} == {0.0}
    assert {wilson(n, n)[1] for n in range(1, 200)} == {1.0}


def test_clustered_wilson_counts_agreeing_replicates_once_or_so():
    # 4 items of 5 samples, all or none: p = 1/2, sum (x - pn)^2 = 4 * 2.5^2 = 25,
    # variance 4/3 * 25/20^2 = 1/12; under independence 0.25/20 = 1/80; deff = 80/12 = 20/3;
    # effective size 20/(20/3) = 3, times (1.959964/3.182446)^2 = 0.379291 for 3 df
    effective = 3 * 0.379291
    clustered = clustered_wilson(np.array([5, 5, 0, 0]), np.array([5, 5, 5, 5]))
    assert clustered == pytest.approx(wilson(effective / 2, effective), abs=1e-5)
    assert clustered[0] < wilson(10, 20)[0]


@pytest.mark.parametrize(
    ("successes", "trials", "same_as"),
    [
        ([1, 0, 1, 1], [1, 1, 1, 1], (3, 4)),  # one trial per item: plain Wilson
        ([1, 0, 1, 1, 0], [1, 1, 1, 1, 0], (3, 4)),  # an item without a trial does not count
        ([0, 0, 0], [5, 5, 5], (0, 3)),  # no variance to see: an item counts once
        ([5, 5, 5], [5, 5, 5], (3, 3)),
    ],
)
def test_clustered_wilson_falls_back_to_counting_items(successes, trials, same_as):
    clustered = clustered_wilson(np.array(successes), np.array(trials))
    assert clustered == pytest.approx(wilson(*same_as))


@pytest.mark.parametrize("n_items", [3, 15])
def test_resampling_items_gives_a_mean_its_t_interval(rng, n_items):
    values = rng.random(n_items)
    interval = resampled_interval(lambda weights: weights @ values / n_items, n_items, rng)
    expected = t_interval(values)
    half = (expected[1] - expected[0]) / 2
    # the standard error of 2,000 draws is itself known to 1/sqrt(4000) = 1.6%
    assert interval == pytest.approx(expected, abs=0.08 * half)


@pytest.mark.parametrize("n_items", [3, 700])
def test_statistics_of_the_same_draws_have_the_intervals_of_each_alone(n_items):
    values = np.random.default_rng(n_items).random((2, n_items))
    together = resampled_intervals(
        lambda w: values @ w.T / n_items, 2, n_items, np.random.default_rng(7)
    )
    for row, interval in zip(values, together, strict=True):
        alone = resampled_interval(
            lambda w, row=row: w @ row / n_items, n_items, np.random.default_rng(7)
        )
        assert interval == pytest.approx(alone, abs=1e-12)


def test_items_of_one_kind_are_counted_together_in_the_same_draws():
    kind = np.array([0, 1, 1, 2, 0, 1, 0])
    values = np.array([0.25, 1.0, 4.0])
    by_kind = resampled_interval(lambda w: w @ values, 7, np.random.default_rng(3), kind)
    by_item = resampled_interval(lambda w: w @ values[kind], 7, np.random.default_rng(3))
    assert by_kind == pytest.approx(by_item, abs=1e-12)


def test_resampling_needs_items_that_differ(rng):
    assert resampled_interval(lambda weights: weights @ np.ones(1), 1, rng) is None
    assert resampled_interval(lambda weights: weights @ np.ones(5) / 5, 5, rng) is None


def test_a_studentised_interval_inverts_the_resampled_t_statistic():
    values = np.random.default_rng(7).exponential(size=16)

    def mean(weights):
        mean = weights @ values / 16
        squares = (weights * (values - mean[:, None]) ** 2).sum(axis=1)
        return mean, np.sqrt(squares / 15 / 16)

    rng, centre = np.random.default_rng(8), values.mean()
    drawn = values[rng.integers(0, 16, (20_000, 16))]
    t = (drawn.mean(axis=1) - centre) / (drawn.std(axis=1, ddof=1) / 4)
    low, high = np.quantile(t, [0.025, 0.975])
    error = values.std(ddof=1) / 4
    found = studentised_interval(mean, 16, np.random.default_rng(1))
    # 2,000 resamples: a quantile at 2.5% is known to a tenth or so
    assert found == pytest.approx((centre - high * error, centre - low * error), abs=0.12)
    # longer on the side of the rare large values
    assert found[1] - centre > centre - found[0]


def test_the_jackknife_of_a_mean_is_the_t_interval():
    values = np.array([0.1, 0.4, 0.2, 0.9, 0.3])
    weights = jackknife_weights(5)
    left_out = weights @ values / weights.sum(axis=1)
    assert jackknife_interval(float(values.mean()), left_out) == pytest.approx(t_interval(values))
    assert jackknife_interval(0.5, np.full(5, 0.5)) is None
    # blocks of items leave every item out once
    blocks = jackknife_weights(1200)
    assert blocks.shape == (500, 1200)
    assert ((1 - blocks).sum(axis=0) == 1).all()


@given(st.floats(0.01, 10_000), st.floats(0, 1))
@settings(max_examples=200)
def test_wilson_is_that_of_statsmodels_to_the_last_digit(trials, share):
    successes = share * trials
    lower, upper = proportion_confint(successes, trials, 1 - LEVEL, method="wilson")
    found = wilson(successes, trials)
    assert found[0] == (lower if successes > 0 else 0.0)
    assert found[1] == (upper if successes < trials else 1.0)


def test_many_items_are_resampled_less_often_to_about_the_same_interval():
    """The mean of 20,000 items: t interval, of whose half-width 200 draws err by 5%."""
    values = np.random.default_rng(5).normal(size=20_000)
    draws = []

    def mean(weights):
        draws.append(len(weights))
        return weights @ values / len(values)

    low, high = resampled_interval(mean, len(values), np.random.default_rng(6))
    half = 1.96 * values.std(ddof=1) / len(values) ** 0.5
    assert (high - low) / 2 == pytest.approx(half, rel=0.2)
    assert (low + high) / 2 == pytest.approx(values.mean(), abs=1e-9)
    assert sum(draws) == RESAMPLES_OF_MANY + 1
