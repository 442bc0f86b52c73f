"""What the estimators should find in a truth: expectations by quadrature over readings.

Exact but for the quadrature, and computed from the planted parameters, never from samples. None
where the planted model has no closed form, and where the figure does not exist.
"""

from collections.abc import Mapping
from functools import cache
from itertools import combinations

import numpy as np

from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.power_study_planted_sets import set_values
from judge_gym.metrics.power_study_truths import (
    SPAN,
    StudyDesign,
    Truth,
    agreement,
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
        "label_bias": 0.0,
        "position_bias": truth.first_bias * (1 - 1 / design.n_stages),
        "sham_sensitivity": 0.0,
        **set_values(truth, theta, weight, design.n_stages),
    }
    if len(set(truth.leaning)) == 1 or truth.constant:
        values |= dict.fromkeys(
            ("polarization_excess", "polarization_ordinal_excess", "judge_difference"), 0.0
        )
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
    scale = np.arange(design.n_stages) / (design.n_stages - 1)
    mean, square = p @ scale, p @ scale**2
    own = (p * stated(truth, agreed, 0)).sum(axis=2)
    swap = (moved * stated(truth, agreed, truth.loyalty)).sum(axis=2)
    within = float(weight @ (square - mean**2)[0])
    between = float(weight @ mean[0] ** 2 - (weight @ mean[0]) ** 2)
    correct = true_stages(theta, design.n_stages) - 1
    told = stated(truth, agreed, 0)
    squared = told**2 - 2 * told * agreed + agreed
    return {
        "brier_score": float(weight @ (p * squared).sum(axis=2).mean(axis=0)),
        "judge_difference": float(weight @ (mean[1] - mean[0])),
        "swap_verdict_shift": float(weight @ (moved @ scale - mean).mean(axis=0)),
        "swap_sensitivity": float(weight @ (swap - own).mean(axis=0)),
        "overconfidence": float(weight @ (own - (p * agreed).sum(axis=2)).mean(axis=0)),
        "replicate_variance": float(weight @ (square - mean**2).mean(axis=0)),
        "replicate_icc": between / (between + within) if within > 0 else None,
        "accuracy": float(weight @ p[:, np.arange(len(theta)), correct].mean(axis=0)),
        **_polarization(p, weight, own, design.replicates),
        **_parts(mean, moved @ scale, weight),
    }


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
    found: dict[str, float | None] = {"polarization": expected}
    if len(p) == 2:
        own = (_entropy(p[0], replicates) + _entropy(p[1], replicates)) / 2
        found["polarization_excess"] = float(weight @ (_dealt(p[0], p[1], replicates) - own))
    found["entrenchment"] = expected * float(weight @ confidence.mean(axis=0))
    return found


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
