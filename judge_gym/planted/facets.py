"""Crossed scores with planted variances by facet, drawn straight as arrays.

A score is the sum of independent effects of item, judge, wording, their interactions and a
replicate, each with a standard deviation of its own and mean 0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from judge_gym.planted.judging import FloatArray, IntArray
from judge_gym.seeds import derive_seed

EFFECTS: Mapping[tuple[int, ...], tuple[str, float]] = {
    (0,): ("item", 1.0),
    (1,): ("judge", 0.5),
    (2,): ("wording", 0.3),
    (0, 1): ("item x judge", 0.5),
    (0, 2): ("item x wording", 0.3),
    (1, 2): ("judge x wording", 0.2),
    (0, 1, 2): ("item x judge x wording", 0.3),
    (0, 1, 2, 3): ("replicate", 1.0),
}
"""The axes of an effect → its name and standard deviation."""


@dataclass(frozen=True)
class FacetTruth:
    """A design of crossed facets, and what is wrong with its data.

    `lost` is the share of verdicts that abstain, `holes` that of cells without any, `stages` the
    number of values that scores are rounded to, so that they tie (0: none). Effects with an item
    are exponential where `skewed`, else normal.
    """

    name: str
    about: str
    items: int = 30
    wordings: int = 8
    judges: int = 4
    replicates: int = 3
    lost: float = 0.0
    holes: float = 0.0
    stages: int = 0
    skewed: bool = False

    @property
    def variances(self) -> Mapping[str, float]:
        """The planted variance of each effect; none where scores are rounded."""
        return {} if self.stages else {name: sd**2 for name, sd in EFFECTS.values()}


def _designs() -> Iterator[FacetTruth]:
    for items, wordings in ((16, 5), (16, 8), (30, 5), (30, 8)):
        name = f"{items} items x {wordings} wordings"
        yield FacetTruth(name, "normal effects", items, wordings)
        yield FacetTruth(
            f"{name}, incomplete",
            "a tenth of verdicts abstain, 1 in 300 cells is empty",
            items,
            wordings,
            lost=0.1,
            holes=1 / 300,
        )
        yield FacetTruth(
            f"{name}, ties",
            "five values, a tenth of verdicts abstain",
            items,
            wordings,
            lost=0.1,
            stages=5,
        )
        yield FacetTruth(
            f"{name}, skewed", "exponential effects of items", items, wordings, skewed=True
        )  # fmt: skip


FACET_TRUTHS = tuple(_designs())


@dataclass(frozen=True, eq=False)
class DrawnFacets:
    """One data set: item, judge and wording of each verdict, its score, and the judges' effects."""

    codes: tuple[IntArray, IntArray, IntArray]
    score: FloatArray
    judge_effects: FloatArray = field(repr=False)


def draw_facets(truth: FacetTruth, seed: int) -> DrawnFacets:
    """Return one data set of a truth; the same seed gives the same data on every machine."""
    rng = np.random.default_rng(derive_seed("facets", truth.name, seed))
    shape = (truth.items, truth.judges, truth.wordings, truth.replicates)
    score, judge_effects = np.zeros(shape), np.zeros(truth.judges)
    for axes, (name, sd) in EFFECTS.items():
        size = tuple(shape[axis] if axis in axes else 1 for axis in range(len(shape)))
        skewed = truth.skewed and 0 in axes and name != "replicate"
        effect = rng.exponential(size=size) - 1 if skewed else rng.normal(size=size)
        score = score + sd * effect
        if axes == (1,):
            judge_effects = sd * effect.ravel()
    if truth.stages:
        half = (truth.stages - 1) / 2
        score = np.clip(np.round(score), -half, half)
    kept = rng.random(shape) >= truth.lost
    kept &= rng.random(shape[:3])[..., None] >= truth.holes
    item, judge, wording, _ = (codes.ravel()[kept.ravel()] for codes in np.indices(shape))
    codes = (item.astype(np.int64), judge.astype(np.int64), wording.astype(np.int64))
    return DrawnFacets(codes, score.ravel()[kept.ravel()], judge_effects)


def draw_errors(
    items: int, family: IntArray, shared: float, seed: int, *, common: float = 0.0
) -> FloatArray:
    """Return errors (items x judges) of variance 1 that correlate by `shared` within a family.

    `common` is the standard deviation of what all judges add alike, such as the item's truth.
    """
    rng = np.random.default_rng(derive_seed("errors", items, shared, seed))
    of_family = rng.normal(size=(items, int(family.max()) + 1))[:, family]
    own = rng.normal(size=(items, len(family)))
    together = common * rng.normal(size=(items, 1))
    return np.asarray(together + shared**0.5 * of_family + (1 - shared) ** 0.5 * own)
