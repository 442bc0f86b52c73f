"""Tests by permutation and sign flips, and the corrections for testing many hypotheses."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.intervals import EPSILON

PERMUTATIONS = 1000
EXACT_UP_TO = 20
SIGN_FLIPS = 9999


def permutation_p(observed: float, permuted: FloatArray, slack: float = EPSILON) -> float:
    """Return (1 + permuted values at or above the observed) / (1 + permutations), in (0, 1].

    Values within `slack`, the rounding of how they were computed, count as equal.
    """
    return (1 + int((permuted >= observed - slack).sum())) / (1 + len(permuted))


def sign_flip_p(differences: FloatArray, rng: np.random.Generator, *, above: bool = False) -> float:
    """Return the p of the mean of paired differences under random signs.

    Two-sided, or with `above` one-sided for a mean above 0: an effect in the wrong direction then
    has a large p. Exact enumeration while at most 20 differences are not zero (for differences of
    ±1 it is the exact McNemar test), else 9,999 seeded flips with the observed one counted.
    Source: Fisher 1935, The Design of Experiments, section 21.
    """
    moved = differences[np.abs(differences) > EPSILON]
    if len(moved) and np.ptp(np.abs(moved)) <= EPSILON:
        return binomial_sign_p(int((moved > 0).sum()), int((moved < 0).sum()), above=above)
    observed = float(moved.sum()) if above else abs(float(moved.sum()))
    slack = EPSILON * max(1.0, float(np.abs(moved).sum()))
    if len(moved) <= EXACT_UP_TO:
        totals = np.zeros(1)
        for difference in moved:
            totals = np.concatenate([totals + difference, totals - difference])
        return float(np.mean((totals if above else np.abs(totals)) >= observed - slack))
    extreme = 0
    for start in range(0, SIGN_FLIPS, 1000):
        signs = rng.choice((-1.0, 1.0), size=(min(1000, SIGN_FLIPS - start), len(moved)))
        totals = signs @ moved
        extreme += int(((totals if above else np.abs(totals)) >= observed - slack).sum())
    return (1 + extreme) / (1 + SIGN_FLIPS)


def binomial_sign_p(up: int, down: int, *, above: bool = False) -> float:
    """Return the exact p of `up` changes one way and `down` the other, if both were as likely.

    Two-sided, or with `above` one-sided for more changes up. Source: McNemar 1947, Psychometrika
    12, with the binomial in place of its normal approximation.
    """
    from scipy.special import bdtr

    changes = up + down
    if above:
        return float(bdtr(down, changes, 0.5))
    return min(1.0, 2 * float(bdtr(min(up, down), changes, 0.5)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for the family-wise error rate (Holm 1979), in the order given."""
    return _adjusted(p_values, "holm")


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for the false discovery rate (Benjamini and Hochberg 1995)."""
    return _adjusted(p_values, "fdr_bh")


def _adjusted(p_values: Sequence[float], method: str) -> list[float]:
    if not p_values:
        return []
    from statsmodels.stats.multitest import multipletests  # takes seconds to import

    return [float(p) for p in multipletests(p_values, method=method)[1]]


def holm_over(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Return the estimates of one family with their p values adjusted by Holm.

    Those without a p value pass unchanged and do not count into the family.
    """
    tested = [index for index, estimate in enumerate(estimates) if estimate.p is not None]
    adjusted = dict(zip(tested, holm([estimates[i].p or 0.0 for i in tested]), strict=True))
    note = f"; Holm over {len(tested)}"
    return [
        replace(estimate, p=adjusted[index], method=estimate.method + note)
        if index in adjusted
        else estimate
        for index, estimate in enumerate(estimates)
    ]
