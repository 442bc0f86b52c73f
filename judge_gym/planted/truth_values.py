"""What the estimators should find in a truth: expectations by quadrature over readings.

Exact but for the quadrature, and computed from the planted parameters, never from samples or by
the estimators. None where the planted model has no closed form, and where the figure does not
exist.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np

from judge_gym.planted.expected import scale_scores
from judge_gym.planted.judging import FloatArray, IntArray
from judge_gym.planted.truths import (
    SPAN,
    StudyDesign,
    Truth,
    agreement,
    set_probabilities,
    single_probabilities,
    stated,
    true_stages,
)

_NODES = 48

Planted = Mapping[str, float | None]


@cache
def planted_values(truth: Truth, design: StudyDesign) -> Planted:
    """Return metric → the value its estimate has on average, or None."""
    theta, weight = _readings()
    values: dict[str, float | None] = {
        "concept_difference": 0.0,
        "corrected_difference": 0.0,
        "corrected_difference_rogan_gladen": 0.0,
        "label_bias": 0.0,
        "replicate_time_correlation": None if truth.constant else 0.0,
        "position_bias": truth.first_bias * (1 - 1 / design.n_stages),
        "sham_sensitivity": 0.0,
        **_of_sets(truth, theta, weight, design.n_stages),
        **_of_labels(truth, theta, weight, design.n_stages),
    }
    if len(set(truth.leaning)) == 1 or truth.constant:
        values |= dict.fromkeys(
            (
                *("polarization_excess", "polarization_ordinal_excess", "judge_difference"),
                *("entrenchment_excess", "polarization_corrected"),
            ),
            0.0,
        )
    if not truth.leaning[0] or truth.constant:  # judge 0 is one more person
        people = ("alt_test_lead", "people_distance_excess", "people_distance_ordinal_excess")
        values |= dict.fromkeys((*people, "people_belief_distance"), 0.0)
    if not truth.rubric_shift:
        values["swap_verdict_shift"] = 0.0
        if not truth.loyalty:
            values["swap_sensitivity"] = 0.0
    return values if truth.doubt else {**values, **_of_points(truth, design, theta, weight)}


def _of_points(
    truth: Truth, design: StudyDesign, theta: FloatArray, weight: FloatArray
) -> dict[str, float | None]:
    """Return what needs single verdicts."""
    judges = range(len(truth.leaning))
    p = np.stack([single_probabilities(truth, theta, j, design.n_stages) for j in judges])
    moved = np.stack(
        [single_probabilities(truth, theta, j, design.n_stages, truth.rubric_shift) for j in judges]
    )
    agreed = np.stack([agreement(truth, theta, j, design.n_stages) for j in judges])
    scale = scale_scores(design.n_stages)
    mean, square = p @ scale, p @ scale**2
    own = (p * stated(truth, agreed, 0)).sum(axis=2)
    swap = (moved * stated(truth, agreed, truth.loyalty)).sum(axis=2)
    within = float(weight @ (square - mean**2)[0])
    between = float(weight @ mean[0] ** 2 - (weight @ mean[0]) ** 2)
    correct = true_stages(theta, design.n_stages) - 1
    confidence = stated(truth, agreed, 0)
    squared = confidence**2 - 2 * confidence * agreed + agreed
    # What depends on the number of samples in a cell has no closed form where some abstain.
    divergences = {} if truth.lost else _polarization(p, weight, own, design.replicates)
    return {
        "brier_score": float(weight @ (p * squared).sum(axis=2).mean(axis=0)),
        "judge_difference": float(weight @ (mean[1] - mean[0])),
        "swap_verdict_shift": float(weight @ (moved @ scale - mean).mean(axis=0)),
        "swap_sensitivity": float(weight @ (swap - own).mean(axis=0)),
        "overconfidence": float(weight @ (own - (p * agreed).sum(axis=2)).mean(axis=0)),
        "mean_score": float(weight @ mean[0]),
        "replicate_variance": float(weight @ (square - mean**2).mean(axis=0)),
        "replicate_icc": between / (between + within) if within > 0 else None,
        "accuracy": float(weight @ p[:, np.arange(len(theta)), correct].mean(axis=0)),
        "polarization_corrected": _divergence_of_many(p, weight),
        **divergences,
        **_parts(mean, moved @ scale, weight),
    }


def _of_labels(
    truth: Truth, theta: FloatArray, weight: FloatArray, n_stages: int
) -> dict[str, float]:
    """Return what labels of a person without a leaning average to, which corrections aim at."""
    person = replace(truth, leaning=(0.0,))
    sets, probability = set_probabilities(person, theta, 0, n_stages)
    named = ((sets[:, None] >> np.arange(n_stages)) & 1).astype(np.float64)
    shares = weight @ probability @ (named / named.sum(axis=1, keepdims=True))
    mean, above = float(shares @ scale_scores(n_stages)), float(shares[n_stages // 2 :].sum())
    values = {
        "corrected_mean": mean,
        "corrected_mean_stratified": mean,
        "corrected_share": above,
    }
    # A set that is half above the middle is of neither class.
    return values if truth.doubt else {**values, "corrected_share_rogan_gladen": above}


def _of_sets(
    truth: Truth, theta: FloatArray, weight: FloatArray, n_stages: int
) -> dict[str, float]:
    """Return metric → expected value, over readings `theta` with weights of sum 1.

    Samples are independent given the reading, so products of the judges' set probabilities are
    the expected products of their mean masses; and the unbiased forms leave out the noise of
    replicates.
    """
    judges = range(len(truth.leaning))
    drawn = [set_probabilities(truth, theta, judge, n_stages) for judge in judges]
    sets, q = drawn[0][0], np.stack([probability for _, probability in drawn])
    shared, either = (
        np.bitwise_count(pair).astype(np.float64)
        for pair in (sets[:, None] & sets, sets[:, None] | sets)
    )
    apart, alike = (shared == 0).astype(np.float64), shared / either
    clash, similar = ((_mean_product(q, kernel, weight)) for kernel in (apart, alike))
    pairs = list(combinations(judges, 2))
    between = float(np.mean([clash[pair] for pair in pairs]))
    distances = [(similar[i, i] + similar[j, j]) / 2 - similar[i, j] for i, j in pairs]
    values = {
        "conflict": between,
        "dempster_conflict": between,
        "self_conflict": float(np.diagonal(clash).mean()),
        "belief_distance": float(np.mean(distances)),
        **_of_mean_mass(sets, weight @ q.mean(axis=0), n_stages),
        **_utilities(sets, q.mean(axis=0), weight, true_stages(theta, n_stages)),
    }
    if len(judges) > 2:
        # k of all judges at once is not the mean over pairs.
        del values["dempster_conflict"]
    return values


def _mean_product(q: FloatArray, kernel: FloatArray, weight: FloatArray) -> FloatArray:
    """Return judges x judges: Σ q_i(A)·kernel(A, B)·q_j(B), the mean over readings."""
    return np.asarray(np.einsum("r,ira,ab,jrb->ij", weight, q, kernel, q, optimize=True))


def _of_mean_mass(sets: IntArray, mass: FloatArray, n_stages: int) -> dict[str, float]:
    """Return what is linear in the mass, from its mean over readings and judges.

    Belief, plausibility and pignistic probability are those of the second stage.
    """
    sizes = np.bitwise_count(sets).astype(np.float64)
    has_second = (sets & 0b10) != 0
    return {
        "uncertainty_gap": float(mass @ np.where(sizes > 1, sizes / n_stages, 0.0)),
        "belief": float(mass @ (sets == 0b10)),
        "plausibility": float(mass @ has_second),
        "betp": float(mass @ (has_second / sizes)),
        "subset_width": float(mass @ ((sizes - 1) / (n_stages - 1))),
        "subset_information": float(mass @ (np.log2(sizes) / np.log2(n_stages))),
    }


def _utilities(
    sets: IntArray, mass: FloatArray, weight: FloatArray, truth: IntArray
) -> dict[str, float]:
    """Return coverage and the utilities, from masses by reading and the reading's true stage."""
    holds = (sets >> (truth[:, None] - 1)) & 1
    x = holds / np.bitwise_count(sets)
    earned = {
        "coverage": holds,
        "accuracy_discounted": x,
        "accuracy_u65": 1.6 * x - 0.6 * x**2,
        "accuracy_u80": 2.2 * x - 1.2 * x**2,
    }
    return {name: float(weight @ (mass * each).sum(axis=1)) for name, each in earned.items()}


def _readings() -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of Gauss and Legendre's quadrature over the span, weights sum 1."""
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    low, high = SPAN
    return low + (node + 1) / 2 * (high - low), weight / 2


def _polarization(
    p: FloatArray, weight: FloatArray, confidence: FloatArray, replicates: int
) -> dict[str, float | None]:
    """Return E[P], E[P - P0] and E of entrenchment at this number of replicates, of two judges.

    P is H of the pooled shares less the mean H of the two, each expected over binomial counts;
    dealing the samples at random leaves the pool, so P - P0 is the mean H of what is dealt less
    the mean H of the judges. With more judges the null deals among all of them: None.
    """
    pairs = list(combinations(range(len(p)), 2))
    expected = float(np.mean([weight @ _divergence(p[a], p[b], replicates) for a, b in pairs]))
    values: dict[str, float | None] = {"polarization": expected}
    if len(p) == 2:
        own = (_entropy(p[0], replicates) + _entropy(p[1], replicates)) / 2
        values["polarization_excess"] = float(weight @ (_dealt(p[0], p[1], replicates) - own))
    stated_mean = float(weight @ confidence.mean(axis=0))
    values["entrenchment"] = expected * stated_mean
    excess = values.get("polarization_excess")
    if excess is not None:
        values["entrenchment_excess"] = excess * stated_mean
    return values


def _divergence_of_many(p: FloatArray, weight: FloatArray) -> float:
    """Return P of the judges' true distributions, which samples without number would have."""
    alone = _bits(p).mean(axis=0)
    both = np.mean([_bits((p[a] + p[b]) / 2) for a, b in combinations(range(len(p)), 2)], axis=0)
    return float(weight @ (both - alone))


def _bits(p: FloatArray) -> FloatArray:
    """Return the entropy of distributions, stages on the last axis."""
    return np.asarray(-(p * np.log2(np.maximum(p, np.finfo(np.float64).tiny))).sum(axis=-1))


def _divergence(p: FloatArray, q: FloatArray, n: int) -> FloatArray:
    return _mixed(p, q, n, n) - (_entropy(p, n) + _entropy(q, n)) / 2


def _dealt(p: FloatArray, q: FloatArray, n: int) -> FloatArray:
    """Return E[H] of n of the 2n samples, drawn without regard to their judge."""
    from scipy.stats import hypergeom

    return np.asarray(
        sum(hypergeom.pmf(k, 2 * n, n, n) * _mixed(p, q, k, n - k) for k in range(n + 1))
    )


def _entropy(p: FloatArray, n: int) -> FloatArray:
    return _mixed(p, p, n, 0)


def _mixed(p: FloatArray, q: FloatArray, first: int, second: int) -> FloatArray:
    """Return E[H] in bits of the shares of `first` samples of p and `second` of q, per reading."""
    from scipy.stats import binom

    total = first + second
    share = np.arange(total + 1) / total
    bits = -share * np.log2(share, where=share > 0, out=np.zeros_like(share))
    ones = binom.pmf(np.arange(first + 1), first, p[..., None])
    others = binom.pmf(np.arange(second + 1), second, q[..., None])
    expected = np.zeros(p.shape)
    for a in range(first + 1):
        expected += ones[..., a] * (others @ bits[a : a + second + 1])
    return np.asarray(expected.sum(axis=-1))


def _parts(own: FloatArray, moved: FloatArray, weight: FloatArray) -> dict[str, float | None]:
    """Return the variance of judges and that of rubrics, of two judges crossed with two rubrics.

    The own arms stand for one rubric and the swap arms for the other, of one shift for either
    judge. Interactions with the item are those that the bounded scale brings about.
    """
    if len(own) != 2:
        return {}
    # Crossed means (judge, rubric, reading): contrasts of half differences.
    crossed = np.stack([own, moved], axis=1)
    judge = (crossed[1] - crossed[0]).mean(axis=0)
    rubric = (crossed[:, 1] - crossed[:, 0]).mean(axis=0)
    both = crossed[1, 1] - crossed[1, 0] - crossed[0, 1] + crossed[0, 0]
    joint = float(weight @ both**2) / 4
    # The variance of two judges' means over two rubrics is theirs and half of the interaction.
    judges, rubrics = (float(weight @ part**2) / 2 - joint / 2 for part in (judge, rubric))
    return {"judges": judges, "rubrics": rubrics}
