"""Trials of the self-test, what they add up to, and its aims."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from judge_gym.lab.power.study import Rate
from judge_gym.metrics.estimate import Estimate

NOMINAL = (0.93, 0.97)
"""Coverage that a 95% interval should have at 30 items."""
MOST_FALSE = 0.06
"""Most false positives that a test at 5% should have."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Trial:
    """One estimator on one drawn data set, beside the planted value (None: no such figure).

    `null` says whether the null hypothesis of its test is true; None for a figure without a test.
    """

    truth: str
    metric: str
    seed: int
    planted: float | None
    estimate: Estimate
    null: bool | None = None

    @property
    def covers(self) -> bool | None:
        """Whether the interval holds the planted value; None without either."""
        low, high = self.estimate.lower, self.estimate.upper
        if self.planted is None or low is None or high is None:
            return None
        return low - _ROUNDING <= self.planted <= high + _ROUNDING

    @property
    def rejects(self) -> bool | None:
        """Whether its null is rejected: by p, else by an interval off 0; None without a test."""
        estimate = self.estimate
        if self.null is None:
            return None
        if estimate.p is not None:
            return estimate.p < 0.05
        if estimate.lower is None or estimate.upper is None:
            return None
        return estimate.lower > 0 or estimate.upper < 0


@dataclass(frozen=True)
class Summary:
    """One metric under one truth over seeds.

    `coverage` counts the intervals that hold the planted value, `rejected` the tests that reject
    their null: size where it is true (`null`), else power. `missing` counts estimates that could
    not be made.
    """

    truth: str
    metric: str
    planted: float | None
    null: bool | None
    mean: float | None
    missing: int
    coverage: Rate
    rejected: Rate

    @property
    def covers_too_little(self) -> bool:
        """Whether the whole interval of the coverage lies below `NOMINAL`."""
        return self.coverage.interval[1] < NOMINAL[0]

    @property
    def covers_too_much(self) -> bool:
        """Whether the whole interval of the coverage lies above `NOMINAL`."""
        return self.coverage.interval[0] > NOMINAL[1]

    @property
    def misses_coverage(self) -> bool:
        """Whether coverage is outside `NOMINAL` by more than the error of the simulation."""
        return self.covers_too_little or self.covers_too_much

    @property
    def rejects_too_often(self) -> bool:
        """Whether the null is true and the interval of false positives is above `MOST_FALSE`."""
        return bool(self.null) and self.rejected.interval[0] > MOST_FALSE


def summarise(trials: Iterable[Trial]) -> list[Summary]:
    """Return a summary per truth and metric, in the order they first appear; 200 seeds advised."""
    grouped: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        grouped[trial.truth, trial.metric].append(trial)
    return [_summary(members) for members in grouped.values()]


def _summary(trials: Sequence[Trial]) -> Summary:
    values = [value for trial in trials if (value := trial.estimate.estimate) is not None]
    covers = [trial.covers for trial in trials if trial.covers is not None]
    rejects = [trial.rejects for trial in trials if trial.rejects is not None]
    first = trials[0]
    return Summary(
        first.truth,
        first.metric,
        first.planted,
        first.null,
        float(np.mean(values)) if values else None,
        len(trials) - len(values),
        Rate(sum(covers), len(covers)),
        Rate(sum(rejects), len(rejects)),
    )
