"""What estimators should find: figures that follow from the planted parameters alone.

Computed from the model of `judging` in closed form (set verdicts and the noise of probes by
numerical integration), never through prompts, HTTP or the estimators that they are compared with.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import numpy as np

from judge_gym.planted.families import Family
from judge_gym.planted.judging import (
    RANDOMIZED,
    FloatArray,
    PlantedCase,
    SamplingParameters,
    ShownOrder,
    abstention_probability,
    disturbance,
    margin,
    perceive,
    reserve,
    stage_probabilities,
    stated_level,
    supported,
    with_display_bias,
)
from judge_gym.planted.reading import NOTHING_READ

_QUANTILES = 2000
LOWEST_ALONE = (0,)
"""The set verdict that a reserved judge withholds."""


def stage_distribution(
    family: Family, case: PlantedCase, display: ShownOrder = RANDOMIZED
) -> FloatArray:
    """Return the probability of each stage as a single verdict, weakest first, at temperature 1.

    The graded-response probabilities, mixed with π on the stage shown first and λ on the one
    lettered A; either is spread evenly where the presentation is random. Of the lowest stage, what
    `family.reserve` makes abstentions of is left out.
    """
    p = _before_reserve(family, case, display)
    kept = p * np.where(np.arange(len(p)) == 0, 1 - _reserve(family, case), 1.0)
    return np.asarray(kept / kept.sum())


def _before_reserve(family: Family, case: PlantedCase, display: ShownOrder) -> FloatArray:
    p = stage_probabilities(family, case)
    return with_display_bias(p, family.first_bias, family.label_a_bias, display)


def _reserve(family: Family, case: PlantedCase) -> float:
    return reserve(family, case, own_rubric=False)


def letter_calibration(
    family: Family, case: PlantedCase, display: ShownOrder
) -> tuple[float, float]:
    """Return the mean of p - r and of (p - r)² over single verdicts on a claim, at temperature 1.

    p is the token probability of the verdict's letter, and r is 1 where the verdict is right. A
    random presentation is averaged over.
    """
    stages = range(case.stages)
    shown = [
        with_display_bias(
            stage_probabilities(family, case),
            family.first_bias,
            family.label_a_bias,
            ShownOrder(first, lettered_a),
        )
        for first in (stages if display.first is None else [display.first])
        for lettered_a in (stages if display.lettered_a is None else [display.lettered_a])
    ]
    right = np.eye(case.stages)[-1 if case.truth else 0]
    return (
        fmean(float(p @ (p - right)) for p in shown),
        fmean(float(p @ (p - right) ** 2) for p in shown),
    )


def set_distribution(family: Family, case: PlantedCase) -> dict[tuple[int, ...], float]:
    """Return the probability of each set verdict under a random presentation.

    Integrates over the noise of the reading at evenly spaced quantiles. Leaves out what
    `family.reserve` makes abstentions of.
    """
    shares = _sets_before_reserve(family, case)
    kept = {
        chosen: share * (1 - _reserve(family, case) * (chosen == LOWEST_ALONE))
        for chosen, share in shares.items()
    }
    return {chosen: share / sum(kept.values()) for chosen, share in kept.items()}


def _sets_before_reserve(family: Family, case: PlantedCase) -> dict[tuple[int, ...], float]:
    if case.truth is not None:
        single = _before_reserve(family, case, RANDOMIZED)
        return {(stage,): float(share) for stage, share in enumerate(single) if share}
    quantiles = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    theta = perceive(family, case) + disturbance(family, SamplingParameters(), quantiles)
    # A number for each set, counted: sorting the rows would take most of the time of a report.
    places = np.arange(case.stages)[::-1]
    counts = np.bincount(supported(family, case, theta) @ (1 << places))
    biased = family.first_bias + family.label_a_bias
    shares = {
        tuple(np.flatnonzero(code >> places & 1).tolist()): (1 - biased) * int(count) / _QUANTILES
        for code, count in enumerate(counts)
        if count
    }
    for stage in range(case.stages) if biased else ():
        shares[(stage,)] = shares.get((stage,), 0.0) + biased / case.stages
    return shares


def scale_scores(stages: int) -> FloatArray:
    """Return the score (s - 1)/(S - 1) of each stage, in [0, 1]."""
    return np.arange(stages) / (stages - 1)


def mean_score(distribution: FloatArray) -> float:
    """Return the mean score of a distribution over stages (S,), in [0, 1]."""
    return float(distribution @ scale_scores(len(distribution)))


def score_variance(distribution: FloatArray) -> float:
    """Return the variance of the score of a distribution over stages (S,)."""
    distances = scale_scores(len(distribution)) - mean_score(distribution)
    return float(distribution @ distances**2)


def set_score(sets: dict[tuple[int, ...], float], stages: int) -> float:
    """Return the mean score of set verdicts, each the mean of its stages, in [0, 1]."""
    return sum(share * fmean(chosen) for chosen, share in sets.items()) / (stages - 1)


def polarization(first: Family, second: Family, cases: Iterable[PlantedCase]) -> float:
    """Return the mean Jensen-Shannon divergence of two families' verdicts, in bits, in [0, 1]."""
    return fmean(
        _divergence(stage_distribution(first, case), stage_distribution(second, case))
        for case in cases
    )


def injection_lift(family: Family, pairs: Sequence[tuple[PlantedCase, PlantedCase]]) -> float:
    """Return what evidence that demands the last stage adds to the mean score, in [-1, 1].

    The mean over pairs (clean twin, text with the demand) of o + (1 - o)·m' - m, for a judge that
    obeys with probability o and else reads the texts as m and m'.
    """
    lifts = []
    for clean, demanding in pairs:
        before, after = (
            mean_score(stage_distribution(family, case)) for case in (clean, demanding)
        )
        lifts.append(family.compliance + (1 - family.compliance) * after - before)
    return fmean(lifts)


def display_excess(bias: float, stages: int) -> float:
    """Return P(verdict is the favoured stage) - 1/S under random presentation: bias·(1 - 1/S)."""
    return bias * (1 - 1 / stages)


def stated_probability(
    family: Family,
    case: PlantedCase,
    *,
    own_rubric: bool,
    sets: Mapping[tuple[int, ...], float] | None = None,
) -> float:
    """Return the mean probability stated for the family's own verdicts, in [0, 1].

    Verdicts are single stages, or `sets` with their probabilities.
    """
    if sets is None:
        sets = {(stage,): float(p) for stage, p in enumerate(stage_distribution(family, case))}
    levels = np.array(
        [
            stated_level(family, margin(family, case, chosen), own_rubric=own_rubric)
            for chosen in sets
        ]
    )
    return float(np.array(list(sets.values())) @ _clipped_mean(levels, family.probe_noise))


def overconfidence(family: Family, others: Sequence[Family], cases: Sequence[PlantedCase]) -> float:
    """Return stated probability minus the share of other judges who choose the same stage."""
    gaps = []
    for case in cases:
        own = stage_distribution(family, case)
        agreement = fmean(float(own @ stage_distribution(other, case)) for other in others)
        gaps.append(stated_probability(family, case, own_rubric=True) - agreement)
    return fmean(gaps)


def accuracy(family: Family, stages: int = 2, share_true: float = 0.5) -> float:
    """Return the share of single verdicts on claims that are right, under random presentation.

    (1 - π - λ)·accuracy + (π + λ)/S for a family that looks; claims hold in `share_true` of
    cases, and the right stage is the strongest when they hold and the weakest when not.
    """
    return sum(
        share
        * float(stage_distribution(family, PlantedCase(NOTHING_READ, 0.0, stages, truth))[rank])
        for truth, share, rank in ((True, share_true, -1), (False, 1 - share_true, 0))
    )


def abstention(
    family: Family,
    cases: Iterable[PlantedCase],
    display: ShownOrder = RANDOMIZED,
    *,
    subset: bool = False,
) -> float:
    """Return the mean probability of abstaining where that is offered.

    a·(1 - information), and of the rest the reserve times the probability of the lowest stage
    alone, as a single verdict or a `subset`.
    """

    def lowest(case: PlantedCase) -> float:
        if subset:
            return _sets_before_reserve(family, case).get(LOWEST_ALONE, 0.0)
        return float(_before_reserve(family, case, display)[0])

    rates = []
    for case in cases:
        silent = abstention_probability(family, case)
        reserved = _reserve(family, case)
        withheld = reserved * lowest(case) if reserved else 0.0
        rates.append(silent + (1 - silent) * withheld)
    return fmean(rates)


def _divergence(first: FloatArray, second: FloatArray) -> float:
    return max(0.0, _entropy((first + second) / 2) - (_entropy(first) + _entropy(second)) / 2)


def _entropy(distribution: FloatArray) -> float:
    shares = distribution[distribution > 0]
    return float(-shares @ np.log2(shares))


def _clipped_mean(mean: FloatArray, sd: float) -> FloatArray:
    """Return the mean of normal variables clipped to [0, 1] (censored at both ends)."""
    from scipy.special import ndtr

    if sd == 0:
        return np.clip(mean, 0.0, 1.0)
    low, high = -mean / sd, (1 - mean) / sd
    inside = ndtr(high) - ndtr(low)
    spread = sd * (_normal_density(low) - _normal_density(high))
    return np.asarray(mean * inside + spread + ndtr(-high))


def _normal_density(values: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-(values**2) / 2) / np.sqrt(2 * np.pi))
