"""Trials of the self-test, what they add up to, its aims, and where they are known to be missed.

`exploratory.toml` lists, figure by figure, the truths under which an aim cannot be met, each with
what was measured. Only these are excused, and only while they are no worse than measured.
"""

import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

import numpy as np

from judge_gym.lab.power.study import SimulatedShare
from judge_gym.metrics.estimate import Estimate

NOMINAL = (0.93, 0.97)
"""Coverage that a 95% interval should have."""
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
    decided: bool | None = None
    """Whether a figure that names something names it; None for one with an interval or a p."""
    least: float | None = None
    """The least share of data sets in which it should; None without such an aim."""

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
        if self.null is None or self.decided is not None:
            return self.decided
        if estimate.p is not None:
            return estimate.p < 0.05
        if estimate.lower is None or estimate.upper is None:
            return None
        return estimate.lower > 0 or estimate.upper < 0


@dataclass(frozen=True)
class MetricTrials:
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
    coverage: SimulatedShare
    rejected: SimulatedShare
    least: float | None = None

    @property
    def misses(self) -> tuple["Miss", ...]:
        """The aims that are missed by more than the error of the simulation."""
        low, high = self.coverage.interval
        missed = {
            Miss.TOO_LITTLE: high < NOMINAL[0],
            Miss.TOO_MUCH: low > NOMINAL[1],
            Miss.FALSE_POSITIVES: bool(self.null) and self.rejected.interval[0] > MOST_FALSE,
            Miss.TOO_SELDOM: self.least is not None and self.rejected.interval[1] < self.least,
        }
        return tuple(miss for miss, holds in missed.items() if holds)

    @property
    def exploratory(self) -> bool:
        """Whether every aim that is missed was measured to be missed under this truth."""
        known = exploratory().get(self.metric)
        return bool(self.misses) and known is not None and all(map(self._known(known), self.misses))

    def _known(self, known: "Exploratory") -> Callable[["Miss"], bool]:
        """Return whether a miss is no worse than measured, within the error of the simulation."""

        def holds(miss: "Miss") -> bool:
            if miss is Miss.TOO_SELDOM:
                return False
            if miss is Miss.FALSE_POSITIVES:
                measured = known.false_positives.get(self.truth)
                return measured is not None and self.rejected.interval[0] <= measured
            measured = known.coverage.get(self.truth)
            if measured is None:
                return False
            low, high = self.coverage.interval
            return high >= measured if miss is Miss.TOO_LITTLE else low <= measured

        return holds


class Miss(StrEnum):
    """An aim that a figure misses."""

    TOO_LITTLE = "covers too little"
    TOO_MUCH = "covers too much"
    FALSE_POSITIVES = "false positives"
    TOO_SELDOM = "found too seldom"


@dataclass(frozen=True)
class Exploratory:
    """Where a figure misses its aims, and why: truth → measured share."""

    because: str
    coverage: Mapping[str, float]
    false_positives: Mapping[str, float]


@cache
def exploratory() -> Mapping[str, Exploratory]:
    """Return figure → where it misses its aims."""
    text = files("judge_gym.lab.power").joinpath("exploratory.toml").read_text(encoding="utf-8")
    return {
        figure: Exploratory(
            known["because"], known.get("coverage", {}), known.get("false_positives", {})
        )
        for figure, known in tomllib.loads(text).items()
    }


def summarise(trials: Iterable[Trial]) -> list[MetricTrials]:
    """Return a summary per truth and metric, in the order they first appear; 200 seeds advised."""
    grouped: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        grouped[trial.truth, trial.metric].append(trial)
    return [_summary(members) for members in grouped.values()]


def _summary(trials: Sequence[Trial]) -> MetricTrials:
    values = [value for trial in trials if (value := trial.estimate.estimate) is not None]
    covers = [trial.covers for trial in trials if trial.covers is not None]
    rejects = [trial.rejects for trial in trials if trial.rejects is not None]
    first = trials[0]
    return MetricTrials(
        first.truth,
        first.metric,
        first.planted,
        first.null,
        float(np.mean(values)) if values else None,
        len(trials) - len(values),
        SimulatedShare(sum(covers), len(covers)),
        SimulatedShare(sum(rejects), len(rejects)),
        first.least,
    )
