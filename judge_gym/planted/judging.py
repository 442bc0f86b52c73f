"""How a judge perceives, chooses, doubts and states confidence: the planted model itself.

Everything here is a function of planted parameters and readings, with every random draw passed
in; prompts and wording do not belong here. `expected` computes what follows from it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from random import Random

from judge_gym.planted.families import Family
from judge_gym.planted.reading import Reading, claim_truth, concept_named, read_documents

_LEAST_SCALE = 1e-6


@dataclass(frozen=True)
class Sampling:
    """What a request asks of the draw: temperature in [0, 2], top_p in (0, 1]."""

    temperature: float = 1.0
    top_p: float = 1.0


@dataclass(frozen=True)
class Case:
    """What is judged: a reading, how contested the concept is, and how many stages there are.

    `truth` is set when the evidence is a claim whose truth can be checked.
    """

    reading: Reading
    contested: float
    stages: int
    truth: bool | None = None


def case_of(documents: Sequence[str], concept: str, stages: int) -> Case:
    """Return the case that these documents make for a concept on a scale of so many stages."""
    expectations = concept_named(concept)
    return Case(
        reading=read_documents(documents, expectations),
        contested=expectations.contested,
        stages=stages,
        truth=claim_truth(documents),
    )


@dataclass(frozen=True)
class Shown:
    """The stage (0-based rank, weakest first) shown first, and the one lettered A if any."""

    first: int
    lettered_a: int | None


def perceive(family: Family, case: Case) -> float:
    """Return θ_f = clip(θ + δ·c + t·τ, 0, 1), or the fixed reading of a judge that never looks."""
    if family.fixed_reading is not None:
        return family.fixed_reading
    reading = case.reading
    shift = family.leaning * case.contested + family.tone_bias * reading.tau
    return min(1.0, max(0.0, reading.theta + shift))


def stage_probabilities(family: Family, case: Case, at: float | None = None) -> list[float]:
    """Return the probability of each stage, weakest first, before biases, at temperature 1.

    A cumulative logistic (graded response) model: P(stage > k) = logistic((θ_f - b_k) / σ) with
    thresholds b_k = k / S + shift. For a claim: the planted accuracy on the right end.
    `at` takes the place of θ_f.
    """
    if case.truth is not None and family.fixed_reading is None:
        ends = [0.0] * case.stages
        ends[-1 if case.truth else 0] = family.accuracy
        ends[0 if case.truth else -1] = 1 - family.accuracy
        return ends
    theta = perceive(family, case) if at is None else at
    scale = max(family.noise, _LEAST_SCALE)
    above = [1.0, *(_logistic((theta - b) / scale) for b in thresholds(family, case.stages)), 0.0]
    return [high - low for high, low in pairwise(above)]


def thresholds(family: Family, stages: int) -> list[float]:
    """Return the S - 1 thresholds between neighbouring stages."""
    return [step / stages + family.threshold_shift for step in range(1, stages)]


def choose(
    family: Family, case: Case, shown: Shown, sampling: Sampling, rng: Random, *, subset: bool
) -> tuple[int, ...]:
    """Return the stages chosen (0-based ranks): one, or for a set verdict one or more.

    The reading is disturbed by logistic noise of scale σ·temperature, its tails cut to the
    central share top_p; a set names every stage at least w times as likely as the likeliest.
    """
    bias, quantile = rng.random(), rng.random()
    if bias < family.first_bias:
        return (shown.first,)
    if bias < family.first_bias + family.label_a_bias and shown.lettered_a is not None:
        return (shown.lettered_a,)
    if case.truth is not None and family.fixed_reading is None:
        return (draw(stage_probabilities(family, case), quantile),)
    theta = perceive(family, case) + disturbance(family, sampling, quantile)
    if subset:
        return supported(family, case, theta)
    return (sum(theta >= threshold for threshold in thresholds(family, case.stages)),)


def disturbance(family: Family, sampling: Sampling, quantile: float) -> float:
    """Return the noise of a reading at a quantile in [0, 1)."""
    inner = 0.5 + sampling.top_p * (quantile - 0.5)
    inner = min(1 - 1e-12, max(1e-12, inner))
    return family.noise * sampling.temperature * math.log(inner / (1 - inner))


def supported(family: Family, case: Case, theta: float) -> tuple[int, ...]:
    """Return every stage at least w times as likely as the likeliest, for a perceived θ."""
    likely = stage_probabilities(family, case, at=theta)
    least = family.subset_width * max(likely)
    return tuple(stage for stage, probability in enumerate(likely) if probability >= least)


def abstains(family: Family, case: Case, sampling: Sampling, rng: Random) -> bool:
    """Whether the judge declines where it may; at temperature 0 when it is likelier than not."""
    probability = abstention_probability(family, case)
    drawn = rng.random()
    return probability > (drawn if sampling.temperature > 0 else 0.5)


def abstention_probability(family: Family, case: Case) -> float:
    """Return a·(1 - information); a claim that can be checked is never declined."""
    return 0.0 if case.truth is not None else family.abstention * (1 - case.reading.information)


def margin(family: Family, case: Case, chosen: tuple[int, ...]) -> float:
    """Return how much likelier the least likely chosen stage is than the best one left out."""
    likely = stage_probabilities(family, case)
    inside = [likely[stage] for stage in chosen]
    outside = [likely[stage] for stage in range(case.stages) if stage not in chosen]
    return min(inside) - max(outside, default=0.0)


def stated_level(family: Family, margin: float, *, own_rubric: bool) -> float:
    """Return κ0 + κ1·margin - ρ·[foreign rubric], before noise and clipping to [0, 1]."""
    foreign = 0.0 if own_rubric else family.own_rubric_loyalty
    return family.probe_level + family.probe_slope * margin - foreign


def state_probability(family: Family, level: float, sampling: Sampling, rng: Random) -> float:
    """Return the probability a judge states, with noise of its size times the temperature."""
    noise = rng.gauss(0.0, 1.0) * family.probe_noise * sampling.temperature
    return min(1.0, max(0.0, level + noise))


def draw(probabilities: list[float], quantile: float) -> int:
    """Return the index that a quantile in [0, 1) falls on."""
    for index, total in enumerate(accumulate(probabilities)):
        if quantile < total:
            return index
    return len(probabilities) - 1


def _logistic(x: float) -> float:
    return 0.5 * (1 + math.tanh(x / 2))
