"""What the belief-function figures should find: expectations over the sets that judges name."""

from itertools import combinations

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray, set_sizes
from judge_gym.metrics.masses import (
    Masses,
    belief,
    betp,
    disjoint,
    gap,
    jaccard,
    plausibility,
    singletons,
)
from judge_gym.metrics.power_study_truths import Truth, set_probabilities, true_stages


def set_values(
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
    apart, alike = disjoint(sets, sets).astype(np.float64), jaccard(sets, sets)
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
    """Return what is linear in the mass, from its mean over readings and judges."""
    masses, second = Masses(sets, mass, n_stages), singletons(n_stages)[[1]]
    sizes = set_sizes(sets)
    return {
        "uncertainty_gap": float(gap(masses)),
        "belief": float(belief(masses, second)[0]),
        "plausibility": float(plausibility(masses, second)[0]),
        "betp": float(betp(masses)[1]),
        "subset_width": float(mass @ ((sizes - 1) / (n_stages - 1))),
        "subset_information": float(mass @ (np.log2(sizes) / np.log2(n_stages))),
    }


def _utilities(
    sets: IntArray, mass: FloatArray, weight: FloatArray, truth: IntArray
) -> dict[str, float]:
    """Return coverage and the utilities, from masses by reading and the reading's true stage."""
    holds = (sets >> (truth[:, None] - 1)) & 1
    x = holds / set_sizes(sets)
    earned = {
        "coverage": holds,
        "accuracy_discounted": x,
        "accuracy_u65": 1.6 * x - 0.6 * x**2,
        "accuracy_u80": 2.2 * x - 1.2 * x**2,
    }
    return {name: float(weight @ (mass * each).sum(axis=1)) for name, each in earned.items()}
