"""Candidates beside each other: means over cases, and paired differences of every two; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate, mean_over_items, wilson
from judge_gym.metrics.inference import holm_over, sign_flip_p

_POINTS = (0.0, 100.0)


@dataclass(frozen=True)
class CandidateComparison:
    """A candidate `less` another, on the cases that both have a value of.

    `candidate_only` and `less_only` count cases that one of them alone has a value of, `neither`
    those that none has: they are in no difference.
    """

    measure: str
    candidate: str
    less: str
    difference: Estimate
    candidate_only: int
    less_only: int
    neither: int

    @property
    def left_out(self) -> int:
        """Cases that are in no difference."""
        return self.candidate_only + self.less_only + self.neither


def means(values: FloatArray, measure: str) -> list[Estimate]:
    """Return each candidate's mean points with its interval over the cases it has a value of.

    `values` is cases x candidates, in points of 100; NaN is no value. A mean of 0 and 100 alone is
    a share and has Wilson's interval, any other that of t.
    """
    return [_mean(column[~np.isnan(column)], measure) for column in values.T]


def _mean(values: FloatArray, measure: str) -> Estimate:
    n = len(values)
    mean = mean_over_items(measure, values, n=n, unit="points", bounds=_POINTS)
    if not n or not np.isin(values, _POINTS).all():
        return mean
    low, high = wilson(float((values > 0).sum()), n)
    method = "share of cases, Wilson interval"
    return replace(mean, lower=100 * low, upper=100 * high, method=method, because="")


def comparisons(
    tables: Mapping[str, FloatArray], names: Sequence[str], rng: np.random.Generator
) -> list[CandidateComparison]:
    """Return every candidate less each before it; `tables` is measure → cases x candidates.

    Mean paired difference over cases in points of 100 with its t interval; two-sided p by sign
    flips, after Holm over all that is returned.
    """
    unadjusted = [
        _paired(measure, values, (later, before), names, rng)
        for measure, values in tables.items()
        for before, later in combinations(range(len(names)), 2)
    ]
    held = holm_over([comparison.difference for comparison in unadjusted])
    return [
        replace(comparison, difference=kept)
        for comparison, kept in zip(unadjusted, held, strict=True)
    ]


def _paired(
    measure: str,
    values: FloatArray,
    places: tuple[int, int],
    names: Sequence[str],
    rng: np.random.Generator,
) -> CandidateComparison:
    left, right = values[:, places[0]], values[:, places[1]]
    here, there = ~np.isnan(left), ~np.isnan(right)
    apart = (left - right)[here & there]
    difference = mean_over_items(measure, apart, n=len(apart), unit="points", bounds=(-100, 100))
    if len(apart):
        method = "mean paired difference over cases, t interval; p by sign flips"
        difference = replace(difference, p=sign_flip_p(apart, rng), method=method)
    return CandidateComparison(
        measure,
        names[places[0]],
        names[places[1]],
        difference,
        candidate_only=int((here & ~there).sum()),
        less_only=int((there & ~here).sum()),
        neither=int((~here & ~there).sum()),
    )
