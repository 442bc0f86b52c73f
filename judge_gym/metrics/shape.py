"""The shape of a judge's verdicts: how often it abstains, how much of its scale it uses, and how.

A configured judge is described by this shape better than by one mean score: two judges of the same
mean may use every stage, or the middle one alone. Most figures here are means over samples. So
they can be compared between two settings item by item (`SHARES`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from judge_gym.counting import there_are
from judge_gym.metrics.cells import (
    BoolArray,
    CellMeans,
    FloatArray,
    IntArray,
    Samples,
    Verdicts,
    item_means,
    pignistic,
    positions,
    scores,
    set_sizes,
)
from judge_gym.metrics.estimate import (
    UNIT_INTERVAL,
    Estimate,
    jackknife_interval,
    jackknife_weights,
    mean_over_items,
    not_estimable,
    with_interval,
)
from judge_gym.metrics.polarization import entropy


@dataclass(frozen=True, kw_only=True, eq=False)
class Readable(Samples):
    """Samples that could be read: `stages` is a bitmask as in `Verdicts`, 0 for an abstention."""

    stages: IntArray
    n_stages: int
    score: FloatArray | None = None
    """As in `Verdicts`."""

    @property
    def verdicts(self) -> Verdicts:
        """The samples with a stage."""
        kept = self.rows(self.stages > 0)
        return Verdicts(
            judge=kept.judge,
            item=kept.item,
            stages=kept.stages,
            n_judges=self.n_judges,
            n_items=self.n_items,
            n_stages=self.n_stages,
            score=kept.score,
            question=self.question,
        )


@dataclass(frozen=True)
class Share:
    """A figure that is a mean over samples: its name, unit and range.

    `of` maps the bitmasks of samples and the length of the scale to one value per sample. `applies`
    says which samples the figure is about: all that could be read, verdicts with a stage, or sets
    of two stages and more.
    """

    name: str
    unit: str
    of: Callable[[IntArray, int], FloatArray | BoolArray]
    applies: Callable[[IntArray], BoolArray]
    bounds: Callable[[int], tuple[float, float]] = lambda _: UNIT_INTERVAL
    of_sets: bool = False
    """Whether it tells something only of verdicts that may name several stages."""


def _has_stage(stages: IntArray) -> BoolArray:
    return np.asarray(stages > 0)


def is_adjacent(stages: IntArray) -> BoolArray:
    """Return which sets are contiguous on the scale, such as stages 2 and 3."""
    lowest = stages & -stages
    return np.asarray(
        (stages // np.maximum(lowest, 1) + 1) & (stages // np.maximum(lowest, 1)) == 0
    )


def middle_mass(stages: IntArray, n_stages: int) -> FloatArray:
    """Return the share of each set's stages that are neither the first nor the last, in [0, 1]."""
    ends = (stages & 1) + (stages >> (n_stages - 1))
    return np.asarray(1 - ends / set_sizes(stages))


def _expected_stage(stages: IntArray, n_stages: int) -> FloatArray:
    return 1 + positions(stages, n_stages) * (n_stages - 1)


def _of_the_scale(n_stages: int) -> tuple[float, float]:
    return 1.0, float(n_stages)


ABSTAIN_SHARE = Share(
    "abstain_share",
    "share",
    lambda stages, _: stages == 0,
    lambda stages: np.ones(len(stages), dtype=np.bool_),
)
SINGLETON_SHARE = Share(
    "singleton_share", "share", lambda stages, _: set_sizes(stages) == 1, _has_stage, of_sets=True
)
EXPECTED_STAGE = Share("expected_stage", "stages", _expected_stage, _has_stage, _of_the_scale)
MIDDLE_MASS = Share("middle_mass", "share", middle_mass, _has_stage)
SET_WIDTH = Share(
    "set_width",
    "share",
    lambda stages, n_stages: (set_sizes(stages) - 1) / (n_stages - 1),
    _has_stage,
    of_sets=True,
)
"""The size of a set as a share of the scale, which scales of another length have too."""
ADJACENT_SHARE = Share(
    "adjacent_share",
    "share",
    lambda stages, _: is_adjacent(stages),
    lambda stages: set_sizes(stages) > 1,
    of_sets=True,
)
SHARES = (
    ABSTAIN_SHARE,
    SINGLETON_SHARE,
    Share(
        "set_size",
        "stages",
        lambda stages, _: set_sizes(stages).astype(np.float64),
        _has_stage,
        _of_the_scale,
        of_sets=True,
    ),
    ADJACENT_SHARE,
    EXPECTED_STAGE,
    MIDDLE_MASS,
)
"""The figures of a shape that are means over samples, in the order of their columns."""
COMPARED = (ABSTAIN_SHARE, MIDDLE_MASS, SINGLETON_SHARE, SET_WIDTH)
"""The figures, all in [0, 1], that one setting is compared with another in."""


def share_of(share: Share, samples: Readable) -> CellMeans:
    """Return a figure per cell, judges x items, of the samples that it is about."""
    applies = share.applies(samples.stages)
    kept = samples.rows(applies)
    return kept.means(share.of(kept.stages, samples.n_stages).astype(np.float64))


def shape_shares(samples: Readable, *, sets: bool = True) -> Iterator[Estimate]:
    """Yield each of `SHARES`: means by item, then over items; t interval over items.

    `samples` are one judge's; without `sets` they name one stage each. Each needs one sample that
    it is about, two items for an interval.
    """
    for share in SHARES:
        if share.of_sets and not sets:
            continue
        cells = share_of(share, samples)
        per_item, items = item_means(cells.value, cells.present)
        yield mean_over_items(
            share.name,
            per_item,
            n=cells.n.sum(axis=0)[items],
            unit=share.unit,
            bounds=share.bounds(samples.n_stages),
            items=items,
        )


def stage_entropy(verdicts: Verdicts) -> list[Estimate]:
    """Return how much of the scale one judge uses: `stage_entropy` in [0, 1], `stages_in_use`.

    The entropy of the mean over items of the pignistic distribution, in units of log2 S, and 2^H.
    Few items show too little of it: it is corrected by the jackknife over items (Zahl 1977, Ecology
    58), whose standard error gives a t interval. Needs two items.
    """
    names = (("stage_entropy", "share of the scale's bits"), ("stages_in_use", "stages"))
    sizes = verdicts.sizes()[0]
    items = np.flatnonzero(sizes)
    if len(items) < 2:
        because = f"it needs two items with a verdict, and {there_are(len(items))}"
        return [
            not_estimable(name, because, n=len(verdicts), n_items=len(items), unit=unit)
            for name, unit in names
        ]
    used = pignistic(verdicts)[0][0, items]
    weights = jackknife_weights(len(items))
    left_out = entropy(weights @ used / weights.sum(axis=1, keepdims=True))
    whole = float(entropy(used.mean(axis=0)))
    blocks, highest = len(weights), float(np.log2(verdicts.n_stages))
    corrected = min(highest, blocks * whole - (blocks - 1) * float(left_out.mean()))
    interval = jackknife_interval(corrected, left_out)
    method = "entropy of the mean distribution, jackknife over items for bias and interval"
    absent = "every item gave the same distribution"
    bits, effective = (
        Estimate(name, value, None, None, len(verdicts), len(items), method=method, unit=unit)
        for (name, unit), value in zip(names, (corrected / highest, 2**corrected), strict=True)
    )
    if interval is None:
        return [with_interval(one, None, absent=absent) for one in (bits, effective)]
    lower, upper = (float(np.clip(end, 0, highest)) for end in interval)
    return [
        with_interval(bits, (lower / highest, upper / highest)),
        with_interval(effective, (2**lower, 2**upper)),
    ]


def jitter(verdicts: Verdicts) -> Estimate:
    """Return the expected distance of two replicates of a cell, in stages of [0, S - 1].

    The mean over pairs of |difference of the mean stage of their sets|, then over items; t interval
    over items. Needs a cell with two verdicts.
    """
    cells = jitter_cells(verdicts)
    per_item, items = item_means(cells.value, cells.present)
    if not len(per_item):
        because = "no item has two scored replicates"
        return not_estimable("jitter", because, n=len(verdicts), unit="stages")
    return mean_over_items(
        "jitter",
        per_item,
        n=cells.n.sum(axis=0)[items],
        unit="stages",
        bounds=(0.0, float(verdicts.n_stages - 1)),
        items=items,
    )


def jitter_cells(verdicts: Verdicts) -> CellMeans:
    """Return the mean distance of two replicates of each cell with two verdicts, in stages."""
    value = scores(verdicts) * (verdicts.n_stages - 1)
    order = np.lexsort((value, verdicts.cell))
    cell, ordered = verdicts.cell[order], value[order]
    sizes = verdicts.sizes().ravel()
    first = np.concatenate([[0], np.cumsum(sizes)])[cell]
    # Of ascending values the sum over pairs of differences is Σ (2·rank + 1 - n)·value.
    rank = np.arange(len(cell)) - first
    sums = np.bincount(cell, (2 * rank + 1 - sizes[cell]) * ordered, len(sizes))
    pairs = sizes * (sizes - 1) / 2
    shape = (verdicts.n_judges, verdicts.n_items)
    return CellMeans(
        (sums / np.maximum(pairs, 1)).reshape(shape), np.where(pairs > 0, sizes, 0).reshape(shape)
    )
