"""Planted judges of the four regimes: how each uses its scale on items of a known position."""

from dataclasses import dataclass

import numpy as np

from judge_gym.planted.judging import FloatArray

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
        at = (position > 0.5).astype(np.float64) if self.step else position
        mean = self.base + self.slope * at
        drawn = mean[:, None] + rng.normal(0, self.spread, (len(position), REPLICATES))
        stages = np.clip(np.rint(drawn), self.lowest, self.highest).astype(np.int64)
        return np.stack([np.bincount(row, minlength=STAGES) / REPLICATES for row in stages])


REGIME_JUDGES = (
    RegimeJudge("graded", "its stage rises with the item's position", 0.0, _TOP, 0.5),
    RegimeJudge("thresholded", "one end of the scale or the other", 0.0, _TOP, 0.25, step=True),
    RegimeJudge("interior", "never an end of the scale", 1.2, 1.6, 0.4, lowest=1, highest=_TOP - 1),
    RegimeJudge("compressed", "one stage, whatever the item", 1.0, 0.0, 0.25),
)
