"""The classical rules that combine independent bodies of evidence, kept for the record.

Sources are judges (their mean masses on one item), never replicates of one judge. A row is an
item; every source has one row for each, on the same frame. Total conflict is an outcome, not a
mass: Dempster's rule then gives no row at all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import prod

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.masses import Masses, gather

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
    sets, mass, lost = _conjunctive(sources)
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
    sets, mass, lost = _conjunctive(sources)
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
    sets = np.concatenate([source.sets for source in sources])
    mass = np.concatenate([source.mass for source in sources], axis=-1) / len(sources)
    _, _, lost = _conjunctive(sources)
    return _defined(gather(sets, mass, sources[0].n_stages), lost)


class Rule(StrEnum):
    """A rule of combination."""

    DEMPSTER = "dempster"
    YAGER = "yager"
    DUBOIS_PRADE = "dubois_prade"
    PCR6 = "pcr6"
    LINEAR_POOL = "linear_pool"

    @property
    def combine(self) -> Callable[[Sequence[Masses]], Combination]:
        """The function of this name."""
        rules = (dempster, yager, dubois_prade, pcr6, linear_pool)
        return dict(zip(Rule, rules, strict=True))[self]


def conjunctive(sources: Sequence[Masses]) -> tuple[IntArray, FloatArray]:
    """Return the unnormalised combination: sets (ascending, 0 the empty one) and (rows, K)."""
    sets, mass, lost = _conjunctive(sources)
    return np.concatenate([np.zeros(1, dtype=np.int64), sets]), np.concatenate(
        [lost[:, None], mass], axis=-1
    )


def _conjunctive(sources: Sequence[Masses]) -> tuple[IntArray, FloatArray, FloatArray]:
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
    held = [source.mass.any(axis=0) for source in sources]
    rows, n = len(sources[0].mass), prod(int(columns.sum()) for columns in held)
    if rows * n > MAX_PRODUCTS:
        raise TooManyProductsError(
            f"{rows} items of {n} products each, and at most {MAX_PRODUCTS:,} are formed"
        )
    columns = np.meshgrid(*(np.flatnonzero(held_by) for held_by in held), indexing="ij")
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
