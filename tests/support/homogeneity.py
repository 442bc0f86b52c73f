"""The test that the judges of an item draw from one distribution, which references state."""

from dataclasses import dataclass

import numpy as np

from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.polarization import entropy


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
