"""Tests by permutation and sign flips, corrections for many tests, and paired effects.

A paired effect compares the same judge on the same items under two conditions: swap and sham arms,
the tone of the text, randomisation switched on or off. Conditions are compared within a cell, never
as two pools of samples.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from judge_gym.metrics.cells import (
    BoolArray,
    CellMeans,
    FloatArray,
    IntArray,
    Verdicts,
    item_means,
    mean_scores,
    numbered,
)
from judge_gym.metrics.estimate import (
    EPSILON,
    LEVEL,
    SIGNED_UNIT,
    Estimate,
    Interval,
    by,
    mean_over_items,
    not_estimable,
    t_quantile,
    with_interval,
)

PERMUTATIONS = 1000
EXACT_UP_TO = 20
SIGN_FLIPS = 9999


def permutation_p(observed: float, permuted: FloatArray, slack: float = EPSILON) -> float:
    """Return (1 + permuted values at or above the observed) / (1 + permutations), in (0, 1].

    Values within `slack`, the rounding of how they were computed, count as equal.
    """
    return (1 + int((permuted >= observed - slack).sum())) / (1 + len(permuted))


def random_signs(shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Return signs ±1.0 drawn evenly."""
    return (2 * rng.integers(0, 2, shape, dtype=np.int8) - 1).astype(np.float64)


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
        return _exact_flip_p(moved, observed - slack, above=above)
    extreme = 0
    for start in range(0, SIGN_FLIPS, 1000):
        signs = random_signs((min(1000, SIGN_FLIPS - start), len(moved)), rng)
        totals = signs @ moved
        extreme += int(((totals if above else np.abs(totals)) >= observed - slack).sum())
    return (1 + extreme) / (1 + SIGN_FLIPS)


def _exact_flip_p(moved: FloatArray, least: float, *, above: bool) -> float:
    """Return the share of all signs whose total, or without `above` its size, is at least `least`.

    Totals of one half are counted against the sorted totals of the other: 2 x 2^(n/2) numbers in
    place of 2^n. Two-sided, totals below 0 are as many as above.
    """
    if not above and least <= 0:
        return 1.0
    one, other = map(_signed_totals, np.array_split(moved, 2))
    reached = len(one) - np.searchsorted(np.sort(one), least - other)
    return float(reached.sum() / 2 ** len(moved) * (1 if above else 2))


def _signed_totals(differences: FloatArray) -> FloatArray:
    """Return the totals of some differences under all of their signs."""
    totals = np.zeros(1)
    for difference in differences:
        totals = np.concatenate([totals + difference, totals - difference])
    return totals


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
    """Return p values adjusted for the family-wise error rate (Holm 1979), in the order given.

    Not by statsmodels, whose Holm runs the garbage collector: 50 ms a call (decision 0023).
    """
    return [float(p) for p in holm_adjusted(np.asarray(p_values, dtype=float))]


def holm_adjusted(p_values: FloatArray) -> FloatArray:
    """Return what `holm` does, of the families along the last axis."""
    order = np.argsort(p_values, axis=-1)
    steps = np.take_along_axis(p_values, order, axis=-1) * np.arange(p_values.shape[-1], 0, -1)
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(steps, axis=-1), axis=-1)
    return np.minimum(adjusted, 1.0)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for the false discovery rate (Benjamini and Hochberg 1995)."""
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values)
    shares = np.arange(1, len(values) + 1) / len(values)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum.accumulate((values[order] / shares)[::-1])[::-1]
    return [float(p) for p in np.minimum(adjusted, 1.0)]


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


def paired_contrast(
    metric: str,
    before: CellMeans,
    after: CellMeans,
    rng: np.random.Generator | None,
    unit: str,
    question: IntArray | None = None,
) -> Estimate:
    """Return `paired_difference` with the two-sided p of sign flips of the item differences.

    Without `rng`, for many comparisons, p is by t where flips would have to be drawn. Items of one
    `question` are flipped together.
    """
    estimate = paired_difference(metric, before, after, unit, question)
    if estimate.estimate is None:
        return estimate
    differences, _, items = _differences(before, after)
    cluster = None if question is None else numbered(question[items])
    if cluster is not None:
        differences = np.asarray(np.bincount(cluster, weights=differences), dtype=np.float64)
    method = f"mean paired difference over items, t interval{by(cluster)}"
    if rng is None and not _has_exact_p(differences):
        above = paired_t_p(differences)
        p = None if above is None else 2 * min(above, 1 - above)
        return replace(estimate, p=p, method=f"{method} and p")
    p = sign_flip_p(differences, rng or np.random.default_rng(0))
    return replace(estimate, p=p, method=f"{method}; p by sign flips")


def _has_exact_p(differences: FloatArray) -> bool:
    """Whether `sign_flip_p` needs no draws."""
    moved = differences[np.abs(differences) > EPSILON]
    return len(moved) <= EXACT_UP_TO or bool(np.ptp(np.abs(moved)) <= EPSILON)


def unpaired_contrast(metric: str, before: CellMeans, after: CellMeans, unit: str) -> Estimate:
    """Return the mean over items after less that before, where the items are others; in [-1, 1].

    As of documents that were bundled in another way. Interval and p by Welch's t (1947) over
    items. Needs an item at either condition, two for the interval.
    """
    first, second = (item_means(cells.value, cells.present)[0] for cells in (before, after))
    n, n_items = int(before.n.sum() + after.n.sum()), len(first) + len(second)
    if not len(first) or not len(second):
        because = "one of the two settings has no sample"
        return not_estimable(metric, because, n=n, n_items=n_items, unit=unit)
    method = "difference of means over items, which are others; interval and p by Welch's t"
    value = float(second.mean() - first.mean())
    whole = Estimate(metric, value, None, None, n, n_items, method=method, unit=unit)
    if min(len(first), len(second)) < 2 or np.ptp(first) + np.ptp(second) <= EPSILON:
        return with_interval(whole, None, absent="it needs two items that differ")
    interval, p = welch(first, second)
    return replace(with_interval(whole, interval, SIGNED_UNIT), p=p)


def welch(first: FloatArray, second: FloatArray) -> tuple[Interval, float]:
    """Return the interval of mean(second) - mean(first), and the p of no difference.

    By Welch's t (1947): two values each, which are not all one. Values of one side may be equal.
    """
    from scipy import stats

    parts = [float(np.var(side, ddof=1)) / len(side) for side in (first, second)]
    error = sum(parts) ** 0.5
    df = error**4 / sum(
        part**2 / (len(side) - 1) for part, side in zip(parts, (first, second), strict=True)
    )
    value = float(second.mean() - first.mean())
    half = t_quantile(df) * error
    return (value - half, value + half), float(2 * stats.t.sf(abs(value) / error, df))


def paired_difference(
    metric: str,
    before: CellMeans,
    after: CellMeans,
    unit: str,
    question: IntArray | None = None,
) -> Estimate:
    """Return the mean over items of (after - before), for values in [0, 1]; range [-1, 1].

    Differences are taken between cell means, only in cells that both conditions hold, and
    averaged over the judges of an item. Interval: paired t over items, or over the `question` of
    each. Needs one shared item, two that differ for the interval.
    """
    if before.n.shape != after.n.shape:
        raise ValueError(f"{metric}: the conditions index different judges or items")
    differences, n, items = _differences(before, after)
    if not len(differences):
        return not_estimable(
            metric, "no judge has samples of one item under both conditions", unit=unit
        )
    cluster = None if question is None else numbered(question[items])
    return mean_over_items(
        metric, differences, n=n, unit=unit, bounds=SIGNED_UNIT, items=items, cluster=cluster
    )


def _differences(before: CellMeans, after: CellMeans) -> tuple[FloatArray, IntArray, BoolArray]:
    """Return the difference of each item that both conditions hold, its samples, and which."""
    both = before.present & after.present
    differences, kept = item_means(after.value - before.value, both)
    samples = np.where(both, before.n + after.n, 0).sum(axis=0)
    return differences, samples[kept], kept


def score_shift(
    metric: str, before: Verdicts, after: Verdicts, rng: np.random.Generator
) -> Estimate:
    """Return the paired mean difference of verdicts on the 0-1 scale, after - before.

    Positive: `after` puts the same items higher on the scale. See `paired_contrast`.
    """
    means = mean_scores(before), mean_scores(after)
    return paired_contrast(metric, *means, rng, "0-1 scale", before.question)


POWER = 0.8
"""The chance of finding an effect that a design is brought to."""
MOST_ITEMS = 1_000_000
_STEPS = 1000


def standardised_effects(before: FloatArray, after: FloatArray) -> list[Estimate]:
    """Return the mean of after - before in three standard deviations, over items; unbounded.

    `effect_dz`: over that of the differences, with its exact interval by the noncentral t;
    `effect_gz`: the same times Hedges' J(n - 1), nearly unbiased; `effect_dav`: over the root
    mean square of the two conditions' own, with the interval of d_z on its scale. d_z and d_av
    differ when the conditions correlate, so a threshold has to say which. Needs two items whose
    differences are not all equal. Sources: Cohen 1988; Hedges 1981; Lakens 2013, Frontiers in
    Psychology 4; the interval of d_av: Algina and Keselman 2003, Educational and Psychological
    Measurement 63.
    """
    names = ("effect_dz", "effect_gz", "effect_dav")
    differences = after - before
    n = len(differences)
    if n < 2 or np.ptp(differences) <= EPSILON:
        because = "there are not two items" if n < 2 else "every item moved by the same"
        return [not_estimable(name, because, n_items=n, unit="d") for name in names]
    mean, own = float(differences.mean()), float(differences.std(ddof=1))
    spread = float(np.sqrt((before.var(ddof=1) + after.var(ddof=1)) / 2))
    low, high = _noncentral(mean / own * n**0.5, n - 1)
    scales = (1 / own, _hedges(n - 1) / own, 1 / spread)
    method = "paired over items, noncentral t interval"
    return [
        Estimate(
            name, mean * scale, low * own * scale / n**0.5, high * own * scale / n**0.5, n, n,
            method=method, unit="d",
        )
        for name, scale in zip(names, scales, strict=True)
    ]  # fmt: skip


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


def paired_t_p(differences: FloatArray) -> float | None:
    """Return the p of "the mean difference is at most 0", by a one-sided paired t test.

    None for fewer than two items, or no spread.
    """
    from scipy.special import stdtr

    n = len(differences)
    if n < 2 or np.ptp(differences) <= EPSILON:
        return None
    error = float(differences.std(ddof=1)) / n**0.5
    return float(stdtr(n - 1, -float(differences.mean()) / error))


def paired_power(dz: float, n_items: int, tests: int = 1) -> float:
    """Return the chance that a one-sided paired t test at 2.5% finds an effect of this d_z > 0.

    In [0, 1]; that of the two-sided test at 5%, but for its wrong side. Of several `tests` each is
    at 2.5% over their number, Holm's strictest step, so that the chance after Holm is no smaller.
    0 for fewer than two items. By the noncentral t. Source: Cohen 1988.
    """
    from scipy.special import nctdtr

    if n_items < 2:
        return 0.0
    critical = t_quantile(n_items - 1, _level(tests))
    return 1 - float(nctdtr(n_items - 1, dz * n_items**0.5, critical))


def items_needed(dz: float, power: float = POWER, tests: int = 1) -> int:
    """Return the fewest items with which `paired_power` reaches `power`, at most a million.

    34 items for d_z = 0.5 and a power of 0.8; 60 for one of 12 tests.
    """
    if dz <= 0:
        raise ValueError(f"d_z {dz}: only an effect above 0 can be found")
    sizes = range(2, MOST_ITEMS)
    return 2 + bisect_left(sizes, power, key=lambda n: paired_power(dz, n, tests))


def detectable_difference(
    spread: Callable[[float], float],
    n_items: int,
    most: float = 1.0,
    tests: int = 1,
) -> float | None:
    """Return the least mean difference above 0 that `paired_power` finds with the power `POWER`.

    `spread` maps a mean difference to the standard deviation of the item differences, above 0. To
    a thousandth of `most`, the largest difference there can be; None where even that is missed.
    """
    steps = range(1, _STEPS)

    def found(step: int) -> bool:
        difference = most * step / _STEPS
        return paired_power(difference / spread(difference), n_items, tests) >= POWER

    step = steps.start + bisect_left(steps, True, key=found)
    return most * step / _STEPS if step < steps.stop else None


def detectable_beyond(half: float, df: float, tests: int = 1) -> float:
    """Return the least distance beyond a margin that is found with `POWER`.

    Of a figure whose 95% interval by t with `df` is `half` wide to each side: `paired_power` is
    `POWER` there.
    """
    from scipy.special import nctdtrinc

    critical = t_quantile(df, _level(tests))
    return half / t_quantile(df) * float(nctdtrinc(df, 1 - POWER, critical))


def equivalence_within(half: float, df: float, tests: int = 1) -> float:
    """Return the least margin that two one-sided tests show, with `POWER`, if nothing moved.

    Of a figure whose 95% interval by t with `df` is `half` wide to each side.
    """
    from scipy.special import ndtri

    quantiles = t_quantile(df, _level(tests)) + float(ndtri((1 + POWER) / 2))
    return half / t_quantile(df) * quantiles


def equivalence_margin(spread: float, n_items: int, tests: int = 1) -> float | None:
    """Return the least margin that two one-sided tests show, with `POWER`, if nothing moved.

    The inverse of `equivalence_items`; None for fewer than two items.
    """
    if n_items < 2:
        return None
    half = t_quantile(n_items - 1) * spread / float(n_items**0.5)
    return equivalence_within(half, n_items - 1, tests)


def equivalence_items(spread: float, margin: float, tests: int = 1) -> int:
    """Return the fewest items with which two one-sided tests at 2.5% show that nothing moved.

    `spread` is the standard deviation of the item differences in the unit of `margin`; the power
    is that where the true mean difference is 0, 2·Φ(margin·√n/spread - t) - 1. Several `tests` as
    in `paired_power`. At most a million.
    """
    from scipy.special import ndtri

    sizes = range(2, MOST_ITEMS)
    reach = float(ndtri((1 + POWER) / 2)) * spread

    def spare(n: int) -> float:
        return float(margin * n**0.5 - t_quantile(n - 1, _level(tests)) * spread)

    return 2 + bisect_left(sizes, reach, key=spare)


def page_trend(values: FloatArray) -> tuple[float, float]:
    """Return Page's L and its p that `values` (items x levels >= 3) rise with the level.

    One-sided, on ranks within the item; exact for few items. Source: Page 1963, JASA 58.
    """
    from scipy.stats import page_trend_test

    result = page_trend_test(values)
    return float(result.statistic), float(result.pvalue)


def kendall_tau_b(first: FloatArray, second: FloatArray) -> tuple[float, float] | None:
    """Return Kendall's τ-b, corrected for ties, in [-1, 1], and its two-sided p.

    None when either side is all ties, or there are not two items. Source: Kendall 1945.
    """
    from scipy.stats import kendalltau

    if len(first) < 2 or np.ptp(first) <= EPSILON or np.ptp(second) <= EPSILON:
        return None
    result = kendalltau(first, second)
    return float(result.statistic), float(result.pvalue)


def _level(tests: int) -> float:
    """Return the level of the interval whose ends are one-sided tests at 2.5% over `tests`."""
    return 1 - (1 - LEVEL) / tests


def _hedges(df: int) -> float:
    from scipy.special import gammaln

    return float(np.exp(gammaln(df / 2) - gammaln((df - 1) / 2)) / np.sqrt(df / 2))


def _noncentral(t: float, df: int) -> tuple[float, float]:
    """Return the 95% interval of the noncentrality of an observed t."""
    from scipy.special import nctdtrinc

    tail = (1 - LEVEL) / 2
    return float(nctdtrinc(df, 1 - tail, t)), float(nctdtrinc(df, tail, t))
