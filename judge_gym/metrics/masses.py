"""Mass functions on a frame of stages: their measures, and the rules that combine them.

A frame is the set of stages of one rubric. Masses of different rubrics are never compared or
combined, since stage 2 of one is not stage 2 of another. The mean mass of a cell represents a
judge; its replicates are not independent evidence and are never combined. Sets are bitmasks. Only
the sets that occur are stored, so every measure is one product with a small matrix.

The combination rules take one source per judge, with one row per item on the same frame. After
total conflict Dempster's rule gives no row, because no mass function is defined.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import prod

import numpy as np

from judge_gym.counting import there_are
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


def obstacle(cells: CellMasses, at_least: int, judges: int) -> str:
    """Return why judges cannot be compared on these cells; "" when they can."""
    if cells.n_judges < judges:
        return f"it compares {judges} judges, and {there_are(cells.n_judges)}"
    if (cells.sizes >= at_least).all(axis=1).any():
        return ""
    if at_least == 1:
        return "no item was scored by every judge"
    return f"no item has {at_least} scored replicates of every judge"


def belief(masses: Masses, hypotheses: IntArray) -> FloatArray:
    """Return Bel(H) = Σ m(A) over A within H, (..., H), in [0, 1] (Shafer 1976)."""
    within = (masses.sets[:, None] & ~hypotheses) == 0
    return np.asarray(masses.mass @ within.astype(np.float64))


def plausibility(masses: Masses, hypotheses: IntArray) -> FloatArray:
    """Return Pl(H) = Σ m(A) over A that meet H, (..., H), in [0, 1] (Shafer 1976)."""
    return np.asarray(masses.mass @ (~disjoint(masses.sets, hypotheses)).astype(np.float64))


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
    return mean_product(first, disjoint(first.sets, second.sets).astype(np.float64), second)


def gather(sets: IntArray, mass: FloatArray, n_stages: int) -> Masses:
    """Return the masses with equal sets added together and the sets ascending."""
    order = np.argsort(sets, kind="stable")
    distinct, starts = np.unique(sets[order], return_index=True)
    return Masses(distinct, np.add.reduceat(mass[..., order], starts, axis=-1), n_stages)


def mean_product(first: Masses, kernel: FloatArray, second: Masses) -> FloatArray:
    """Return Σ m1(A)·kernel(A, B)·m2(B), (...)."""
    if first.n_stages != second.n_stages:
        raise ValueError(f"frames of {first.n_stages} and {second.n_stages} stages do not compare")
    return np.asarray(((first.mass @ kernel) * second.mass).sum(axis=-1))


MAX_PRODUCTS = 20_000_000
"""Products of masses that a rule which must list them all may form."""


class TooManyProductsError(ValueError):
    """A rule that lists every product of masses would list too many."""


@dataclass(frozen=True, eq=False)
class Combination:
    """A combined mass per row with what it cost in conflict.

    `conflict` is k of each row, in [0, 1]. `defined` says which rows have a combined mass;
    `masses` holds those rows alone, and is None when there is none.
    """

    masses: Masses | None
    conflict: FloatArray
    defined: BoolArray


def dempster(sources: Sequence[Masses]) -> Combination:
    """Return Dempster's combination: products on intersections, over 1 - k (Dempster 1967).

    Undefined where k = 1. Commutative and associative; the vacuous mass changes nothing.
    """
    sets, mass, lost = unnormalised(sources)
    remaining = mass.sum(axis=-1)
    # Exact: nothing remains if, and only if, no product meets.
    defined = np.asarray(remaining > 0)
    if not defined.any():
        return Combination(None, lost, defined)
    normal = mass[defined] / remaining[defined, None]
    return Combination(gather(sets, normal, sources[0].n_stages), lost, defined)


def yager(sources: Sequence[Masses]) -> Combination:
    """Return Yager's combination: the conflict goes to Θ (Yager 1987, Information Sciences 41).

    Always defined; k = 1 gives total ignorance. All sources at once, since the rule is not
    associative.
    """
    sets, mass, lost = unnormalised(sources)
    frame = sources[0].frame
    combined = gather(
        np.append(sets, np.int64(frame)),
        np.concatenate([mass, lost[:, None]], axis=-1),
        sources[0].n_stages,
    )
    return _defined(combined, lost)


def dubois_prade(sources: Sequence[Masses]) -> Combination:
    """Return Dubois and Prade's: a product goes to the intersection, or to the union if empty.

    Always defined. All sources at once, since the rule is not associative; lists every product,
    so raises TooManyProductsError. Source: Dubois and Prade 1988, Computational Intelligence 4.
    """
    sets, mass = _products(sources)
    meet = np.bitwise_and.reduce(sets, axis=0)
    union = np.bitwise_or.reduce(sets, axis=0)
    goal = np.asarray(np.where(meet == 0, union, meet), dtype=np.int64)
    product = mass.prod(axis=0)
    return _defined(gather(goal, product, sources[0].n_stages), product[:, meet == 0].sum(axis=-1))


def pcr6(sources: Sequence[Masses]) -> Combination:
    """Return PCR6: a conflicting product goes back to its sets, in proportion to their masses.

    Always defined. All sources at once, since the rule is not associative; lists every product,
    so raises TooManyProductsError. Source: Martin and Osswald 2006, after Smarandache and Dezert.
    """
    sets, mass = _products(sources)
    meet = np.bitwise_and.reduce(sets, axis=0)
    product = mass.prod(axis=0)
    clash, total = meet == 0, mass.sum(axis=0)
    share = np.divide(product, total, where=total > 0, out=np.zeros_like(product)) * clash
    goal: IntArray = np.concatenate([np.where(clash, sets[0], meet), *sets[1:]])
    kept = np.where(clash, share * mass[0], product)
    parts = np.concatenate([kept, *(share * own for own in mass[1:])], axis=-1)
    used = goal > 0
    combined = gather(goal[used], parts[:, used], sources[0].n_stages)
    return _defined(combined, product[:, clash].sum(axis=-1))


def linear_pool(sources: Sequence[Masses]) -> Combination:
    """Return the mean mass, sources weighted equally (Stone 1961); k is that of the sources.

    Always defined.
    """
    _check(sources)
    return weighted_pool(sources, np.ones((len(sources[0].mass), len(sources))))


def weighted_pool(sources: Sequence[Masses], weights: FloatArray) -> Combination:
    """Return the mean mass with the `weights` (rows, sources), each at least 0 (Stone 1961).

    k is that of the sources. Undefined where all weights of a row are 0.
    """
    _check(sources)
    if weights.shape != (len(sources[0].mass), len(sources)) or (weights < 0).any():
        raise ValueError("a weight of at least 0 for every row and source")
    total = weights.sum(axis=-1)
    defined = np.asarray(total > 0)
    _, _, lost = unnormalised(sources)
    if not defined.any():
        return Combination(None, lost, defined)
    shares = weights[defined] / total[defined, None]
    sets = np.concatenate([source.sets for source in sources])
    mass = np.concatenate(
        [source.mass[defined] * shares[:, [place]] for place, source in enumerate(sources)], axis=-1
    )
    return Combination(gather(sets, mass, sources[0].n_stages), lost, defined)


def log_pool(sources: Sequence[Masses]) -> Combination:
    """Return the normalised geometric mean of the pignistic probabilities (Genest, Zidek 1986).

    Points only. Undefined where every stage is impossible to some source; k is that of the sources.
    """
    _check(sources)
    product = np.prod([betp(source) for source in sources], axis=0) ** (1 / len(sources))
    total = product.sum(axis=-1)
    defined = np.asarray(total > 0)
    _, _, lost = unnormalised(sources)
    if not defined.any():
        return Combination(None, lost, defined)
    n_stages = sources[0].n_stages
    normal = product[defined] / total[defined, None]
    return Combination(Masses(singletons(n_stages), normal, n_stages), lost, defined)


def averaged(sources: Sequence[Masses]) -> Combination:
    """Return the mean mass, combined with itself by Dempster's rule once for each further source.

    k is that of the sources. Undefined where the mean excludes itself. Source: Murphy 2000,
    Decision Support Systems 29.
    """
    pooled = linear_pool(sources)
    assert pooled.masses is not None
    return replace(dempster([pooled.masses] * len(sources)), conflict=pooled.conflict)


class Rule(StrEnum):
    """A rule of combination."""

    DEMPSTER = "dempster"
    YAGER = "yager"
    DUBOIS_PRADE = "dubois_prade"
    PCR6 = "pcr6"
    AVERAGED = "averaged"
    LINEAR_POOL = "linear_pool"
    LOG_POOL = "log_pool"

    @property
    def combine(self) -> Callable[[Sequence[Masses]], Combination]:
        """The function of this name."""
        rules = (dempster, yager, dubois_prade, pcr6, averaged, linear_pool, log_pool)
        return dict(zip(Rule, rules, strict=True))[self]


def unnormalised(sources: Sequence[Masses]) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the sets that meet, their unnormalised masses (rows, K), and the conflict (rows)."""
    _check(sources)
    sets, mass = sources[0].sets, sources[0].mass
    for source in sources[1:]:
        products = mass[:, :, None] * source.mass[:, None, :]
        meet = (sets[:, None] & source.sets).ravel()
        order = np.argsort(meet, kind="stable")
        sets, starts = np.unique(meet[order], return_index=True)
        mass = np.add.reduceat(products.reshape(len(mass), -1)[:, order], starts, axis=-1)
        # The empty set stays: whatever meets it is empty too.
    empty = sets == 0
    return sets[~empty], mass[:, ~empty], np.minimum(mass[:, empty].sum(axis=-1), 1.0)


def _products(sources: Sequence[Masses]) -> tuple[IntArray, FloatArray]:
    """Return sources x products of sets, and sources x rows x products of their masses."""
    _check(sources)
    in_use = [source.mass.any(axis=0) for source in sources]
    rows, n = len(sources[0].mass), prod(int(columns.sum()) for columns in in_use)
    if rows * n > MAX_PRODUCTS:
        raise TooManyProductsError(
            f"{rows} items of {n} products each, and at most {MAX_PRODUCTS:,} are formed"
        )
    columns = np.meshgrid(*(np.flatnonzero(mask) for mask in in_use), indexing="ij")
    chosen = [column.ravel() for column in columns]
    pairs = list(zip(sources, chosen, strict=True))
    return (
        np.stack([source.sets[column] for source, column in pairs]),
        np.stack([source.mass[:, column] for source, column in pairs]),
    )


def _defined(masses: Masses, lost: FloatArray) -> Combination:
    """Return a combination that is defined in every row."""
    return Combination(masses, np.minimum(lost, 1.0), np.ones(len(lost), dtype=np.bool_))


def _check(sources: Sequence[Masses]) -> None:
    if len({source.n_stages for source in sources}) != 1:
        raise ValueError("sources on different frames, or none, do not combine")
    if len({source.mass.shape[:-1] for source in sources}) != 1 or sources[0].mass.ndim != 2:
        raise ValueError("every source has the same rows, as (rows, K)")
    if any((source.mass.sum(axis=-1) == 0).any() for source in sources):
        raise ValueError("a source without a mass has nothing to combine")
