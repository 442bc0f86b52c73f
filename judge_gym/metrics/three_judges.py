"""Three judges against one: both chosen on a part of the items, and compared on the others.

A panel that is chosen and judged on the same items looks better than it is, and so does the best of
many single judges. So each is chosen on one part and compared on the rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judge_gym.metrics.agreement import ratio_or_nan
from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.estimate import (
    JACKKNIFE_BLOCKS,
    Estimate,
    jackknife_interval,
    not_estimable,
)

PARTS = 5
"""Parts of the items; the judges are chosen on each in turn."""
FEWEST_JUDGES = 4
MOST_JUDGES = 40
"""Judges of which threes are made, the best by themselves where there are more: 9,880 threes."""
_MOST_GRADES = 400_000
"""Grades of threes that are held at once."""
SHARE, KAPPA = "share right", "kappa"


@dataclass(frozen=True)
class Lead:
    """How far three judges are ahead of one where neither was chosen; judges by their column.

    `part` is the one of `PARTS` on which they were chosen, from 1; 0 for the mean of all, whose
    judges are none.
    """

    estimate: Estimate
    part: int = 0
    three: tuple[int, ...] = ()
    one: int = -1


def three_judges_leads(
    metric: str,
    stages: IntArray,
    truth: IntArray,
    cluster: IntArray,
    rng: np.random.Generator,
    by: str,
) -> Iterator[Lead]:
    """Yield the lead of the best three judges over the best one, of every part and of all.

    `stages` (items x judges) and `truth` (items) are from 1. The verdict of three is the median of
    their stages: of two stages, that of most. A lead is the share right (`by` is `SHARE`), or
    Cohen's κ (`KAPPA`), of the three that are best on a fifth of the items less that of the judge
    that is best on it, both on the other items; in [-1, 1], or [-2, 2] for κ. The fifths are drawn
    at random. Interval: jackknife over clusters of items with the choice as it is; of the mean of
    the parts likewise. Equals are decided by the order of the columns. Needs 4 judges, and 2 items
    a part.
    """
    items, judges = stages.shape
    unit = "share" if by == SHARE else "kappa"
    if judges < FEWEST_JUDGES or items < 2 * PARTS or len(set(truth.tolist())) < 2:
        because = f"it needs {FEWEST_JUDGES} judges, {2 * PARTS} items that all of them scored"
        because += " and two answers that are true of some"
        yield Lead(not_estimable(metric, because, n=items, n_items=items, unit=unit))
        return
    size = int(max(stages.max(), truth.max()))
    part = rng.permutation(items) % PARTS
    block = np.unique(cluster, return_inverse=True)[1] % JACKKNIFE_BLOCKS
    blocks = int(block.max()) + 1
    leads, left_out = [], []
    for number in range(PARTS):
        three, one = _chosen(stages[part == number], truth[part == number], size, by)
        rest = part != number
        chosen = np.stack([np.median(stages[:, three], axis=1).astype(np.int64), stages[:, one]])
        tables = _tables(chosen[:, rest], truth[rest], size, block[rest], blocks)
        whole = tables.sum(axis=0)
        # Without a block that has no item here the lead is as it is; the mean needs it of each.
        lead, without = _lead(whole[None], by)[0], _lead(whole - tables, by)
        of_part = without[tables.any(axis=(1, 2, 3))]
        yield Lead(
            _estimate(metric, lead, of_part, int(rest.sum()), unit), number + 1, tuple(three), one
        )
        leads.append(lead)
        left_out.append(without)
    yield Lead(_estimate(metric, np.mean(leads), np.mean(left_out, axis=0), items, unit))


def _estimate(metric: str, lead: float, left_out: FloatArray, items: int, unit: str) -> Estimate:
    lower, upper = jackknife_interval(float(lead), left_out) or (None, None)
    method = f"chosen on one of {PARTS} parts, compared on the others; jackknife over clusters"
    value = float(lead)
    return Estimate(metric, value, lower, upper, items, items, method=method, unit=unit)


def _chosen(stages: IntArray, truth: IntArray, size: int, by: str) -> tuple[list[int], int]:
    """Return the three judges whose median is best, and the judge that is best alone."""
    alone = _score(_tables(stages.T, truth, size)[0], by)
    one = int(np.argmax(alone))
    kept = sorted(np.argsort(-alone, kind="stable")[:MOST_JUDGES].tolist())
    threes = np.array(list(combinations(kept, 3)))
    grades, scores = stages.T.astype(np.int8), []
    rows = max(1, _MOST_GRADES // len(truth))
    for first in range(0, len(threes), rows):
        low, middle, high = (grades[of] for of in threes[first : first + rows].T)
        median = np.maximum(np.minimum(low, middle), np.minimum(np.maximum(low, middle), high))
        scores.append(_score(_tables(median, truth, size)[0], by))
    return threes[int(np.argmax(np.concatenate(scores)))].tolist(), one


def _tables(
    given: np.ndarray, truth: IntArray, size: int, block: IntArray | int = 0, blocks: int = 1
) -> FloatArray:
    """Return counts of stages given (raters x items) by block of items, numbered from 0.

    They are blocks x raters x true stages x stages given; a block may have no item.
    """
    raters = len(given)
    code = (truth - 1) * size + given.astype(np.int64) - 1
    code += size * size * np.arange(raters)[:, None] + size * size * raters * block
    counts = np.bincount(code.ravel(), minlength=blocks * raters * size * size)
    return counts.reshape(blocks, raters, size, size).astype(np.float64)


def _lead(tables: FloatArray, by: str) -> FloatArray:
    """Return the score of the three less that of the one, of tables (..., 2, stages, stages)."""
    scores = _score(tables, by)
    return np.asarray(scores[..., 0] - scores[..., 1])


def _score(tables: FloatArray, by: str) -> FloatArray:
    """Return the share right or κ of tables of counts (..., true stages, stages given).

    NaN without an item.
    """
    n = tables.sum(axis=(-2, -1))
    right = ratio_or_nan(np.trace(tables, axis1=-2, axis2=-1), n)
    if by == SHARE:
        return right
    chance = ratio_or_nan((tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1), n**2)
    return np.asarray(np.where(chance >= 1, 0.0, (right - chance) / np.maximum(1 - chance, 1e-12)))


def names_of(columns: Sequence[int], names: Sequence[str]) -> str:
    """Return the judges of these columns in words, such as "a, b and c"."""
    *most, last = (names[column] for column in columns)
    return f"{', '.join(most)} and {last}" if most else last
