"""What estimators should find: figures that follow from the planted parameters alone.

Computed from the model of `judging` in closed form (set verdicts and the noise of probes by
exact integration), never through prompts, HTTP or the estimators that they are compared with.
Every family and case is explicit, so that a report can print planted beside recovered.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from judge_gym.planted.families import Family
from judge_gym.planted.judging import (
    Case,
    Sampling,
    abstention_probability,
    disturbance,
    margin,
    perceive,
    stage_probabilities,
    stated_level,
    supported,
)
from judge_gym.planted.reading import NOTHING_READ

_QUANTILES = 2000


@dataclass(frozen=True)
class Display:
    """What is fixed in the presentation: stages as 0-based ranks; None where it is random."""

    first: int | None = None
    lettered_a: int | None = None


RANDOMIZED = Display()
IN_ORDER = Display(first=0, lettered_a=0)
"""Neither letters nor order randomised: the weakest stage is first and is lettered A."""


def stage_distribution(family: Family, case: Case, display: Display = RANDOMIZED) -> list[float]:
    """Return the probability of each stage as a single verdict, weakest first, at temperature 1.

    The graded-response probabilities, mixed with π on the stage shown first and λ on the one
    lettered A; either is spread evenly where the presentation is random.
    """
    pi, lam = family.first_bias, family.label_a_bias
    taken = 1 - pi - lam
    return [
        taken * probability
        + pi * _share(display.first, stage, case.stages)
        + lam * _share(display.lettered_a, stage, case.stages)
        for stage, probability in enumerate(stage_probabilities(family, case))
    ]


def set_distribution(family: Family, case: Case) -> dict[tuple[int, ...], float]:
    """Return the probability of each set verdict under a random presentation.

    Integrates over the noise of the reading at evenly spaced quantiles.
    """
    if case.truth is not None:
        single = stage_distribution(family, case)
        return {(stage,): share for stage, share in enumerate(single) if share}
    theta, steps = perceive(family, case), [(i + 0.5) / _QUANTILES for i in range(_QUANTILES)]
    sets: Counter[tuple[int, ...]] = Counter(
        supported(family, case, theta + disturbance(family, Sampling(), step)) for step in steps
    )
    biased = family.first_bias + family.label_a_bias
    found = {stages: (1 - biased) * count / _QUANTILES for stages, count in sets.items()}
    for stage in range(case.stages) if biased else ():
        found[(stage,)] = found.get((stage,), 0.0) + biased / case.stages
    return found


def mean_score(distribution: Sequence[float]) -> float:
    """Return the mean of (s - 1)/(S - 1) in [0, 1]."""
    steps = len(distribution) - 1
    return sum(stage * share for stage, share in enumerate(distribution)) / steps


def polarization(first: Family, second: Family, cases: Iterable[Case]) -> float:
    """Return the mean Jensen-Shannon divergence of two families' verdicts, in bits, in [0, 1]."""
    return fmean(
        _divergence(stage_distribution(first, case), stage_distribution(second, case))
        for case in cases
    )


def tone_effect(family: Family, raw: Sequence[Case], neutralized: Sequence[Case]) -> float:
    """Return what the tone of the raw texts adds to the mean score, in units of the scale."""
    pairs = zip(raw, neutralized, strict=True)
    return fmean(
        mean_score(stage_distribution(family, loud)) - mean_score(stage_distribution(family, plain))
        for loud, plain in pairs
    )


def injection_lift(family: Family, pairs: Sequence[tuple[Case, Case]]) -> float:
    """Return what evidence that demands the last stage adds to the mean score, in [-1, 1].

    The mean over pairs (clean twin, text with the demand) of o + (1 - o)·m' - m, for a judge that
    obeys with probability o and else reads the texts as m and m'.
    """
    lifts = []
    for clean, demanding in pairs:
        before, after = (mean_score(stage_distribution(family, one)) for one in (clean, demanding))
        lifts.append(family.obedience + (1 - family.obedience) * after - before)
    return fmean(lifts)


def first_shown_excess(family: Family, stages: int) -> float:
    """Return P(verdict is the stage shown first) - 1/S under random presentation: π(1 - 1/S)."""
    return family.first_bias * (1 - 1 / stages)


def letter_a_excess(family: Family, stages: int) -> float:
    """Return P(verdict is the stage lettered A) - 1/S under random presentation: λ(1 - 1/S)."""
    return family.label_a_bias * (1 - 1 / stages)


def stated_probability(family: Family, case: Case, *, own_rubric: bool) -> float:
    """Return the mean probability stated for the family's own single verdicts, in [0, 1]."""
    stated = (
        share * _clipped_mean(_level(family, case, stage, own_rubric), family.probe_noise)
        for stage, share in enumerate(stage_distribution(family, case))
    )
    return sum(stated)


def swap_effect(family: Family, cases: Iterable[Case]) -> float:
    """Return stated probability under a rival's rubric minus under the own: -ρ before clipping."""
    return fmean(
        stated_probability(family, case, own_rubric=False)
        - stated_probability(family, case, own_rubric=True)
        for case in cases
    )


def overconfidence(family: Family, others: Sequence[Family], cases: Sequence[Case]) -> float:
    """Return stated probability minus the share of other judges who choose the same stage."""
    gaps = []
    for case in cases:
        own = stage_distribution(family, case)
        agreement = fmean(_agreement(own, stage_distribution(other, case)) for other in others)
        gaps.append(stated_probability(family, case, own_rubric=True) - agreement)
    return fmean(gaps)


def accuracy(family: Family, stages: int = 2, share_true: float = 0.5) -> float:
    """Return the share of single verdicts on claims that are right, under random presentation.

    (1 - π - λ)·accuracy + (π + λ)/S for a family that looks; claims hold in `share_true` of
    cases, and the right stage is the strongest when they hold and the weakest when not.
    """
    return sum(
        share * stage_distribution(family, Case(NOTHING_READ, 0.0, stages, truth))[rank]
        for truth, share, rank in ((True, share_true, -1), (False, 1 - share_true, 0))
    )


def abstention(family: Family, cases: Iterable[Case]) -> float:
    """Return the mean probability of abstaining where that is offered: a·(1 - information)."""
    return fmean(abstention_probability(family, case) for case in cases)


def _share(fixed: int | None, stage: int, stages: int) -> float:
    return 1 / stages if fixed is None else float(fixed == stage)


def _agreement(first: Sequence[float], second: Sequence[float]) -> float:
    return sum(p * q for p, q in zip(first, second, strict=True))


def _divergence(first: Sequence[float], second: Sequence[float]) -> float:
    mixed = [(p + q) / 2 for p, q in zip(first, second, strict=True)]
    return max(0.0, _entropy(mixed) - (_entropy(first) + _entropy(second)) / 2)


def _entropy(distribution: Iterable[float]) -> float:
    return -sum(share * math.log2(share) for share in distribution if share > 0)


def _level(family: Family, case: Case, stage: int, own_rubric: bool) -> float:
    return stated_level(family, margin(family, case, (stage,)), own_rubric=own_rubric)


def _clipped_mean(mean: float, sd: float) -> float:
    """Return the mean of a normal variable clipped to [0, 1] (censored at both ends)."""
    if sd == 0:
        return min(1.0, max(0.0, mean))
    low, high = -mean / sd, (1 - mean) / sd
    inside = _cumulative(high) - _cumulative(low)
    return mean * inside + sd * (_density(low) - _density(high)) + 1 - _cumulative(high)


def _cumulative(z: float) -> float:
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def _density(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
