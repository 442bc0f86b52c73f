"""The rising curve from judge scores to the truth."""

import numpy as np
import pytest

from judge_gym.metrics.isotonic import isotonic_calibration


def test_the_curve_pools_what_falls(rng):
    # at scores 0, 50, 100 the truth has means 1, 6, 4: the last two pool to (6 + 3 + 5)/3
    judge = np.array([0.0, 0, 50, 100, 100])
    expert = np.array([0.0, 2, 6, 3, 5])
    curve = isotonic_calibration(expert, judge, rng)
    values = [one.estimate for one in curve.truth]
    pooled = 14 / 3
    assert curve.at.tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    # a line from 1 at score 0 to the pool at 50, and flat from there
    assert values[:2] == pytest.approx([1, 1 + (pooled - 1) / 5])
    assert values[5:] == pytest.approx([pooled] * 6)
    assert all(0 <= one.lower <= one.upper <= 6 for one in curve.truth)


def test_intervals_hold_a_rising_truth():
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(20):
        judge = rng.uniform(0, 100, 40)
        curve = isotonic_calibration(np.sqrt(judge) + rng.normal(0, 1, 40), judge, rng)
        truth = np.sqrt(curve.at)
        held += sum(one.lower <= t <= one.upper for one, t in zip(curve.truth, truth, strict=True))
    assert held / (20 * 11) > 0.85


@pytest.mark.parametrize(
    ("judge", "because"), [([1.0, 2], "there are 2"), ([1.0] * 6, "the same score")]
)
def test_what_cannot_be_calibrated(judge, because, rng):
    (only,) = isotonic_calibration(np.arange(len(judge)), np.array(judge), rng).truth
    assert because in only.reason
