"""The regime of a judge: graded, thresholded, compressed or interior, or that one cannot tell.

A *compressed* judge hardly distinguishes: it abstains, or gives one stage to nearly everything. An
*interior* one stays away from both ends. The others answer what they read: in steps that follow it
(*graded*), or by a jump from low to high (*thresholded*). The two are told by the response curve,
the judge's position on the scale against a reference: what is known of the items, or where the
other judges place them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from judge_gym.counting import there_are
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import (
    EPSILON,
    LEVEL,
    Estimate,
    mean_over_items,
    not_estimable,
    with_interval,
)
from judge_gym.metrics.polarization import entropy

MOSTLY_ABSTAINS = 0.8
"""Abstain share from which a judge is compressed."""
LITTLE_ENTROPY = 0.35
"""Entropy of the stages used, as a share of log2 S, up to which a judge is compressed."""
FEW_AT_THE_ENDS = 1 / 3
"""Mass at both ends up to which a judge is interior, as a share of the 2/S of even use."""
STEEP = 0.5
"""Share of the rise within the steepest fifth of the reference from which it is a jump."""
FIFTH = 0.2
"""Share of its rise that a straight line has within any fifth of the reference."""
SURE = 0.8
"""Probability from which a regime is named."""
FEWEST_ITEMS = 6
FEWEST_BETWEEN = 3
"""Items in the middle third of the reference that a curve needs: none there, and a step and a
slope look the same."""
DRAWS = 400
_SLOPES = np.array([0.5, 1, 2, 3, 4, 6, 8, 12, 18, 27, 40, 80])
_MIDDLES = np.linspace(0.05, 0.95, 19)


class Regime(StrEnum):
    """How a judge uses its scale."""

    GRADED = "graded"
    THRESHOLDED = "thresholded"
    COMPRESSED = "compressed"
    INTERIOR = "interior"


@dataclass(frozen=True)
class UsePerItem:
    """What one judge did with each item, as parallel arrays.

    `distribution` is items x stages, the mean pignistic distribution of its verdicts, NaN where it
    has none; `abstained` the share of readable samples without a verdict, NaN where none could be
    read; `reference` what is known or the other judges' mean, in [0, 1], NaN without.
    """

    distribution: FloatArray
    abstained: FloatArray
    reference: FloatArray


@dataclass(frozen=True)
class RegimeChances:
    """The probability of each regime over resampled items; `because` says why none can be told."""

    chances: dict[Regime, float]
    n_items: int
    because: str = ""
    rises: FloatArray = field(default_factory=lambda: np.empty(0))
    """The share of the rise in the steepest fifth per draw of items, NaN where there is none."""

    @property
    def regime(self) -> Regime | None:
        """The regime that has a probability of `SURE`; None where one cannot tell."""
        return next((name for name, chance in self.chances.items() if chance >= SURE), None)


def regime_chances(use: UsePerItem, rng: np.random.Generator) -> RegimeChances:
    """Return how often each regime holds when items are drawn again with replacement.

    Needs `FEWEST_ITEMS` items. A draw that is neither compressed nor interior, and whose response
    curve has too little between its ends, counts for no regime.
    """
    read = np.flatnonzero(np.isfinite(use.abstained))
    if len(read) < FEWEST_ITEMS:
        because = f"it needs {FEWEST_ITEMS} items that could be read, and {there_are(len(read))}"
        return RegimeChances({}, len(read), because)
    drawn = rng.integers(0, len(read), size=(DRAWS, len(read)))
    weights = np.stack([np.bincount(row, minlength=len(read)) for row in drawn]).astype(np.float64)
    found, rises = _regimes(weights, _rows(use, read))
    chances = {name: float((found == place).mean()) for place, name in enumerate(Regime)}
    because = ""
    if max(chances.values()) < SURE:
        because = (
            "the other judges' verdicts, or what is known, leave too few items between the ends"
            if (found < 0).mean() > 1 - SURE
            else "resampled items give several regimes"
        )
    return RegimeChances(chances, len(read), because, rises)


def regime_of(use: UsePerItem) -> Regime | None:
    """Return the regime of these items as they are; None where the curve tells none."""
    read = np.flatnonzero(np.isfinite(use.abstained))
    found, _ = _regimes(np.ones((1, len(read))), _rows(use, read))
    return None if found[0] < 0 else list(Regime)[found[0]]


def _rows(use: UsePerItem, items: IntArray) -> UsePerItem:
    return UsePerItem(use.distribution[items], use.abstained[items], use.reference[items])


def _regimes(weights: FloatArray, use: UsePerItem) -> tuple[IntArray, FloatArray]:
    """Return the place of the regime in `Regime` per row of item weights, -1 where none is told.

    And the share of the rise in the steepest fifth, NaN where there is no curve.
    """
    n_stages = use.distribution.shape[1]
    has: BoolArray = np.asarray(np.isfinite(use.distribution).all(axis=1))
    with_verdict = weights * has
    mass = with_verdict.sum(axis=1)
    p = with_verdict @ np.where(has[:, None], use.distribution, 0.0)
    p /= np.maximum(mass, 1)[:, None]
    used = entropy(p) / np.log2(n_stages)
    abstains = weights @ use.abstained / weights.sum(axis=1)
    compressed = (abstains >= MOSTLY_ABSTAINS) | (used <= LITTLE_ENTROPY) | (mass == 0)
    ends = p[:, 0] + p[:, -1]
    interior = (n_stages > 2) & (ends <= FEW_AT_THE_ENDS * 2 / n_stages)
    places = list(Regime)
    found, rises = np.full(len(weights), -1), np.full(len(weights), np.nan)
    position, known = _positions(use)
    if known.any():
        rises = steepest_share(weights[:, known], use.reference[known], position[known])
        found[rises >= STEEP] = places.index(Regime.THRESHOLDED)
        found[rises < STEEP] = places.index(Regime.GRADED)
    found[interior] = places.index(Regime.INTERIOR)
    found[compressed] = places.index(Regime.COMPRESSED)
    return found, rises


def _positions(use: UsePerItem) -> tuple[FloatArray, BoolArray]:
    """Return the mean position of each item in [0, 1], and which have one and a reference."""
    has: BoolArray = np.asarray(np.isfinite(use.distribution).all(axis=1))
    scale = np.linspace(0, 1, use.distribution.shape[1])
    position = np.where(has[:, None], use.distribution, 0.0) @ scale
    return position, np.asarray(has & np.isfinite(use.reference))


@dataclass(frozen=True)
class _Curves:
    """Curves a + b·σ(k(x - m)), one per row of item weights; `told` where one can be told."""

    k: FloatArray
    m: FloatArray
    a: FloatArray
    b: FloatArray
    told: BoolArray


def _fitted(weights: FloatArray, x: FloatArray, position: FloatArray) -> _Curves:
    """Return the curves with b > 0 by least squares over a grid of k and m.

    None can be told with fewer than `FEWEST_BETWEEN` items in the middle third, or without a rise.
    """
    between = weights @ ((x > 1 / 3) & (x < 2 / 3))
    slopes, middles = (grid.ravel() for grid in np.meshgrid(_SLOPES, _MIDDLES))
    basis = _sigmoid(slopes[:, None] * (x - middles[:, None]))
    total = np.maximum(weights.sum(axis=1, keepdims=True), 1)
    mean_y = weights @ position[:, None] / total
    mean_b = weights @ basis.T / total
    cross = weights @ (basis * position).T / total - mean_b * mean_y
    spread = np.maximum(weights @ (basis**2).T / total - mean_b**2, 1e-12)
    explained = np.where((cross > 1e-12) & (spread > 1e-12), cross**2 / spread, 0)
    row, best = np.arange(len(weights)), explained.argmax(axis=1)
    b = cross[row, best] / spread[row, best]
    told = (explained[row, best] > EPSILON) & (between >= FEWEST_BETWEEN)
    return _Curves(slopes[best], middles[best], mean_y[:, 0] - b * mean_b[row, best], b, told)


def steepest_share(weights: FloatArray, reference: FloatArray, position: FloatArray) -> FloatArray:
    """Return the share of the fitted rise that lies in the steepest fifth of the reference.

    One value per row of item weights (r, items); NaN where no curve can be told. The curve is
    a + b·σ(k(x - m)), x the reference from 0 at its lowest to 1 at its highest.
    """
    low, high = float(reference.min()), float(reference.max())
    if high - low <= EPSILON:
        return np.full(len(weights), np.nan)
    curve = _fitted(weights, (reference - low) / (high - low), position)
    start = np.clip(curve.m - FIFTH / 2, 0, 1 - FIFTH)
    k, m = curve.k, curve.m
    rise = _sigmoid(k * (start + FIFTH - m)) - _sigmoid(k * (start - m))
    whole = _sigmoid(k * (1 - m)) - _sigmoid(-k * m)
    return np.where(curve.told, rise / whole, np.nan)


def steepest_rise(use: UsePerItem, draws: FloatArray, n: int) -> Estimate:
    """Return the share of the rise in the steepest fifth of the reference, in [0, 1].

    `draws` are `RegimeChances.rises`; their percentiles are the interval, where at least `SURE` of
    them have a curve. The floor is the share of a straight line. `n` counts samples.
    """
    metric, unit = "steepest_rise", "share"
    position, known = _positions(use)
    items = int(known.sum())
    if not items:
        because = "no item has both a verdict and a reference: another judge's, or a known answer"
        return not_estimable(metric, because, n=n, unit=unit)
    [share] = steepest_share(np.ones((1, items)), use.reference[known], position[known])
    if not np.isfinite(share):
        because = "the judge does not rise with the reference, or few items lie between its ends"
        return not_estimable(metric, because, n=n, n_items=items, unit=unit)
    told = draws[np.isfinite(draws)]
    tail = (1 - LEVEL) / 2
    interval, absent = None, "fewer than 80% of resampled items give a curve"
    if len(told) >= SURE * len(draws) and len(told):
        low, high = np.quantile(told, (tail, 1 - tail))
        # The share of all items is one of those that are drawn, but need not lie among their 95%.
        interval = min(float(low), float(share)), max(float(high), float(share))
    method = f"least squares; interval: percentiles of {DRAWS} draws of items"
    estimate = Estimate(
        metric, float(share), None, None, n, items, floor=FIFTH, method=method, unit=unit
    )
    return with_interval(estimate, interval, absent=absent)


def response_curve(use: UsePerItem, n: IntArray) -> Iterator[tuple[float, Estimate]]:
    """Yield the response curve of one judge as (place on the reference, estimate).

    `response_mean` at the middle of each fifth of the reference with an item: the mean over its
    items of the expected stage, t interval. `response_fit` at eleven places: the fitted curve, its
    floor a straight line between the same ends; none where no curve can be told. All in stages of
    [1, S]. `n` counts the verdicts of each item. Yields nothing without an item that has a verdict
    and a reference, or when all have the same reference.
    """
    position, known = _positions(use)
    reference, y, counts = use.reference[known], position[known], n[known]
    if not known.any() or np.ptp(reference) <= EPSILON:
        return
    top = use.distribution.shape[1] - 1
    low, wide = float(reference.min()), float(np.ptp(reference))
    x = (reference - low) / wide
    fifth = np.minimum((x / FIFTH + EPSILON).astype(np.int64), 4)
    for number in np.unique(fifth):
        chosen = fifth == number
        yield low + wide * FIFTH * (number + 0.5), mean_over_items(
            "response_mean", 1 + top * y[chosen], n=counts[chosen], unit="stages",
            bounds=(1.0, top + 1.0),
        )  # fmt: skip
    curve = _fitted(np.ones((1, len(x))), x, y)
    if not curve.told[0]:
        return
    places = np.linspace(0, 1, 11)
    fit = 1 + top * (curve.a + curve.b * _sigmoid(curve.k * (places - curve.m)))
    line = np.linspace(fit[0], fit[-1], len(places))
    for place, value, straight in zip(places, fit, line, strict=True):
        yield low + wide * place, Estimate(
            "response_fit", float(value), None, None, int(counts.sum()), len(x),
            floor=float(straight), method="a + b·σ(k(x − m)) by least squares", unit="stages",
        )  # fmt: skip


def _sigmoid(z: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-z)))
