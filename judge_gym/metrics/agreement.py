"""Chance-corrected agreement between judges: Krippendorff's α and Gwet's AC.

All compare single verdicts of different judges. The replicates of a cell enter as its
distribution over stages (a set by its pignistic shares), so that agreement of a judge with
itself does not count. With one point verdict per cell these are the textbook coefficients. Items
that only one judge scored are left out; missing cells are allowed.
"""

from collections.abc import Callable
from enum import StrEnum

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, Verdicts, pignistic
from judge_gym.metrics.estimate import (
    EPSILON,
    SIGNED_UNIT,
    Estimate,
    by,
    not_estimable,
    resampled_interval,
    with_interval,
)

NO_SHARED_ITEM = "no item was scored by two judges"
"""Why judges have no agreement."""


class Level(StrEnum):
    """Level of measurement: the distance between two different stages."""

    NOMINAL = "nominal"
    """All equally."""

    ORDINAL = "ordinal"
    """By the verdicts that lie between them."""

    INTERVAL = "interval"
    """By the square of the stages between them."""


def krippendorff_alpha(
    verdicts: Verdicts, rng: np.random.Generator, level: Level = Level.ORDINAL
) -> Estimate:
    """Return Krippendorff's α across judges, 1 - observed / expected disagreement, at most 1.

    0 is chance, negative systematic disagreement. Interval: t with the standard error of
    resampling items. Needs an item that two judges scored, and two stages in use. Source:
    Krippendorff 2019, Content Analysis, chapter 12.
    """
    items = (verdicts.sizes() > 0).sum(axis=0) > 1
    judges, pairs = _pairs_of(verdicts, items)

    def alpha(weights: FloatArray) -> FloatArray:
        return _alpha(np.tensordot(weights * judges, pairs, axes=1), level)

    return _coefficient(f"krippendorff_alpha_{level.value}", verdicts, alpha, items, rng)


def gwet_ac(verdicts: Verdicts, rng: np.random.Generator, level: Level = Level.NOMINAL) -> Estimate:
    """Return Gwet's AC1 (nominal) or AC2 (interval: quadratic weights) across judges, at most 1.

    Chance agreement is Σw / (S(S-1)) · Σ π(1-π) over all S stages, so that a rare stage does not
    lower it as it lowers α: read it beside α. Interval: t with the standard error of resampling
    items. Needs an item that two judges scored. Source: Gwet 2008, British Journal of
    Mathematical and Statistical Psychology 61.
    """
    if level is Level.ORDINAL:
        raise ValueError("gwet_ac: its weights are nominal or interval")
    p, present = pignistic(verdicts)
    scored = np.asarray(present.any(axis=0))
    stages = p.sum(axis=0)[scored] / present.sum(axis=0)[scored, None]
    several = present.sum(axis=0)[scored] > 1
    _, pairs = _pairs_of(verdicts, present.sum(axis=0) > 1)
    credit = _credit(verdicts.n_stages, level)
    by_pair = credit.sum() / (len(credit) * (len(credit) - 1))

    def coefficient(weights: FloatArray) -> FloatArray:
        paired = weights[:, several]
        agreed = (np.tensordot(paired, pairs, axes=1) * credit).sum(axis=(1, 2))
        seen = ratio_or_nan(agreed, paired.sum(axis=1))
        # Chance agreement uses every item, also those that only one judge scored.
        share = weights @ stages / weights.sum(axis=1, keepdims=True)
        chance = by_pair * (share * (1 - share)).sum(axis=1)
        return ratio_or_nan(seen - chance, 1 - chance)

    return _coefficient(f"gwet_ac_{level.value}", verdicts, coefficient, scored, rng)


def _credit(n_stages: int, level: Level) -> FloatArray:
    """Return the agreement that two stages count for, (S, S), in [0, 1]."""
    apart = np.abs(np.arange(n_stages)[:, None] - np.arange(n_stages)) / (n_stages - 1)
    return np.asarray(1 - (apart > 0 if level is Level.NOMINAL else apart**2), dtype=np.float64)


def _pairs_of(verdicts: Verdicts, items: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return for each chosen item its number of judges, and the shares of pairs of verdicts.

    The shares are (items, S, S): of ordered pairs of judges with the verdicts (v, w).
    """
    p, present = pignistic(verdicts)
    p, judges = p[:, items], present[:, items].sum(axis=0).astype(np.float64)
    total = p.sum(axis=0)
    own = p.transpose(1, 2, 0) @ p.transpose(1, 0, 2)
    crossed = total[:, :, None] * total[:, None, :] - own
    return judges, np.asarray(crossed / (judges * (judges - 1))[:, None, None])


def _coefficient(
    metric: str,
    verdicts: Verdicts,
    statistic: Callable[[FloatArray], FloatArray],
    items: BoolArray,
    rng: np.random.Generator,
) -> Estimate:
    """Return the coefficient of weights over `items`, those that a judge or two scored."""
    n, n_items = int(items[verdicts.item].sum()), int(items.sum())
    if not (verdicts.sizes() > 0).sum(axis=0).max(initial=0) > 1:
        return not_estimable(metric, NO_SHARED_ITEM, n=n)
    value = float(statistic(np.ones((1, n_items)))[0])
    if not np.isfinite(value):
        because = "all verdicts are the same stage"
        return not_estimable(metric, because, n=n, n_items=n_items)
    cluster = verdicts.cluster(items)
    method = f"between judges, replicates averaged; t interval, items resampled{by(cluster)}"
    estimate = Estimate(
        metric, value, None, None, n, n_items, method=method, unit="agreement beyond chance"
    )
    interval = resampled_interval(statistic, n_items, rng, cluster=cluster)
    return with_interval(estimate, interval, SIGNED_UNIT)


def _alpha(coincidences: FloatArray, level: Level) -> FloatArray:
    """Return α of coincidence matrices (r, S, S); NaN where one stage alone is in use."""
    margin = coincidences.sum(axis=2)
    cost = _cost(margin, level)
    observed = (coincidences * cost).sum(axis=(1, 2)) * (margin.sum(axis=1) - 1)
    expected = (margin[:, :, None] * margin[:, None, :] * cost).sum(axis=(1, 2))
    return 1 - ratio_or_nan(observed, expected)


def _cost(margin: FloatArray, level: Level) -> FloatArray:
    """Return the squared difference between stages, (r or 1, S, S)."""
    stages = np.arange(margin.shape[1], dtype=np.float64)
    if level is Level.ORDINAL:
        # Σ n from v to w less half of both ends: the distance between their mean ranks.
        stages = np.cumsum(margin, axis=1) - margin / 2
    apart = np.atleast_2d(stages)[:, :, None] - np.atleast_2d(stages)[:, None, :]
    return np.asarray((apart != 0).astype(np.float64) if level is Level.NOMINAL else apart**2)


def ratio_or_nan(above: FloatArray, below: FloatArray) -> FloatArray:
    """Return above / below, NaN where `below` is 0."""
    nothing = np.full_like(above, np.nan)
    return np.asarray(np.divide(above, below, where=below > EPSILON, out=nothing))
