"""Control limits against a published example, and false alarms against theory."""

from math import erfc, sqrt

import pytest

from judge_gym.metrics.control_chart import Limits, false_alarm_share, individuals_limits

# Flow rates of the NIST/SEMATECH e-Handbook of Statistical Methods, 6.3.2.2: centre 50.81, limits
# 55.8041 and 45.8159.
FLOW = (49.6, 47.6, 49.9, 51.3, 47.8, 51.2, 52.6, 52.4, 53.6, 52.1)


def test_limits_are_those_of_the_handbook() -> None:
    limits = individuals_limits(FLOW)
    assert limits is not None
    assert limits.centre == pytest.approx(50.81)
    assert limits.upper == pytest.approx(55.8041, abs=5e-3)
    assert limits.lower == pytest.approx(45.8159, abs=5e-3)
    assert limits.holds(max(FLOW))
    assert not limits.holds(56)


def test_values_that_do_not_vary_have_no_limits() -> None:
    assert individuals_limits([0.5] * 12) is None
    with pytest.raises(ValueError, match="two values"):
        individuals_limits([0.5])


def test_the_ends_are_within() -> None:
    assert Limits(0, -1, 1).holds(1)
    assert Limits(0, -1, 1).holds(-1)


def test_a_short_baseline_gives_more_false_alarms() -> None:
    known = erfc(3 / sqrt(2))  # two tails of a normal value
    assert false_alarm_share(500) == pytest.approx(known, abs=1.5e-3)
    assert false_alarm_share(8) > 3 * false_alarm_share(100)
    assert false_alarm_share(8) == false_alarm_share(8)
