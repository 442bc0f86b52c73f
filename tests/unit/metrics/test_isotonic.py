"""The rising curve from judge scores to the truth."""

import numpy as np
import pytest

from judge_gym.metrics.expert_labels import isotonic_calibration


def test_the_curve_pools_what_falls():
    # at scores 0, 50, 100 the truth has means 1, 6, 4: the last two pool to (6 + 3 + 5)/3
    judge = np.tile([0.0, 0, 50, 100, 100], 4)
    expert = np.tile([0.0, 2, 6, 3, 5], 4)
    curve = isotonic_calibration(expert, judge)
    values = [one.estimate for one in curve.truth]
    pooled = 14 / 3
    assert curve.at.tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    # a line from 1 at score 0 to the pool at 50, and flat from there
    assert values[:2] == pytest.approx([1, 1 + (pooled - 1) / 5])
    assert values[5:] == pytest.approx([pooled] * 6)


def test_the_curve_claims_no_interval():
    curve = isotonic_calibration(np.full(30, 100.0), np.linspace(0, 100, 30))
    assert {(one.estimate, one.lower, one.reason) for one in curve.truth} == {
        (
            100.0,
            None,
            "no interval, because resampling is not consistent for an isotonic curve",
        )
    }


@pytest.mark.parametrize(
    ("judge", "because"), [([1.0, 2], "there are 2"), ([1.0] * 20, "the same score")]
)
def test_what_cannot_be_calibrated(judge, because):
    (only,) = isotonic_calibration(np.arange(len(judge)), np.array(judge)).truth
    assert because in only.reason
