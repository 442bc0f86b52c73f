"""Planted judges of the four regimes: how each uses its scale on items of a known position."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from judge_gym.planted.judging import FloatArray

IntArray = npt.NDArray[np.int64]

STAGES = 5
REPLICATES = 5
ABSTAINED = 0.1
"""The share of an item's judgements that are abstentions, of every judge."""
_TOP = STAGES - 1


@dataclass(frozen=True)
class RegimeJudge:
    """A judge's expected stage, from 0, at an item's position in [0, 1], and its spread.

    The stage is `base` + `slope` · position, or the one end or the other by half of the scale where
    it is a `step`; `lowest` to `highest` are the stages that it uses.
    """

    name: str
    """Its regime."""
    about: str
    base: float
    slope: float
    spread: float
    step: bool = False
    lowest: int = 0
    highest: int = _TOP

    def shares(self, position: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the share of each stage among the replicates of items, items x stages."""
        stages = self.stages(position, rng)
        return np.stack([np.bincount(row, minlength=STAGES) / REPLICATES for row in stages])

    def stages(
        self, position: FloatArray, rng: np.random.Generator, shift: FloatArray | float = 0.0
    ) -> IntArray:
        """Return the stages of the replicates, from 0, items x replicates; `shift` adds to each."""
        at = (position > 0.5).astype(np.float64) if self.step else position
        mean = self.base + self.slope * at + shift
        drawn = mean[:, None] + rng.normal(0, self.spread, (len(position), REPLICATES))
        return np.clip(np.rint(drawn), self.lowest, self.highest).astype(np.int64)


REGIME_JUDGES = (
    RegimeJudge("graded", "its stage rises with the item's position", 0.0, _TOP, 0.5),
    RegimeJudge("thresholded", "one end of the scale or the other", 0.0, _TOP, 0.25, step=True),
    RegimeJudge("interior", "never an end of the scale", 1.2, 1.6, 0.4, lowest=1, highest=_TOP - 1),
    RegimeJudge("compressed", "one stage, whatever the item", 1.0, 0.0, 0.25),
)


@dataclass(frozen=True)
class PlantedChange:
    """A judge under two settings, on the same items: what the second does to its verdicts.

    `abstains` is the share of answers that abstain, `wide` that of verdicts that name two stages,
    before and after; items differ in both. `shift` adds to the stage after, more on some items.
    """

    name: str
    about: str
    judge: RegimeJudge
    abstains: tuple[float, float]
    wide: tuple[float, float]
    shift: float = 0.0

    def answers(self, n_items: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Return bitmasks of stages, 0 for an abstention, before and after: items x replicates."""
        position = rng.random(n_items)
        shifts = self.shift * (1 + _UNLIKE * rng.normal(0, 1, n_items))
        before, after = (
            self._side(position, side, shifts * side, rng) for side in range(len(self.wide))
        )
        return before, after

    def _side(
        self, position: FloatArray, side: int, shift: FloatArray, rng: np.random.Generator
    ) -> IntArray:
        stages = self.judge.stages(position, rng, shift)
        beside = np.where(stages < self.judge.highest, stages + 1, stages - 1)
        wide = _by_item(self.wide[side], stages.shape, rng)
        abstained = _by_item(self.abstains[side], stages.shape, rng)
        sets = np.where(wide, (1 << stages) | (1 << beside), 1 << stages)
        return np.where(abstained, 0, sets)


_UNLIKE = 0.5
"""Standard deviation of a shift between items, as a share of it."""
_ALIKE = 2.0
"""Sum of the parameters of the beta distribution that items draw their shares from."""


def _by_item(
    share: float, shape: tuple[int, ...], rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Draw yes or no with a probability that items differ in, of this mean."""
    if not share:
        return np.zeros(shape, dtype=np.bool_)
    of_item = rng.beta(_ALIKE * share, _ALIKE * (1 - share), shape[0])
    return np.asarray(rng.random(shape) < of_item[:, None])


_GRADED, _, _, _COMPRESSED = REGIME_JUDGES
CHANGES = (
    *(
        PlantedChange(
            f"{judge.name} judge, unchanged",
            f"{judge.about}, with equal abstentions and sets under both settings",
            judge,
            (0.15, 0.15),
            (0.3, 0.3),
        )
        for judge in REGIME_JUDGES
        if judge is not _COMPRESSED
    ),
    PlantedChange(
        "compressed judge, unchanged",
        "one stage, and mostly none, under both settings",
        _COMPRESSED,
        (0.89, 0.89),
        (0.05, 0.05),
    ),
    PlantedChange(
        "may abstain",
        "a graded judge that abstains when it may, and gives higher stages",
        _GRADED,
        (0.0, 0.44),
        (0.3, 0.3),
        0.48,
    ),
    PlantedChange(
        "another name of the concept",
        "a graded judge that abstains more, names fewer stages and gives lower ones",
        _GRADED,
        (0.1, 0.43),
        (0.6, 0.16),
        -0.38,
    ),
)
"""The changes follow published ones: abstentions +0.44 and stages +0.48 where a judge may abstain;
sets -0.44, stages -0.38 and abstentions +0.33 under another name of the concept."""
