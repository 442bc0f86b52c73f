"""Mass functions on a frame of stages, and the measures of belief-function theory over them.

A frame is one rubric's stages: masses of different rubrics never meet here, since stage 2 of one
is not stage 2 of another. The mean mass of a cell stands for a judge; its replicates are not
independent evidence and are never combined. Sets are bitmasks, and only those that occur are
held, so that every measure is one product with a small matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.metrics.cells import (
    BoolArray,
    FloatArray,
    IntArray,
    Verdicts,
    set_counts,
    set_sizes,
)

SUMS_TO_ONE = 1e-9


@dataclass(frozen=True, eq=False)
class Masses:
    """Mass functions over one frame: `mass` (..., K) on the K `sets` (distinct, none empty).

    Each row sums to one, or is all zero where a cell holds no sample.
    """

    sets: IntArray
    mass: FloatArray
    n_stages: int

    def __post_init__(self) -> None:
        """Refuse the empty set, sets beyond the frame or given twice, and what is not a mass."""
        if len(self.sets) and not 1 <= self.sets.min() <= self.sets.max() < 1 << self.n_stages:
            raise ValueError(f"sets: not all within the {self.n_stages} stages, or one is empty")
        if len(np.unique(self.sets)) < len(self.sets) or self.mass.shape[-1] != len(self.sets):
            raise ValueError("a mass function holds one mass for each of its distinct sets")
        total = self.mass.sum(axis=-1)
        if (self.mass < 0).any() or ((np.abs(total - 1) > SUMS_TO_ONE) & (total != 0)).any():
            raise ValueError("masses are not negative and sum to one")

    @property
    def frame(self) -> int:
        """The set of all stages, Θ."""
        return (1 << self.n_stages) - 1


@dataclass(frozen=True, eq=False)
class CellMasses:
    """Mean mass of every cell, items x judges x K, and the samples it is the mean of.

    m(A) is the share of a cell's samples that chose exactly A, zero in an empty cell. It is the
    linear pool of the samples, not their Dempster combination: a judge that repeats itself brings
    no independent evidence.
    """

    masses: Masses
    sizes: IntArray

    @property
    def n(self) -> int:
        """The number of samples."""
        return int(self.sizes.sum())

    @property
    def n_judges(self) -> int:
        """The number of judges."""
        return int(self.sizes.shape[1])

    def of_judges(self, judges: Sequence[int]) -> "CellMasses":
        """Return the cells of these judges, in the order given."""
        chosen = list(judges)
        kept = replace(self.masses, mass=self.masses.mass[:, chosen])
        return CellMasses(kept, self.sizes[:, chosen])

    def shared(self, at_least: int = 1) -> "CellMasses":
        """Return the items with `at_least` samples of every judge."""
        common = (self.sizes >= at_least).all(axis=1)
        if common.all():
            return self
        kept = replace(self.masses, mass=self.masses.mass[common])
        return CellMasses(kept, self.sizes[common])


def cell_masses(verdicts: Verdicts) -> CellMasses:
    """Return the mean mass m(A) of each cell, in [0, 1]. Needs n >= 1 in a cell."""
    counted = set_counts(verdicts)
    counts = np.ascontiguousarray(counted.counts.swapaxes(0, 1))
    sizes = counts.sum(axis=-1)
    mass = counts / np.maximum(sizes, 1)[..., None]
    return CellMasses(Masses(counted.sets, mass, verdicts.n_stages), sizes)


def belief(masses: Masses, hypotheses: IntArray) -> FloatArray:
    """Return Bel(H) = Σ m(A) over A within H, (..., H), in [0, 1] (Shafer 1976)."""
    within = (masses.sets[:, None] & ~hypotheses) == 0
    return np.asarray(masses.mass @ within.astype(np.float64))


def plausibility(masses: Masses, hypotheses: IntArray) -> FloatArray:
    """Return Pl(H) = Σ m(A) over A that meet H, (..., H), in [0, 1] (Shafer 1976)."""
    return np.asarray(masses.mass @ (~disjoint(masses.sets, hypotheses)).astype(np.float64))


def commonality(masses: Masses, hypotheses: IntArray) -> FloatArray:
    """Return Q(H) = Σ m(A) over A that hold H, (..., H), in [0, 1] (Shafer 1976)."""
    holding = (masses.sets[:, None] & hypotheses) == hypotheses
    return np.asarray(masses.mass @ holding.astype(np.float64))


def betp(masses: Masses) -> FloatArray:
    """Return BetP(s) = Σ m(A)/|A| over A that hold s, (..., S), in [0, 1] (Smets, Kennes 1994)."""
    holding = (masses.sets[:, None] >> np.arange(masses.n_stages)) & 1
    return np.asarray(masses.mass @ (holding / set_sizes(masses.sets)[:, None]))


def singletons(n_stages: int) -> IntArray:
    """Return the sets of one stage, in order."""
    return np.asarray(1 << np.arange(n_stages, dtype=np.int64))


def gap(masses: Masses) -> FloatArray:
    """Return the mean over stages of Pl(s) - Bel(s), (...), in [0, 1]: 0 for point verdicts.

    Equal to Σ m(A)·|A| over sets of two stages or more, over S.
    """
    sizes = set_sizes(masses.sets)
    return np.asarray(masses.mass @ np.where(sizes > 1, sizes / masses.n_stages, 0.0))


def nonspecificity(masses: Masses) -> FloatArray:
    """Return Σ m(A)·log2|A| in bits, (...), in [0, log2 S] (Dubois and Prade 1985)."""
    return np.asarray(masses.mass @ np.log2(set_sizes(masses.sets)))


def discount(masses: Masses, reliability: float) -> Masses:
    """Return the masses times `reliability` in [0, 1], the rest on Θ (Shafer 1976).

    Reliability 1 changes nothing, 0 leaves total ignorance.
    """
    if not 0 <= reliability <= 1:
        raise ValueError(f"reliability {reliability}: it lies in [0, 1]")
    rest = 1 - reliability
    sets = np.append(masses.sets, masses.frame)
    present = masses.mass.sum(axis=-1, keepdims=True)
    return gather(
        sets, np.concatenate([masses.mass * reliability, rest * present], axis=-1), masses.n_stages
    )


def disjoint(first: IntArray, second: IntArray) -> BoolArray:
    """Return which sets of `first` (rows) share no stage with which of `second` (columns)."""
    return np.asarray((first[:, None] & second) == 0)


def jaccard(first: IntArray, second: IntArray) -> FloatArray:
    """Return |A ∩ B| / |A ∪ B| of the sets of `first` (rows) and `second` (columns), in [0, 1]."""
    return np.asarray(set_sizes(first[:, None] & second) / set_sizes(first[:, None] | second))


def conflict(first: Masses, second: Masses) -> FloatArray:
    """Return k = Σ m1(A)·m2(B) over disjoint A, B, (...), in [0, 1] (Shafer 1976).

    The chance that a verdict of one and a verdict of the other cannot both be right. No
    divergence: a judge that spreads its points conflicts with its own copy.
    """
    return _product(first, disjoint(first.sets, second.sets).astype(np.float64), second)


def weight_of_conflict(first: Masses, second: Masses) -> FloatArray:
    """Return -ln(1 - k) in nats, (...), infinite where conflict is total (Shafer 1976)."""
    agreeing = (~disjoint(first.sets, second.sets)).astype(np.float64)
    with np.errstate(divide="ignore"):
        # 1 - k as a sum of its own keeps the digits that a k near one loses.
        return np.asarray(-np.log(np.minimum(_product(first, agreeing, second), 1.0)))


def jousselme(first: Masses, second: Masses) -> FloatArray:
    """Return √(½ (m1 - m2)ᵀ J (m1 - m2)), J the Jaccard matrix, (...), in [0, 1].

    The plain distance between mass functions that are known; between estimated ones it is biased
    upward, and `belief.belief_distance` gives the unbiased square. Source: Jousselme, Grenier and
    Bossé 2001, Information Fusion 2.
    """
    own = [_product(m, jaccard(m.sets, m.sets), m) for m in (first, second)]
    cross = _product(first, jaccard(first.sets, second.sets), second)
    return np.asarray(np.sqrt(np.maximum((own[0] + own[1]) / 2 - cross, 0.0)))


def gather(sets: IntArray, mass: FloatArray, n_stages: int) -> Masses:
    """Return the masses with equal sets added together and the sets ascending."""
    order = np.argsort(sets, kind="stable")
    distinct, starts = np.unique(sets[order], return_index=True)
    return Masses(distinct, np.add.reduceat(mass[..., order], starts, axis=-1), n_stages)


def _product(first: Masses, kernel: FloatArray, second: Masses) -> FloatArray:
    if first.n_stages != second.n_stages:
        raise ValueError(f"frames of {first.n_stages} and {second.n_stages} stages do not compare")
    return np.asarray(((first.mass @ kernel) * second.mass).sum(axis=-1))
