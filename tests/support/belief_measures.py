"""Measures of masses that references state and no figure uses."""

from collections.abc import Sequence

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray, set_sizes
from judge_gym.metrics.masses import (
    Masses,
    disjoint,
    gather,
    jaccard,
    mean_product,
    unnormalised,
)


def commonality(masses: Masses, hypotheses: IntArray) -> FloatArray:
    """Return Q(H) = Σ m(A) over A that hold H, (..., H), in [0, 1] (Shafer 1976)."""
    holding = (masses.sets[:, None] & hypotheses) == hypotheses
    return np.asarray(masses.mass @ holding.astype(np.float64))


def nonspecificity(masses: Masses) -> FloatArray:
    """Return Σ m(A)·log2|A| in bits, (...), in [0, log2 S] (Dubois and Prade 1985)."""
    return np.asarray(masses.mass @ np.log2(set_sizes(masses.sets)))


def weight_of_conflict(first: Masses, second: Masses) -> FloatArray:
    """Return -ln(1 - k) in nats, (...), infinite where conflict is total (Shafer 1976)."""
    agreeing = (~disjoint(first.sets, second.sets)).astype(np.float64)
    with np.errstate(divide="ignore"):
        # 1 - k as a sum of its own keeps the digits that a k near one loses.
        return np.asarray(-np.log(np.minimum(mean_product(first, agreeing, second), 1.0)))


def jousselme(first: Masses, second: Masses) -> FloatArray:
    """Return √(½ (m1 - m2)ᵀ J (m1 - m2)), J the Jaccard matrix, (...), in [0, 1].

    The plain distance between mass functions that are known; between estimated ones it is biased
    upward, and `belief.belief_distance` gives the unbiased square. Source: Jousselme, Grenier and
    Bossé 2001, Information Fusion 2.
    """
    own = [mean_product(m, jaccard(m.sets, m.sets), m) for m in (first, second)]
    cross = mean_product(first, jaccard(first.sets, second.sets), second)
    return np.asarray(np.sqrt(np.maximum((own[0] + own[1]) / 2 - cross, 0.0)))


def conjunctive(sources: Sequence[Masses]) -> tuple[IntArray, FloatArray]:
    """Return the unnormalised combination: sets (ascending, 0 the empty one) and (rows, K)."""
    sets, mass, lost = unnormalised(sources)
    return np.concatenate([np.zeros(1, dtype=np.int64), sets]), np.concatenate(
        [lost[:, None], mass], axis=-1
    )


def discount(masses: Masses, reliability: float) -> Masses:
    """Return the masses times `reliability` in [0, 1], the rest on Θ (Shafer 1976).

    Reliability 1 changes nothing, 0 leaves total ignorance.
    """
    if not 0 <= reliability <= 1:
        raise ValueError(f"reliability {reliability}: it lies in [0, 1]")
    rest = 1 - reliability
    sets = np.append(masses.sets, masses.frame)
    present = masses.mass.sum(axis=-1, keepdims=True)
    return gather(
        sets, np.concatenate([masses.mass * reliability, rest * present], axis=-1), masses.n_stages
    )
