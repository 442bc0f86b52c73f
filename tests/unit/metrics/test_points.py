"""How one judge spreads and repeats its scores, on runs small enough to count by hand."""

import numpy as np
import pytest

from judge_gym.metrics.estimate import wilson
from judge_gym.metrics.points import (
    Scores,
    bin_of,
    bins_in_use,
    discrimination,
    fullest_band,
    reliability_of_mean,
    runs_near,
    score_entropy,
    share_at_floor,
    to_points,
)


def scores(runs_by_item):
    """Scores of one judge from its runs per item."""
    rows = [(item, points) for item, runs in enumerate(runs_by_item) for points in runs]
    item, points = zip(*rows, strict=True) if rows else ((), ())
    return Scores(
        judge=np.zeros(len(item), dtype=np.int64), item=np.array(item, dtype=np.int64),
        points=np.array(points, dtype=float), n_judges=1, n_items=len(runs_by_item),
    )  # fmt: skip


def test_points_of_another_scale():
    assert to_points(np.array([1.0, 3, 5]), 1, 5).tolist() == [0, 50, 100]
    with pytest.raises(ValueError, match="empty"):
        to_points(np.array([1.0]), 5, 5)
    with pytest.raises(ValueError, match="leave a run without a score out"):
        scores([[np.nan]])
    with pytest.raises(ValueError, match="0, 100"):
        scores([[100.5]])


def test_bins_are_fixed_and_hold_the_highest_score():
    assert bin_of(np.array([0, 19.9, 20, 99.9, 100])).tolist() == [0, 0, 1, 4, 4]


def test_a_stray_score_fills_no_bin():
    # 40 items: 20 in the first bin, 19 in the last, 1 (2.5%) in the third
    found = bins_in_use(scores([[5]] * 20 + [[95]] * 19 + [[50]]))
    assert found.estimate == 2
    # 1 of 40 outside may be 12.9% (Wilson): two more bins of 5%, not three
    assert (found.lower, found.upper) == (2, 4)
    assert bins_in_use(scores([[5]] * 35)).upper == 2
    assert "no score" in bins_in_use(scores([[]])).reason


def test_the_band_slides():
    # fixed bins would hold 3 and 2; 15 to 35 holds all five of six
    found = fullest_band(scores([[15], [18], [19], [25], [35], [90]]))
    assert found.estimate == 5 / 6
    assert (found.lower, found.upper) == pytest.approx(wilson(5, 6))
    assert "fullest from 15 to 35 points" in found.method


def test_entropy_of_five_bins(rng):
    even = score_entropy(scores([[10], [30], [50], [70], [90]] * 4), rng)
    assert even.estimate == pytest.approx(1)
    half = score_entropy(scores([[10], [90]] * 10), rng)
    assert half.estimate == pytest.approx(np.log(2) / np.log(5))
    assert half.lower < half.estimate <= half.upper
    constant = score_entropy(scores([[70]] * 9), rng)
    # others may hold 3.84/(9 + 3.84) = 29.9%, 7.5% each
    shares = np.array([0.7009, *[0.29915 / 4] * 4])
    most = -(shares * np.log(shares)).sum() / np.log(5)
    assert (constant.estimate, constant.lower) == (0, 0)
    assert constant.upper == pytest.approx(most, abs=1e-3)


def test_an_item_is_at_the_floor_in_every_run():
    runs = scores([[0, 0], [0, 5], [100, 100], [50]])
    assert share_at_floor(runs).estimate == 1 / 4
    assert share_at_floor(runs, floor=100).estimate == 1 / 4


def test_discrimination_is_the_icc_of_runs(rng):
    # means 10, 20, 90; MSB = 3·(30² + 20² + 50²)/2 = 5700, MSW = 3·2/6 = 1
    found = discrimination(scores([[9, 10, 11], [19, 20, 21], [89, 90, 91]]), rng)
    assert found.estimate == pytest.approx((5700 - 1) / (5700 + 2 * 1))
    constant = discrimination(scores([[70] * 3] * 5), rng)
    assert "not estimable" in constant.reason
    stepped = reliability_of_mean(found, 3)
    assert stepped.estimate == pytest.approx((5700 - 1) / 5700)
    assert reliability_of_mean(constant, 3).estimate is None


def test_first_runs_that_are_all_the_same_do_not_keep_later_ones_from_counting(rng):
    # means 50, 60, 40; MSB = 3·(0² + 10² + 10²)/2 = 300, MSW = (0 + 150 + 150)/6 = 50
    runs = [[50, 50, 50], [50, 65, 65], [50, 35, 35]]
    found = discrimination(scores(runs), rng)
    assert found.estimate == pytest.approx((300 - 50) / (300 + 2 * 50))
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower <= found.estimate <= found.upper


def test_runs_agree_pair_by_pair():
    # item 0: |0-10|, |0-30|, |10-30|: one of three; item 1: the one pair is 10.5 apart
    found = runs_near(scores([[0, 10, 30], [40, 50.5], [7]]))
    assert (found.estimate, found.n, found.n_items) == (1 / 4, 4, 2)
    assert runs_near(scores([[0, 10, 30]]), near=20).estimate == 2 / 3
    assert "two runs" in runs_near(scores([[1], [2]])).reason


def test_runs_that_repeat_each_other_exactly_have_agreement_1(rng):
    exact = scores([[25 * (n % 5)] * 3 for n in range(30)])
    found, near = discrimination(exact, rng), runs_near(exact)
    # Wilson's lower end of 30 of 30; of two values, two of three pairs of runs differ
    assert (found.estimate, found.upper, found.reason) == (1, 1, "")
    assert found.lower == pytest.approx(0.8865, abs=1e-4)
    assert (near.estimate, near.upper) == (1, 1)
    assert near.lower == pytest.approx(1 - 0.1135 * 2 / 3, abs=1e-4)
    assert "repeats the first exactly" in found.method
    # two runs apart by a point: near, and no longer exact
    almost = scores([[50, 51, 50], *[[25 * (n % 5)] * 3 for n in range(29)]])
    assert runs_near(almost).lower == pytest.approx(0.8865, abs=1e-4)
