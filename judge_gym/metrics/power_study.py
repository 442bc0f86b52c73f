"""Self-test, power and decision study: what the estimators do on truths that are known.

The same draw and the same estimators answer three questions: do intervals hold the planted value
and tests keep their level (self-test), how often is a planted effect found (power), and do more
items or more replicates buy more (decision study).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.intervals import wilson
from judge_gym.metrics.power_study_measures import MEASURES, measure
from judge_gym.metrics.power_study_planted import planted_values
from judge_gym.metrics.power_study_truths import StudyDesign, Truth, draw
from judge_gym.seeds import derive_seed

NOMINAL = (0.93, 0.97)
"""Coverage that a 95% interval should have at 30 items."""
MOST_FALSE = 0.06
"""Most false positives that a test at 5% should have."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Trial:
    """One estimator on one drawn data set, beside what was planted (None: not known)."""

    truth: str
    metric: str
    seed: int
    planted: float | None
    estimate: Estimate

    @property
    def covers(self) -> bool | None:
        """Whether the interval holds the planted value; None without either."""
        low, high = self.estimate.lower, self.estimate.upper
        if self.planted is None or low is None or high is None:
            return None
        return low - _ROUNDING <= self.planted <= high + _ROUNDING

    @property
    def rejects(self) -> bool | None:
        """Whether "no effect" is rejected: by p, else by an interval off 0; None without either."""
        found = self.estimate
        if found.p is not None:
            return found.p < 0.05
        if found.lower is None or found.upper is None:
            return None
        return found.lower > 0 or found.upper < 0


@dataclass(frozen=True)
class Rate:
    """A share of trials with its Wilson interval; `share` is None without trials."""

    count: int
    of: int

    @property
    def share(self) -> float | None:
        """The share, in [0, 1]."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% Wilson interval; all of [0, 1] without trials."""
        return wilson(self.count, self.of) if self.of else (0.0, 1.0)


@dataclass(frozen=True)
class Summary:
    """One metric under one truth over seeds.

    `coverage` counts the intervals that hold the planted value, `rejected` the tests that reject
    no effect: size where nothing is planted, else power. `missing` counts estimates that could
    not be made.
    """

    truth: str
    metric: str
    planted: float | None
    mean: float | None
    missing: int
    coverage: Rate
    rejected: Rate

    @property
    def misses_coverage(self) -> bool:
        """Whether coverage is surely outside `NOMINAL`: its interval lies on one side of it."""
        low, high = self.coverage.interval
        return high < NOMINAL[0] or low > NOMINAL[1]

    @property
    def rejects_too_often(self) -> bool:
        """Whether nothing is planted and false positives are surely above `MOST_FALSE`."""
        return self.planted == 0 and self.rejected.interval[0] > MOST_FALSE


def selftest(
    truth: Truth, design: StudyDesign, seed: int, metrics: Sequence[str] = tuple(MEASURES)
) -> list[Trial]:
    """Return a trial per metric on one data set of this truth; the same seed, the same trials."""
    data, planted = draw(truth, design, seed), planted_values(truth, design)
    return [
        Trial(
            truth.name,
            metric,
            seed,
            planted.get(metric),
            measure(
                metric,
                data,
                np.random.default_rng(derive_seed("selftest", truth.name, seed, metric)),
            ),
        )
        for metric in metrics
    ]


def summarise(trials: Iterable[Trial]) -> list[Summary]:
    """Return a summary per truth and metric, in the order they first appear; 200 seeds advised."""
    grouped: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        grouped[trial.truth, trial.metric].append(trial)
    return [_summary(members) for members in grouped.values()]


def power(
    truth: Truth, design: StudyDesign, metrics: Sequence[str], seeds: Iterable[int]
) -> list[Summary]:
    """Return how often each metric finds what is planted in `truth` under this design.

    Seeded simulation from the estimators that the analysis itself uses; `rejected` is the power.
    """
    return summarise(trial for seed in seeds for trial in selftest(truth, design, seed, metrics))


def _summary(trials: Sequence[Trial]) -> Summary:
    made = [one.estimate.estimate for one in trials if one.estimate.estimate is not None]
    covers = [one.covers for one in trials if one.covers is not None]
    rejects = [one.rejects for one in trials if one.rejects is not None]
    first = trials[0]
    return Summary(
        first.truth,
        first.metric,
        first.planted,
        float(np.mean(made)) if made else None,
        len(trials) - len(made),
        Rate(sum(covers), len(covers)),
        Rate(sum(rejects), len(rejects)),
    )
