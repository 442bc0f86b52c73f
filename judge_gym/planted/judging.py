"""How a planted judge perceives, chooses, abstains and states confidence.

A graded-response model (Samejima 1969): P(stage > k) = logistic((θ - b_k) / σ), with thresholds
b_k = k / S + shift between the S stages. Every random draw is an argument. `Family` plants the
parameters of judges that read texts, `truths.Truth` those of panels without texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judge_gym.planted.families import Family
from judge_gym.planted.reading import DocumentReading, claim_truth, concept_named, read_documents

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_LEAST_NOISE = 1e-6


@dataclass(frozen=True)
class SamplingParameters:
    """The sampling parameters of a request: temperature in [0, 2], top_p in (0, 1]."""

    temperature: float = 1.0
    top_p: float = 1.0


@dataclass(frozen=True)
class PlantedCase:
    """What is judged: a reading, how contested the concept is, and how many stages there are.

    `truth` is set when the evidence is a claim whose truth can be checked.
    """

    reading: DocumentReading
    contested: float
    stages: int
    truth: bool | None = None


def case_of(documents: Sequence[str], concept: str, stages: int) -> PlantedCase:
    """Return the case that these documents make for a concept on a scale of so many stages."""
    expectations = concept_named(concept)
    return PlantedCase(
        reading=read_documents(documents, expectations),
        contested=expectations.contested,
        stages=stages,
        truth=claim_truth(documents),
    )


@dataclass(frozen=True)
class ShownOrder:
    """The 0-based rank of the stage shown first and of the one lettered A; None: random, or none.

    Ranks count from the weakest stage.
    """

    first: int | None = None
    lettered_a: int | None = None


RANDOMIZED = ShownOrder()


def thresholds(stages: int, shift: float = 0.0) -> FloatArray:
    """Return the S - 1 thresholds between neighbouring stages."""
    return np.arange(1, stages) / stages + shift


def logistic(x: ArrayLike) -> FloatArray:
    """Return 1 / (1 + exp(-x))."""
    return np.asarray(0.5 * (1 + np.tanh(np.asarray(x, dtype=np.float64) / 2)))


def graded_response(theta: ArrayLike, noise: float, edges: FloatArray) -> FloatArray:
    """Return the probability of each stage (..., S), weakest first, for perceived θ (...)."""
    seen = np.asarray(theta, dtype=np.float64)[..., None]
    below = logistic((edges - seen) / max(noise, _LEAST_NOISE))
    return np.diff(below, axis=-1, prepend=0.0, append=1.0)


def stage_at(theta: ArrayLike, edges: FloatArray) -> IntArray:
    """Return the 0-based stage that each θ falls in."""
    return np.asarray(np.searchsorted(edges, theta, side="right"), dtype=np.int64)


def with_display_bias(
    p: FloatArray, first: float, lettered_a: float = 0.0, display: ShownOrder = RANDOMIZED
) -> FloatArray:
    """Return stage probabilities (..., S) after biases towards the stage shown first and letter A.

    The biases are probabilities. Where the display is random their share is spread evenly.
    """
    taken = (1 - first - lettered_a) * p
    for share, rank in ((first, display.first), (lettered_a, display.lettered_a)):
        at = np.full(p.shape[-1], 1 / p.shape[-1]) if rank is None else np.eye(p.shape[-1])[rank]
        taken = taken + share * at
    return np.asarray(taken)


def perceive(family: Family, case: PlantedCase) -> float:
    """Return θ_f = clip(1/2 + g·(θ + δ·c + t·τ + w - 1/2), 0, 1), w the shift of the wording.

    A judge that never looks has one fixed reading.
    """
    if family.fixed_reading is not None:
        return family.fixed_reading
    reading = case.reading
    shift = family.leaning * case.contested + family.tone_bias * reading.tau
    seen = reading.theta + shift + family.wording_shift
    return min(1.0, max(0.0, 0.5 + family.gain * (seen - 0.5)))


def stage_probabilities(family: Family, case: PlantedCase) -> FloatArray:
    """Return the probability of each stage, weakest first, before biases, at temperature 1.

    For a claim: the planted accuracy at the right end of the scale.
    """
    if _knows_claim(family, case):
        ends = np.zeros(case.stages)
        ends[-1 if case.truth else 0] = family.accuracy
        ends[0 if case.truth else -1] = 1 - family.accuracy
        return ends
    edges = thresholds(case.stages, family.threshold_shift)
    return graded_response(perceive(family, case), family.noise, edges)


def choose(
    family: Family,
    case: PlantedCase,
    shown: ShownOrder,
    sampling: SamplingParameters,
    rng: Random,
    *,
    subset: bool,
) -> tuple[int, ...]:
    """Return the stages chosen (0-based ranks): one, or for a set verdict one or more.

    Logistic noise of scale σ·temperature disturbs the reading, its tails cut to the central share
    top_p. A set names every stage at least w times as likely as the likeliest. `shown` is the
    display of this one question: None means that no stage is in that place.
    """
    bias, quantile = rng.random(), rng.random()
    if bias < family.first_bias and shown.first is not None:
        return (shown.first,)
    if bias < family.first_bias + family.label_a_bias and shown.lettered_a is not None:
        return (shown.lettered_a,)
    if _knows_claim(family, case):
        cumulated = np.cumsum(stage_probabilities(family, case))
        return (min(int(np.searchsorted(cumulated, quantile, side="right")), case.stages - 1),)
    theta = perceive(family, case) + float(disturbance(family, sampling, quantile))
    if subset:
        return tuple(np.flatnonzero(supported(family, case, theta)).tolist())
    return (int(stage_at(theta, thresholds(case.stages, family.threshold_shift))),)


def disturbance(family: Family, sampling: SamplingParameters, quantile: ArrayLike) -> FloatArray:
    """Return the noise of a reading at quantiles in [0, 1)."""
    inner = 0.5 + sampling.top_p * (np.asarray(quantile) - 0.5)
    inner = np.clip(inner, 1e-12, 1 - 1e-12)
    return np.asarray(family.noise * sampling.temperature * np.log(inner / (1 - inner)))


def supported(family: Family, case: PlantedCase, theta: ArrayLike) -> NDArray[np.bool_]:
    """Return which stages (..., S) are at least w times as likely as the likeliest, for θ (...)."""
    edges = thresholds(case.stages, family.threshold_shift)
    likely = graded_response(theta, family.noise, edges)
    return np.asarray(likely >= family.subset_width * likely.max(axis=-1, keepdims=True))


def occurs(probability: float, sampling: SamplingParameters, rng: Random) -> bool:
    """Draw an event; at temperature 0 it occurs when it is likelier than not."""
    drawn = rng.random()
    return probability > (drawn if sampling.temperature > 0 else 0.5)


def abstention_probability(family: Family, case: PlantedCase) -> float:
    """Return a·(1 - information); a claim that can be checked is never declined."""
    return 0.0 if case.truth is not None else family.abstention * (1 - case.reading.information)


def reserve(family: Family, case: PlantedCase, *, own_rubric: bool) -> float:
    """Return the probability of abstaining instead of naming the lowest stage alone."""
    if case.truth is not None:
        return 0.0
    return min(1.0, family.reserve + own_rubric * family.own_rubric_reserve)


def margin(family: Family, case: PlantedCase, chosen: tuple[int, ...]) -> float:
    """Return how much likelier the least likely chosen stage is than the best one left out.

    As a probe sees it, which has the same words whatever the wording of the judgement was.
    """
    likely = stage_probabilities(family.model_copy(update={"wording_shift": 0.0}), case)
    inside = np.isin(np.arange(case.stages), chosen)
    return float(likely[inside].min() - likely[~inside].max(initial=0.0))


def stated_level(family: Family, margin: float, *, own_rubric: bool) -> float:
    """Return κ0 + κ1·margin - ρ·[foreign rubric], before noise and clipping to [0, 1]."""
    foreign = 0.0 if own_rubric else family.own_rubric_loyalty
    return family.probe_level + family.probe_slope * margin - foreign


def state_probability(
    family: Family, level: float, sampling: SamplingParameters, rng: Random
) -> float:
    """Return the probability a judge states: the level with noise σ_probe·temperature, clipped."""
    noise = rng.gauss(0.0, 1.0) * family.probe_noise * sampling.temperature
    return min(1.0, max(0.0, level + noise))


def _knows_claim(family: Family, case: PlantedCase) -> bool:
    return case.truth is not None and family.fixed_reading is None
