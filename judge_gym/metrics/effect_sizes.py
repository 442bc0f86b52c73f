"""Size, equivalence and trend of paired effects: values per item in, arrays of equal order."""

from dataclasses import replace

import numpy as np

from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import NO_SPREAD, UNBOUNDED, Estimate, not_estimable, with_interval
from judge_gym.metrics.intervals import EPSILON, LEVEL


def standardised_effects(before: FloatArray, after: FloatArray) -> list[Estimate]:
    """Return the mean of after - before in three standard deviations, over items; unbounded.

    `effect_dz`: over that of the differences, with its exact interval by the noncentral t;
    `effect_gz`: the same times Hedges' J(n - 1), nearly unbiased; `effect_dav`: over the root
    mean square of the two conditions' own. d_z and d_av differ when the conditions correlate, so
    a threshold has to say which. Needs two items whose differences are not all equal. Sources:
    Cohen 1988; Hedges 1981; Lakens 2013, Frontiers in Psychology 4.
    """
    names = ("effect_dz", "effect_gz", "effect_dav")
    differences = after - before
    n = len(differences)
    if n < 2 or np.ptp(differences) <= EPSILON:
        because = "there are not two items" if n < 2 else "every item moved by the same"
        return [not_estimable(name, because, n_items=n, unit="d") for name in names]
    mean, own = float(differences.mean()), float(differences.std(ddof=1))
    spread = float(np.sqrt((before.var(ddof=1) + after.var(ddof=1)) / 2))
    values = (mean / own, mean / own * _hedges(n - 1), mean / spread)
    dz, gz, dav = (
        Estimate(name, value, None, None, n, n, method="paired over items", unit="d")
        for name, value in zip(names, values, strict=True)
    )
    interval = _noncentral(values[0] * n**0.5, n - 1)
    low, high = (limit / n**0.5 for limit in interval)
    method = "paired over items, noncentral t interval"
    return [
        with_interval(replace(dz, method=method), (low, high), UNBOUNDED, absent=NO_SPREAD),
        gz,
        dav,
    ]


def equivalence_p(differences: FloatArray, low: float, high: float) -> float | None:
    """Return the p of "the mean difference lies outside (low, high)", by two one-sided t tests.

    Small p: equivalent within the margin, as a perturbation that must not move a score should
    be. None for fewer than two items, or no spread. Source: Schuirmann 1987, Journal of
    Pharmacokinetics and Biopharmaceutics 15.
    """
    from scipy.special import stdtr

    if not low < high:
        raise ValueError(f"the margin {low} to {high} is empty")
    n = len(differences)
    if n < 2 or np.ptp(differences) <= EPSILON:
        return None
    mean, error = float(differences.mean()), float(differences.std(ddof=1)) / n**0.5
    return float(max(stdtr(n - 1, (low - mean) / error), stdtr(n - 1, (mean - high) / error)))


def page_trend(values: FloatArray) -> tuple[float, float]:
    """Return Page's L and its p that `values` (items x levels >= 3) rise with the level.

    One-sided, on ranks within the item; exact for few items. Source: Page 1963, JASA 58.
    """
    from scipy.stats import page_trend_test

    found = page_trend_test(values)
    return float(found.statistic), float(found.pvalue)


def kendall_tau_b(first: FloatArray, second: FloatArray) -> tuple[float, float] | None:
    """Return Kendall's τ-b, corrected for ties, in [-1, 1], and its two-sided p.

    None when either side is all ties, or there are not two items. Source: Kendall 1945.
    """
    from scipy.stats import kendalltau

    if len(first) < 2 or np.ptp(first) <= EPSILON or np.ptp(second) <= EPSILON:
        return None
    found = kendalltau(first, second)
    return float(found.statistic), float(found.pvalue)


def _hedges(df: int) -> float:
    from scipy.special import gammaln

    return float(np.exp(gammaln(df / 2) - gammaln((df - 1) / 2)) / np.sqrt(df / 2))


def _noncentral(t: float, df: int) -> tuple[float, float]:
    """Return the 95% interval of the noncentrality of an observed t."""
    from scipy.special import nctdtrinc

    tail = (1 - LEVEL) / 2
    return float(nctdtrinc(df, 1 - tail, t)), float(nctdtrinc(df, tail, t))
