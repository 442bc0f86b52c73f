"""The common input of the metrics: samples of judges on items, and what a cell of them holds.

A cell is (judge, item) under one rubric. Only `scored` samples come here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
T = TypeVar("T", np.int64, np.float64)

MAX_STAGES = 62
TABLE_STAGES = 16
_BITS = 62
"""Of a whole number that holds several columns of a row."""


def numbered(values: Sequence[object] | IntArray) -> IntArray:
    """Return the number of each value among those that occur, from 0 in their order."""
    return np.unique(np.asarray(values), return_inverse=True)[1].astype(np.int64)


def means_by(question: IntArray, values: FloatArray) -> FloatArray:
    """Return the mean of the rows of each question (questions x ...), of those that are no NaN."""
    known = np.isfinite(values)
    sums, n = sums_by(question, np.where(known, values, 0.0)), sums_by(question, known * 1.0)
    return np.asarray(np.divide(sums, n, where=n > 0, out=np.full(sums.shape, np.nan)))


def sums_by(question: IntArray, values: NDArray[T]) -> NDArray[T]:
    """Return the sum of the rows of each question, which are numbered from 0."""
    sums = np.zeros((int(question.max()) + 1, *values.shape[1:]), dtype=values.dtype)
    np.add.at(sums, question, values)
    return sums


@dataclass(frozen=True)
class CellMeans:
    """A mean per cell: `value` and `n`, both judges x items; `value` is 0 where `n` is 0."""

    value: FloatArray
    n: IntArray

    @property
    def present(self) -> BoolArray:
        """Which cells hold a sample."""
        return self.n > 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Samples:
    """Parallel arrays, one entry per sample: `judge` in [0, n_judges), `item` in [0, n_items).

    `question` is what each item answers, where several items share one: then the independent unit
    of an interval is the question. None where each item has its own.
    """

    judge: IntArray
    item: IntArray
    n_judges: int
    n_items: int
    question: IntArray | None = None

    def __post_init__(self) -> None:
        """Refuse arrays of different length and indices out of range."""
        lengths = {name: len(getattr(self, name)) for name in self._columns()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of different length: {lengths}")
        for name, size in (("judge", self.n_judges), ("item", self.n_items)):
            _check_range(name, getattr(self, name), 0, size - 1)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.judge)

    @property
    def cell(self) -> IntArray:
        """The cell of each sample, judge-major: judge · n_items + item."""
        return self.judge * self.n_items + self.item

    def sizes(self) -> IntArray:
        """Return the number of samples per cell, judges x items."""
        counts = np.bincount(self.cell, minlength=self.n_judges * self.n_items)
        return counts.reshape(self.n_judges, self.n_items)

    def means(self, values: FloatArray) -> CellMeans:
        """Return the mean per cell of one value per sample."""
        sizes = self.sizes()
        sums = np.bincount(self.cell, weights=values, minlength=sizes.size).reshape(sizes.shape)
        return CellMeans(sums / np.maximum(sizes, 1), sizes)

    def common_items(self, at_least: int = 1) -> BoolArray:
        """Return which items hold `at_least` samples of every judge: those judges compare on."""
        return np.asarray((self.sizes() >= at_least).all(axis=0))

    def rows(self, chosen: BoolArray | IntArray) -> Self:
        """Return the chosen samples; judges and items keep their numbers."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in self._columns()})

    def of_judges(self, judges: Sequence[int]) -> Self:
        """Return the samples of these judges, renumbered 0.. in the order given."""
        number = np.full(self.n_judges, -1, dtype=np.int64)
        number[list(judges)] = np.arange(len(judges))
        kept = self.rows(number[self.judge] >= 0)
        return replace(kept, judge=number[kept.judge], n_judges=len(judges))

    def cluster(self, items: BoolArray | IntArray) -> IntArray | None:
        """Return the question of each of these items, from 0; None where no two share one."""
        return None if self.question is None else numbered(self.question[items])

    def _columns(self) -> list[str]:
        names = [name for name in self.__dataclass_fields__ if name != "question"]
        return [name for name in names if isinstance(getattr(self, name), np.ndarray)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdicts(Samples):
    """Scored samples of one rubric: `stages` is a bitmask, bit s-1 for stage s of `n_stages`.

    `score` is a recorded score as written, on 0 to 1; NaN where the stages say it.
    """

    stages: IntArray
    n_stages: int
    score: FloatArray | None = None

    def __post_init__(self) -> None:
        """Refuse the empty set, stages beyond the scale, and scales that a bitmask cannot hold."""
        super().__post_init__()
        if not 2 <= self.n_stages <= MAX_STAGES:
            raise ValueError(f"n_stages {self.n_stages}: a scale has 2 to {MAX_STAGES} stages")
        _check_range("stages", self.stages, 1, 2**self.n_stages - 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Probes(Samples):
    """Answered probes: `probability` in [0, 1] that experts would choose the set `stages`.

    A probe that failed or could not be read is left out, never replaced by a value.
    """

    stages: IntArray
    probability: FloatArray

    def __post_init__(self) -> None:
        """Refuse probabilities outside [0, 1], NaN among them."""
        super().__post_init__()
        if not ((self.probability >= 0) & (self.probability <= 1)).all():
            raise ValueError("a probability lies in [0, 1]; leave a missing probe out")

    def confidence(self) -> CellMeans:
        """Return the mean probed probability per cell."""
        return self.means(self.probability)


@dataclass(frozen=True)
class SetCounts:
    """Counts of the K observed sets: `sets` ascending, `counts` judges x items x K."""

    sets: IntArray
    counts: IntArray

    def column_of(self, stages: IntArray) -> tuple[IntArray, BoolArray]:
        """Return the column of each set in `stages`, and whether it was observed at all."""
        column = np.minimum(np.searchsorted(self.sets, stages), len(self.sets) - 1)
        return column.astype(np.int64), np.asarray(self.sets[column] == stages)


def set_counts(verdicts: Verdicts) -> SetCounts:
    """Return the counts of the sets that occur; dividing by the cell sizes gives m(A)."""
    sets, column = _numbered(verdicts)
    shape = (verdicts.n_judges, verdicts.n_items, len(sets))
    flat = np.bincount(verdicts.cell * len(sets) + column, minlength=int(np.prod(shape)))
    return SetCounts(sets, flat.reshape(shape))


def _numbered(verdicts: Verdicts) -> tuple[IntArray, IntArray]:
    """Return the sets that occur, ascending, and the place of each sample's among them."""
    if verdicts.n_stages > TABLE_STAGES:
        return np.unique(verdicts.stages, return_inverse=True)
    # A table over all sets of a small frame spares the sort.
    occurs = np.bincount(verdicts.stages, minlength=1 << verdicts.n_stages) > 0
    place = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs), place[verdicts.stages]


def set_sizes(stages: IntArray) -> IntArray:
    """Return |A| of each set."""
    return np.bitwise_count(stages).astype(np.int64)


def pignistic_weights(stages: IntArray, n_stages: int) -> FloatArray:
    """Return samples x stages: 1/|A| on the stages of each set, so that rows sum to one."""
    chosen = (stages[:, None] >> np.arange(n_stages)) & 1
    return np.asarray(chosen / chosen.sum(axis=1, keepdims=True))


def pignistic(verdicts: Verdicts) -> tuple[FloatArray, BoolArray]:
    """Return p (judges x items x stages) and which cells hold a sample; p is 0 elsewhere.

    p(s) = Σ over A containing s of m(A)/|A| (Smets and Kennes 1994), m the mean mass of the
    cell's samples; each present cell sums to one.
    """
    sizes = verdicts.sizes()
    share = 1 / set_sizes(verdicts.stages)
    p = np.empty((*sizes.shape, verdicts.n_stages))
    for stage in range(verdicts.n_stages):
        weight = share * ((verdicts.stages >> stage) & 1)
        sums = np.bincount(verdicts.cell, weights=weight, minlength=sizes.size)
        p[..., stage] = sums.reshape(sizes.shape) / np.maximum(sizes, 1)
    return p, sizes > 0


def scores(verdicts: Verdicts) -> FloatArray:
    """Return the verdicts on the 0-1 scale: as written where that is recorded, else `positions`."""
    return as_written(positions(verdicts.stages, verdicts.n_stages), verdicts.score)


def as_written(value: FloatArray, score: FloatArray | None) -> FloatArray:
    """Return values made of stages, replaced by the written scores where there are any."""
    return value if score is None else np.where(np.isnan(score), value, score)


def positions(stages: IntArray, n_stages: int) -> FloatArray:
    """Return each set on the 0-1 scale: (s - 1)/(S - 1) of a stage, the mean over several."""
    total = np.zeros(len(stages))
    for stage in range(1, n_stages):
        total += stage * ((stages >> stage) & 1)
    return np.asarray(total / set_sizes(stages) / (n_stages - 1))


def mean_scores(verdicts: Verdicts) -> CellMeans:
    """Return the mean of `scores` per cell, in [0, 1]."""
    return verdicts.means(scores(verdicts))


def item_means(values: FloatArray, present: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Average over judges: the value of items with a present cell, and which those are."""
    judges = present.sum(axis=0)
    kept = judges > 0
    sums = np.where(present, values, 0.0).sum(axis=0)
    return np.asarray(sums[kept] / judges[kept]), kept


def distinct_rows(rows: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows of a matrix in ascending order, and which of them each row is.

    As `np.unique(rows, axis=0)`, by sorting one whole number for as many columns as it can hold.
    """
    codes = rows.astype(np.int64)
    if rows.size and (codes.min() < 0 or not np.array_equal(codes, rows)):
        codes = np.unique(rows, return_inverse=True)[1].reshape(rows.shape)
    base = int(codes.max(initial=0)) + 1
    width = max(1, int(_BITS / np.log2(max(base, 2))))
    kind = np.zeros(len(rows), dtype=np.int64)
    for start in range(0, rows.shape[1], width):
        part = codes[:, start : start + width]
        place = base ** np.arange(part.shape[1] - 1, -1, -1, dtype=np.int64)
        number = np.unique(part @ place, return_inverse=True)[1]
        kind = np.unique(kind * (number.max(initial=0) + 1) + number, return_inverse=True)[1]
    first = np.zeros(int(kind.max(initial=-1)) + 1, dtype=np.int64)
    first[kind[::-1]] = np.arange(len(rows))[::-1]
    return rows[first], kind


def _check_range(name: str, values: IntArray, low: int, high: int) -> None:
    if len(values) and not (low <= values.min() and values.max() <= high):
        raise ValueError(f"{name}: values {values.min()}..{values.max()}, allowed {low}..{high}")
