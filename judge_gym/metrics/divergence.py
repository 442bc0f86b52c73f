"""Divergences between distributions over stages; arrays in, arrays out, stages on the last axis."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np

from judge_gym.metrics.cells import FloatArray

Kernel = Callable[[FloatArray, FloatArray], FloatArray]


def entropy(p: FloatArray) -> FloatArray:
    """Return Shannon entropy in bits, in [0, log2 S]; 0·log 0 is 0."""
    # A floor under the logarithm is much faster than masking the zeros.
    logs = np.log(np.maximum(p, np.finfo(p.dtype).tiny))
    return np.asarray((p * logs).sum(axis=-1) / -log(2))


def jensen_shannon(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return H((p+q)/2) - (H(p)+H(q))/2 in bits, in [0, 1]: the divergence, not its root.

    0 for equal distributions, 1 for disjoint supports. Source: Lin 1991, IEEE Transactions IT 37.
    """
    value = entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2
    return np.asarray(np.clip(value, 0.0, 1.0))


def wasserstein(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the Wasserstein-1 distance over S - 1, in [0, 1]: Σ|F - G| / (S - 1).

    1 for point masses at the two ends of the scale; the stages count as equally spaced.
    """
    steps = np.abs(np.cumsum(p - q, axis=-1))[..., :-1]
    return np.asarray(np.clip(steps.mean(axis=-1), 0.0, 1.0))


def pairwise_mean(kernel: Kernel, p: FloatArray) -> FloatArray:
    """Return the mean of `kernel` over all pairs of judges; p is (..., judges >= 2, stages)."""
    judges = p.shape[-2]
    total = np.zeros(p.shape[:-2], dtype=p.dtype)
    for apart in range(1, judges):
        total += kernel(p[..., apart:, :], p[..., :-apart, :]).sum(axis=-1)
    return np.asarray(total / (judges * (judges - 1) // 2))


def mean_jensen_shannon(p: FloatArray) -> FloatArray:
    """Return the mean of `jensen_shannon` over all pairs, each judge's own entropy taken once."""
    mixed = pairwise_mean(lambda first, second: entropy((first + second) / 2), p)
    return np.asarray(np.clip(mixed - entropy(p).mean(axis=-1), 0.0, 1.0))


def generalised_jensen_shannon(p: FloatArray) -> FloatArray:
    """Return (H(mean p) - mean H(p)) / log2 M over M >= 2 judges, equal weights, in [0, 1].

    p is (..., judges, stages). Source: Lin 1991, section V.
    """
    value = entropy(p.mean(axis=-2)) - entropy(p).mean(axis=-1)
    return np.asarray(np.clip(value / np.log2(p.shape[-2]), 0.0, 1.0))


@dataclass(frozen=True)
class Homogeneity:
    """The likelihood-ratio statistic G, its degrees of freedom and its asymptotic p."""

    statistic: float
    df: int
    p: float


def g_test(counts: FloatArray) -> Homogeneity | None:
    """Return the test that the judges of one item draw from one distribution.

    `counts` is judges x stages. G = 2N·ln 2·JSD with judges weighted by their samples, df =
    (judges - 1)·(stages in use - 1), p from χ²: good for many samples, where `polarization`
    permutes. None for one judge or one stage in use. Source: Grosse et al. 2002, Physical
    Review E 65, and Wilks 1938.
    """
    from scipy.special import chdtrc

    used = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    df = (used.shape[0] - 1) * (used.shape[1] - 1)
    if df < 1:
        return None
    size, total = used.sum(axis=1), float(used.sum())
    apart = entropy(used.sum(axis=0) / total) - size @ entropy(used / size[:, None]) / total
    statistic = float(2 * total * np.log(2) * apart)
    return Homogeneity(statistic, df, float(chdtrc(df, statistic)))
