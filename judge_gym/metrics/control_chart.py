"""Control charts of single values over time: has a figure left its usual range?"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np

from judge_gym.seeds import derive_seed

D2 = 2 / sqrt(pi)
"""The expected range of two independent standard normal values, 1.128."""
WIDTH = 3.0
"""Standard deviations between the centre and a limit (Shewhart)."""
_TRIALS = 20_000


@dataclass(frozen=True)
class Limits:
    """The centre and the control limits of a figure, in its unit."""

    centre: float
    lower: float
    upper: float

    def holds(self, value: float) -> bool:
        """Whether a value lies within the limits, ends included."""
        return self.lower <= value <= self.upper


def individuals_limits(values: Sequence[float]) -> Limits | None:
    """Return the limits of an individuals chart of these values; None if they do not vary.

    The mean, less and plus 3 times the mean moving range of two successive values divided by 1.128
    (NIST/SEMATECH e-Handbook of Statistical Methods, 6.3.2.2). Needs two values or more.
    """
    points = np.asarray(values, dtype=np.float64)
    if len(points) < 2:
        raise ValueError("an individuals chart needs two values or more")
    moving_range = float(np.mean(np.abs(np.diff(points))))
    if moving_range == 0:
        return None
    centre, reach = float(np.mean(points)), WIDTH * moving_range / D2
    return Limits(centre, centre - reach, centre + reach)


def false_alarm_share(baseline: int) -> float:
    """Return the share of later values outside the limits of a baseline when nothing changes.

    The mean over simulated baselines of independent normal values, so that the uncertainty of the
    limits counts. It is 0.0027 for known limits, and more the shorter the baseline.
    """
    rng = np.random.default_rng(derive_seed("control chart", baseline))
    drawn = rng.standard_normal((_TRIALS, baseline + 1))
    before, after = drawn[:, :-1], drawn[:, -1]
    reach = WIDTH * np.abs(np.diff(before, axis=1)).mean(axis=1) / D2
    return float(np.mean(np.abs(after - before.mean(axis=1)) > reach))
