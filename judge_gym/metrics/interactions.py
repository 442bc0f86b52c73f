"""Two design axes at once: how much of the spread between cells is their interaction, and whether
the effect of one axis changes sign with the level of the other.

A table holds items x levels of the first axis x levels of the second, without gaps, on the 0-1
scale. Levels are the ones of the study, items are a sample. Why both figures are asked for:
McLaren et al. 2026, arXiv 2603.26898.
"""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from judge_gym.counting import there_are
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import (
    EPSILON,
    LEVEL,
    NO_SPREAD,
    SIGNED_UNIT,
    UNIT_INTERVAL,
    Estimate,
    jackknife_interval,
    mean_over_items,
    not_estimable,
    t_interval,
    with_interval,
)
from judge_gym.metrics.inference import permutation_p, random_signs

FEWEST_ITEMS = 4
FLIPS = 4999
PARTS = ("first", "second", "both")
_SIGNIFICANT = 0.05


def variance_shares(table: FloatArray, n: int, rng: np.random.Generator) -> tuple[Estimate, ...]:
    """Return the shares of the variance between cells: first axis, second axis, interaction.

    The variance of a part is the mean square of its effects over the cells (sum-to-zero contrasts
    of the expected cell means), estimated without bias by products of different items,
    Σ_{i≠j} v_i·v_j / (n(n - 1)); a share below 0 is shown as 0. p of a part: the signs of the
    items' effects flipped at random, exact where they are symmetric. Interval: jackknife over
    items, t; it reaches 0 where p is above 0.05. `n` counts the samples. Needs 4 items and cells
    that differ beyond noise. Source: Scheffé 1959, The Analysis of Variance, section 4.1; the
    estimate is a U-statistic (Hoeffding 1948).
    """
    metrics = [f"interaction_share_{part}" for part in PARTS]
    items, unit = len(table), "share"
    if items < FEWEST_ITEMS:
        because = f"it needs {FEWEST_ITEMS} items with every cell, and {there_are(items)}"
        return tuple(not_estimable(m, because, n=n, n_items=items, unit=unit) for m in metrics)
    grams = [effect @ effect.T for effect in _effects(table)]
    component = np.array([_off_diagonal(gram) for gram in grams])
    signs = random_signs((FLIPS, items), rng)
    p = [_flip_p(gram, signs) for gram in grams]
    if component.sum() <= EPSILON or min(p) > _SIGNIFICANT:
        because = "the cells do not differ beyond the noise of the items"
        return tuple(not_estimable(m, because, n=n, n_items=items, unit=unit) for m in metrics)
    without = np.array([_without_each(gram) for gram in grams])
    left_out = without / np.maximum(without.sum(axis=0), EPSILON)
    estimates = []
    for place, metric in enumerate(metrics):
        share = float(component[place] / component.sum())
        estimate = Estimate(
            metric, min(1.0, max(0.0, share)), None, None, n, items, p=p[place],
            method="share of the variance between cells, jackknife over items; p by sign flips",
            unit=unit,
        )  # fmt: skip
        interval = jackknife_interval(share, left_out[place])
        if interval:
            low, high = interval
            interval = 0.0 if p[place] > _SIGNIFICANT else low, max(0.0, high)
        estimates.append(with_interval(estimate, interval, UNIT_INTERVAL, absent=NO_SPREAD))
    return tuple(estimates)


def _effects(table: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the items' effects of the first axis, the second and both, each items x cells.

    Scaled so that the square of a row is the mean square over the cells.
    """
    items, first, second = table.shape
    grand = table.mean(axis=(1, 2), keepdims=True)
    rows = table.mean(axis=2, keepdims=True) - grand
    columns = table.mean(axis=1, keepdims=True) - grand
    both = table - grand - rows - columns
    scale = (first * second) ** -0.5
    parts = [
        np.broadcast_to(part, table.shape).reshape(items, -1) for part in (rows, columns, both)
    ]
    return parts[0] * scale, parts[1] * scale, parts[2] * scale


def _off_diagonal(gram: FloatArray) -> float:
    n = len(gram)
    return float((gram.sum() - np.trace(gram)) / (n * (n - 1)))


def _without_each(gram: FloatArray) -> FloatArray:
    """Return the off-diagonal mean without each item in turn."""
    n, diagonal = len(gram), np.diagonal(gram)
    total = gram.sum() - diagonal.sum()
    return np.asarray((total - 2 * (gram.sum(axis=1) - diagonal)) / ((n - 1) * (n - 2)))


def _flip_p(gram: FloatArray, signs: FloatArray) -> float:
    """Return p of "no effect": the length of the mean effect under random signs of the items."""
    flipped = ((signs @ gram) * signs).sum(axis=1)
    return permutation_p(float(gram.sum()), flipped, EPSILON * max(1.0, float(np.abs(gram).sum())))


@dataclass(frozen=True)
class SignChange:
    """One change of the first axis over the levels of the second.

    `start` and `end` number the levels of the first axis, `lowest_at` and `highest_at` those of
    the second. `mean` is the effect over all levels, with the p of "the effect has one sign at
    all levels"; `lowest` and `highest` are the extreme effects, chosen as such.
    """

    start: int
    end: int
    lowest_at: int
    highest_at: int
    mean: Estimate
    lowest: Estimate
    highest: Estimate


_EFFECT_UNIT = "0-1 scale"


def sign_changes(table: FloatArray, n: int) -> list[SignChange]:
    """Return every change of the first axis, with the test of whether its effect changes sign.

    Effects are means over items of end - start, t intervals. Those of the lowest and the highest
    effect, chosen among L levels, have the level 1 - 0.1/L: 95% hold the effect of the level chosen
    where all levels are alike, too. The test is an intersection-union test: with L levels,
    p = max(L·smallest p of "no effect above 0", L·smallest p of "none below 0"), by one-sided t
    tests, at most 1. Its level holds whatever the dependence between levels. Sources: Gail and
    Simon 1985, Biometrics 41; Berger 1982, Technometrics 24. Needs two items.
    """
    from scipy.special import stdtr

    found = []
    items, starts, levels = table.shape
    for start, end in combinations(range(starts), 2):
        effects = table[:, end] - table[:, start]
        mean, spread = effects.mean(axis=0), effects.std(axis=0, ddof=1) if items > 1 else None
        lowest, highest = int(np.argmin(mean)), int(np.argmax(mean))
        over_levels = effects.mean(axis=1)
        average = mean_over_items(
            "effect_over_levels", over_levels, n=n, unit=_EFFECT_UNIT, bounds=SIGNED_UNIT
        )
        low, high = (
            _chosen(metric, effects[:, level], n, levels)
            for metric, level in (("effect_lowest", lowest), ("effect_highest", highest))
        )
        if spread is not None and (spread > EPSILON).all():
            t = mean / spread * items**0.5
            below, above = stdtr(items - 1, t), stdtr(items - 1, -t)
            p = min(1.0, levels * max(float(below.min()), float(above.min())))
            average = _tested(average, p)
        found.append(SignChange(start, end, lowest, highest, average, low, high))
    return found


def _chosen(metric: str, effects: FloatArray, n: int, levels: int) -> Estimate:
    """Return the mean of effects chosen among so many levels for being an extreme."""
    estimate = mean_over_items(metric, effects, n=n, unit=_EFFECT_UNIT, bounds=SIGNED_UNIT)
    interval = t_interval(effects, 1 - 2 * (1 - LEVEL) / levels)
    return with_interval(estimate, interval, SIGNED_UNIT, absent=estimate.because)


def _tested(estimate: Estimate, p: float) -> Estimate:
    method = f"{estimate.method}; p of one sign at all levels, intersection-union of t tests"
    return replace(estimate, p=p, method=method)
