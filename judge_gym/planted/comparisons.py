"""Mean scores of items with planted effects, for comparisons over cells, groups and texts.

Two axes at once, two judges in several cells, a judge beside others on two groups of items, and a
judge beside others when a text changes. Each is drawn under every condition of `CONDITIONS`,
straight as arrays, on the 0-1 scale. What is expected of items is drawn first; `_scored` makes
verdicts of it, some of which abstain.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge_gym.planted.judging import FloatArray, IntArray
from judge_gym.seeds import derive_seed

BoolArray = NDArray[np.bool_]

ITEM_SD, CELL_SD, NOISE = 0.15, 0.1, 0.1
"""Standard deviations of items, of items by cell, and of single verdicts."""


@dataclass(frozen=True)
class Condition:
    """How many items there are, and what is wrong with their data.

    `lost` is the share of verdicts that abstain, `holes` that of cells without a verdict. A cell
    has three verdicts, or one to five where they are `uneven`. Scores are multiples of `step`, so
    that they tie (0: none). Effects of items are exponential where `skewed`, else normal.
    """

    name: str
    items: int
    lost: float = 0.0
    holes: float = 0.0
    uneven: bool = False
    step: float = 0.0
    skewed: bool = False


def _conditions() -> Iterator[Condition]:
    for items in (16, 30):
        yield Condition(f"{items} items", items)
        yield Condition(f"{items} items, incomplete", items, lost=0.1, holes=0.02, uneven=True)
        yield Condition(f"{items} items, ties", items, step=0.25)
        yield Condition(f"{items} items, skewed", items, skewed=True)
    yield Condition("60 items", 60)


CONDITIONS = tuple(_conditions())
ABOUT_CONDITIONS = (
    "incomplete: 1 to 5 verdicts a cell, a tenth of them abstain, 2% of cells are empty; "
    "ties: scores are multiples of a quarter of the scale; skewed: exponential effects of items"
)


@dataclass(frozen=True)
class Crossing:
    """Two axes: the expected score of each level of the first at each level of the second."""

    name: str
    about: str
    cells: tuple[tuple[float, ...], ...]

    @property
    def shares(self) -> tuple[float, float, float]:
        """The shares of the variance between cells: first axis, second, interaction."""
        cells = np.array(self.cells)
        rows, columns = cells.mean(axis=1, keepdims=True), cells.mean(axis=0, keepdims=True)
        grand = cells.mean()
        both = cells - rows - columns + grand
        squares = [float((part**2).mean()) for part in (rows - grand, columns - grand, both)]
        first, second, interaction = (square / sum(squares) for square in squares)
        return first, second, interaction

    @property
    def effects(self) -> FloatArray:
        """The effect of the first axis, its second level less its first, at each of the second."""
        return np.asarray(np.diff(np.array(self.cells), axis=0)[0])


CROSSINGS = (
    Crossing(
        "additive axes", "two axes without an interaction", ((0.3, 0.4, 0.5), (0.5, 0.6, 0.7))
    ),
    Crossing(
        "sign reversal", "an effect above 0 at one level of another axis and below 0 at another",
        ((0.3, 0.4, 0.6), (0.6, 0.4, 0.3)),
    ),
    Crossing(
        "effect at one level", "an effect at one level of another axis, and none at the others",
        ((0.3, 0.5, 0.5), (0.7, 0.5, 0.5)),
    ),
)  # fmt: skip
"""The last is the worst case of the test for a change of sign: it has one sign, and most chances
to seem to have another."""


@dataclass(frozen=True)
class Specifications:
    """The difference of two judges in each cell of a design."""

    name: str
    about: str
    differences: tuple[float, ...]


SPECIFICATIONS = (
    Specifications("equal in all cells", "two judges alike in six cells", (0.0,) * 6),
    Specifications(
        "different in all cells", "two judges apart in six cells, by 0.05 to 0.15",
        (0.05, 0.08, 0.1, 0.1, 0.12, 0.15),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Functioning:
    """A judge that places a group of items `shift` higher than `others` judges do, of whom it is
    one more else. The group is 0.2 higher for all, and holds this `share` of the items."""

    name: str
    about: str
    shift: float
    others: int = 3
    share: float = 0.5


FUNCTIONINGS = (
    Functioning("group alike", "a judge and three others, alike on both groups of items", 0.0),
    Functioning("group alike, two others", "the same with two others to match on", 0.0, others=2),
    Functioning("small group alike", "the same with a third of the items in it", 0.0, share=1 / 3),
    Functioning("group apart", "a judge that places a group higher than three others do", 0.1),
)  # fmt: skip


@dataclass(frozen=True)
class ActorSwap:
    """What the exchange of actors' names moves: the others' scores by `common`, the judge's by
    `own`. A fifth of the items have no name in them and are the same in both texts."""

    name: str
    about: str
    common: float
    own: float


ACTOR_SWAPS = (
    ActorSwap("actors alike", "names of actors move neither a judge nor three others", 0.0, 0.0),
    ActorSwap("actors apart", "they move a judge by 0.15, three others by 0.05", 0.05, 0.15),
)  # fmt: skip


@dataclass(frozen=True)
class BinaryErrors:
    """Errors of judges that are 0 or 1, 1 on this `share` of items, with correlation `shared`."""

    name: str
    about: str
    share: float = 0.2
    shared: float = 0.3
    judges: int = 4


@dataclass(frozen=True)
class Dealt:
    """Stages that three judges choose in four cells, five times each; a judge is `apart` of the
    scale above the one before. Half the noise of a verdict is the same in all cells."""

    name: str
    about: str
    apart: float
    judges: int = 3
    cells: int = 4
    replicates: int = 5
    n_stages: int = 5


JUDGES_ALIKE = Dealt("judges alike in all cells", "three judges alike in four cells", 0.0)
JUDGES_APART = Dealt("judges apart in all cells", "three judges apart in four cells", 0.08)
COMPARISONS = (*CROSSINGS, *SPECIFICATIONS, *FUNCTIONINGS, *ACTOR_SWAPS)
BINARY_ERRORS = BinaryErrors("right or wrong", "four judges that err on a fifth of the items")


def draw_crossing(truth: Crossing, condition: Condition, seed: int) -> FloatArray:
    """Return scores: items x levels of the first axis x levels of the second, NaN for empty."""
    rng = _generator(truth.name, condition, seed)
    cells = np.array(truth.cells)
    items = ITEM_SD * _effect(condition, rng, (condition.items, 1, 1))
    by_cell = CELL_SD * _effect(condition, rng, (condition.items, *cells.shape))
    return _scored(condition, cells + items + by_cell, rng)


def draw_differences(truth: Specifications, condition: Condition, seed: int) -> FloatArray:
    """Return differences of two judges, items x cells, NaN where one of them has no verdict.

    The item's own level, shared by both, cancels; how a judge reads it is the same in all cells.
    """
    rng = _generator(truth.name, condition, seed)
    apart = np.array(truth.differences)
    reading = ITEM_SD * _effect(condition, rng, (condition.items, 1))
    by_cell = CELL_SD * _effect(condition, rng, (condition.items, len(apart)))
    first = _scored(condition, 0.5 + apart + reading + by_cell, rng)
    return first - _scored(condition, np.full_like(by_cell, 0.5), rng)


def draw_functioning(
    truth: Functioning, condition: Condition, seed: int
) -> tuple[FloatArray, BoolArray]:
    """Return scores, judges (the tested one first) x items, NaN for empty, and the group."""
    rng = _generator(truth.name, condition, seed)
    focal = np.arange(condition.items) < round(truth.share * condition.items)
    judges = 1 + truth.others
    level = 0.4 + ITEM_SD * _effect(condition, rng, (condition.items,)) + 0.2 * focal
    own = CELL_SD * _effect(condition, rng, (judges, condition.items))
    expected = level + own + 0.1 * rng.normal(size=(judges, 1))
    expected[0] += truth.shift * focal
    return _scored(condition, expected, rng), focal


def draw_actors(
    truth: ActorSwap, condition: Condition, seed: int
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return scores before and after, judges (the tested one first) x items, and who has names."""
    rng = _generator(truth.name, condition, seed)
    named = np.arange(condition.items) % 5 != 4
    shape = (4, condition.items)
    before = 0.5 + ITEM_SD * _effect(condition, rng, (condition.items,)) + np.zeros(shape)
    moved = CELL_SD * _effect(condition, rng, shape) + truth.common
    moved[0] += truth.own - truth.common
    after = before + moved * named
    return _scored(condition, before, rng), _scored(condition, after, rng), named


def draw_binary_errors(truth: BinaryErrors, items: int, seed: int) -> FloatArray:
    """Return errors, items x judges: each is with probability √shared that of all, else its own."""
    rng = np.random.default_rng(derive_seed("binary errors", truth.name, items, seed))
    shape = (items, truth.judges)
    of_all, own = (rng.random(size) < truth.share for size in ((items, 1), shape))
    return np.where(rng.random(shape) < truth.shared**0.5, of_all, own).astype(np.float64)


def draw_stages(truth: Dealt, condition: Condition, seed: int) -> IntArray:
    """Return stages from 1: cells x judges x items x replicates, 0 for an abstention."""
    rng = _generator(truth.name, condition, seed)
    shape = (truth.cells, truth.judges, condition.items, truth.replicates)
    level = 0.5 + ITEM_SD * _effect(condition, rng, (1, 1, condition.items, 1))
    by_cell = CELL_SD * _effect(condition, rng, (truth.cells, 1, condition.items, 1))
    places = truth.apart * (np.arange(truth.judges) - (truth.judges - 1) / 2)
    noise = 2**-0.5 * (rng.normal(size=shape[1:]) + rng.normal(size=shape))
    score = level + by_cell + places[:, None, None] + NOISE * noise
    stages = 1 + np.clip(np.floor(score * truth.n_stages), 0, truth.n_stages - 1)
    return np.where(rng.random(shape) < condition.lost, 0, stages).astype(np.int64)


def _generator(name: str, condition: Condition, seed: int) -> np.random.Generator:
    return np.random.default_rng(derive_seed("comparisons", name, condition.name, seed))


def _effect(condition: Condition, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
    """Return effects of mean 0 and variance 1."""
    return rng.exponential(size=size) - 1 if condition.skewed else rng.normal(size=size)


def _scored(condition: Condition, expected: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the mean score of each cell, NaN where there is no verdict."""
    given = rng.integers(1, 6, expected.shape) if condition.uneven else np.full(expected.shape, 3)
    kept = rng.binomial(given, 1 - condition.lost)
    kept[rng.random(expected.shape) < condition.holes] = 0
    scores = expected[..., None] + NOISE * rng.normal(size=(*expected.shape, 5))
    if condition.step:
        scores = condition.step * np.round(scores / condition.step)
    counted = np.arange(5) < kept[..., None]
    total = (scores * counted).sum(axis=-1)
    return np.where(kept > 0, total / np.maximum(kept, 1), np.nan)
