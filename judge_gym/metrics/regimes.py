"""The regime of a judge: graded, thresholded, compressed or interior, or that one cannot tell.

A *compressed* judge hardly distinguishes: it abstains, or gives one stage to nearly everything. An
*interior* one stays away from both ends. The others answer what they read: in steps that follow it
(*graded*), or by a jump from low to high (*thresholded*). The two are told by the response curve,
the judge's position on the scale against a reference: what is known of the items, or where the
other judges place them.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray
from judge_gym.metrics.estimate import EPSILON
from judge_gym.metrics.polarization import entropy

MOSTLY_ABSTAINS = 0.8
"""Abstain share from which a judge is compressed."""
LITTLE_ENTROPY = 0.35
"""Entropy of the stages used, as a share of log2 S, up to which a judge is compressed."""
FEW_AT_THE_ENDS = 1 / 3
"""Mass at both ends up to which a judge is interior, as a share of the 2/S of even use."""
STEEP = 0.5
"""Share of the rise within the steepest fifth of the reference from which it is a jump; a straight
line has 0.2 there."""
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
        because = f"it needs {FEWEST_ITEMS} items that could be read, and there are {len(read)}"
        return RegimeChances({}, len(read), because)
    drawn = rng.integers(0, len(read), size=(DRAWS, len(read)))
    weights = np.stack([np.bincount(row, minlength=len(read)) for row in drawn]).astype(np.float64)
    found = _regimes(weights, use.distribution[read], use.abstained[read], use.reference[read])
    chances = {name: float((found == place).mean()) for place, name in enumerate(Regime)}
    because = ""
    if max(chances.values()) < SURE:
        because = (
            "the other judges' verdicts, or what is known, leave too few items between the ends"
            if (found < 0).mean() > 1 - SURE
            else "resampled items give several regimes"
        )
    return RegimeChances(chances, len(read), because)


def regime_of(use: UsePerItem) -> Regime | None:
    """Return the regime of these items as they are; None where the curve tells none."""
    read = np.isfinite(use.abstained)
    once = np.ones((1, int(read.sum())))
    found = _regimes(once, use.distribution[read], use.abstained[read], use.reference[read])
    return None if found[0] < 0 else list(Regime)[found[0]]


def _regimes(
    weights: FloatArray, distribution: FloatArray, abstained: FloatArray, reference: FloatArray
) -> np.ndarray:
    """Return the place of the regime in `Regime` per row of item weights; -1 where none is told."""
    n_stages = distribution.shape[1]
    has: BoolArray = np.asarray(np.isfinite(distribution).all(axis=1))
    with_verdict = weights * has
    mass = with_verdict.sum(axis=1)
    p = with_verdict @ np.where(has[:, None], distribution, 0.0) / np.maximum(mass, 1)[:, None]
    used = entropy(p) / np.log2(n_stages)
    abstains = weights @ abstained / weights.sum(axis=1)
    compressed = (abstains >= MOSTLY_ABSTAINS) | (used <= LITTLE_ENTROPY) | (mass == 0)
    ends = p[:, 0] + p[:, -1]
    interior = (n_stages > 2) & (ends <= FEW_AT_THE_ENDS * 2 / n_stages)
    places = list(Regime)
    found = np.full(len(weights), -1)
    position = np.where(has[:, None], distribution, 0.0) @ np.linspace(0, 1, n_stages)
    known = has & np.isfinite(reference)
    if known.any():
        jump = steepest_share(weights[:, known], reference[known], position[known])
        found[jump >= STEEP] = places.index(Regime.THRESHOLDED)
        found[jump < STEEP] = places.index(Regime.GRADED)
    found[interior] = places.index(Regime.INTERIOR)
    found[compressed] = places.index(Regime.COMPRESSED)
    return found


def steepest_share(weights: FloatArray, reference: FloatArray, position: FloatArray) -> FloatArray:
    """Return the share of the fitted rise that lies in the steepest fifth of the reference.

    One value per row of item weights (r, items); NaN where a row has fewer than `FEWEST_BETWEEN`
    items in the middle third, or no rise. The curve is a + b·σ(k(x - m)) with b > 0, x the
    reference from 0 at its lowest to 1 at its highest, by least squares over a grid of k and m.
    """
    low, high = float(reference.min()), float(reference.max())
    empty = np.full(len(weights), np.nan)
    if high - low <= EPSILON:
        return empty
    x = (reference - low) / (high - low)
    between = weights @ ((x > 1 / 3) & (x < 2 / 3))
    slopes, middles = (grid.ravel() for grid in np.meshgrid(_SLOPES, _MIDDLES))
    basis = _sigmoid(slopes[:, None] * (x - middles[:, None]))
    total = np.maximum(weights.sum(axis=1, keepdims=True), 1)
    mean_y = weights @ position[:, None] / total
    mean_b = weights @ basis.T / total
    cross = weights @ (basis * position).T / total - mean_b * mean_y
    spread = weights @ (basis**2).T / total - mean_b**2
    explained = np.where(
        (cross > 1e-12) & (spread > 1e-12), cross**2 / np.maximum(spread, 1e-12), 0
    )
    best = explained.argmax(axis=1)
    rises = explained[np.arange(len(weights)), best] > EPSILON
    k, m = slopes[best], middles[best]
    start = np.clip(m - 0.1, 0, 0.8)
    rise = _sigmoid(k * (start + 0.2 - m)) - _sigmoid(k * (start - m))
    whole = _sigmoid(k * (1 - m)) - _sigmoid(-k * m)
    return np.where(rises & (between >= FEWEST_BETWEEN), rise / whole, empty)


def _sigmoid(z: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-z)))
