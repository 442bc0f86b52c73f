"""The common output of the metrics: a figure with its interval, sizes and floor, or a reason."""

import math
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.intervals import Interval, t_interval

UNBOUNDED = (-math.inf, math.inf)
UNIT_INTERVAL = (0.0, 1.0)
SIGNED_UNIT = (-1.0, 1.0)

NO_SPREAD = "no interval, because every item gave the same value"
ONE_ITEM = "no interval, because there is one item"


@dataclass(frozen=True)
class Estimate:
    """One figure of a table.

    `estimate` is None when the data cannot give the figure; `reason` then says why. With an
    estimate, `reason` is empty or says why there is no interval. `lower` and `upper` are the
    95% interval and come together. `n` counts samples and `n_items` the items they belong to.
    `floor` is the value expected under the null (the noise floor), `p` belongs to the test that
    `method` names. No field is ever NaN or infinite.
    """

    metric: str
    estimate: float | None
    lower: float | None
    upper: float | None
    n: int
    n_items: int
    floor: float | None = None
    p: float | None = None
    method: str = ""
    unit: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        """Refuse what a table must not show: NaN, half an interval, a gap without a reason."""
        numbers = (self.estimate, self.lower, self.upper, self.floor, self.p)
        if any(number is not None and not math.isfinite(number) for number in numbers):
            raise ValueError(f"{self.metric}: not a finite number in {numbers}")
        if (self.lower is None) != (self.upper is None):
            raise ValueError(f"{self.metric}: an interval has two ends")
        if self.estimate is None and not self.reason:
            raise ValueError(f"{self.metric}: no estimate and no reason")


def not_estimable(
    metric: str, because: str, *, n: int = 0, n_items: int = 0, unit: str = ""
) -> Estimate:
    """Return the estimate that is missing, with the reason "not estimable, because ..."."""
    reason = f"not estimable, because {because}"
    return Estimate(metric, None, None, None, n, n_items, unit=unit, reason=reason)


def with_interval(
    estimate: Estimate,
    interval: Interval | None,
    bounds: tuple[float, float] = UNBOUNDED,
    *,
    absent: str = NO_SPREAD,
) -> Estimate:
    """Return the estimate with this interval cut to the metric's range, or with why it has none."""
    if interval is None:
        return replace(estimate, reason=absent)
    low, high = bounds
    return replace(estimate, lower=max(low, interval[0]), upper=min(high, interval[1]))


def mean_over_items(
    metric: str,
    per_item: FloatArray,
    *,
    n: int,
    unit: str,
    bounds: tuple[float, float] = UNBOUNDED,
) -> Estimate:
    """Return the mean of the item values with its t interval, cut to `bounds`.

    Needs one item for the mean and two that differ for the interval.
    """
    n_items = len(per_item)
    if n_items == 0:
        return not_estimable(metric, "no item qualifies", n=n, unit=unit)
    mean = float(np.mean(per_item))
    estimate = Estimate(
        metric, mean, None, None, n, n_items, method="mean over items, t interval", unit=unit
    )
    absent = ONE_ITEM if n_items == 1 else NO_SPREAD
    return with_interval(estimate, t_interval(per_item), bounds, absent=absent)


def caution_below(estimate: Estimate, items: int) -> Estimate:
    """Return the estimate, its method noting when it rests on fewer than `items` items."""
    if estimate.estimate is None or estimate.n_items >= items:
        return estimate
    note = f"{estimate.method}; {estimate.n_items} items where {items} are advised"
    return replace(estimate, method=note)


def no_lower_than_dealt(estimate: Estimate, below: float) -> Estimate:
    """Return the estimate with an upper end that leaves a value out only if dealing rejects it too.

    Divergences and distances of few samples are skewed to the right, so that their t interval lies
    too low: of judges that do not differ it is wholly below 0 in 5 to 10% of data sets. `below` is
    how far under its mean the 2.5% quantile lies when samples are dealt to the judges at random;
    the interval that inverts this permutation test ends that far above the estimate, and the
    further of both ends is taken, at most 1. Source: Ernst 2004, Statistical Science 19.
    """
    if estimate.estimate is None or estimate.upper is None:
        return estimate
    upper = max(estimate.upper, estimate.estimate + below)
    method = f"{estimate.method}; upper end at least that of the permutation test"
    return replace(estimate, upper=min(SIGNED_UNIT[1], upper), method=method)
