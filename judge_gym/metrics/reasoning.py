"""What critics say of the reasoning behind verdicts, and what figures are without what fails.

Marks are for sensitivity analysis: figures whose names do not end in `_passing` or `_shift` are of
all samples.
"""

from dataclasses import replace

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, Verdicts, mean_scores
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import (
    SIGNED_UNIT,
    UNIT_INTERVAL,
    Estimate,
    mean_over_items,
)
from judge_gym.metrics.polarization import Divergence, measure_polarization

OBSERVABLE, CONSISTENT, USES_EVIDENCE = 1, 2, 4
"""Bits of a sample's marks."""
PASSES = OBSERVABLE | CONSISTENT | USES_EVIDENCE
UNMARKED, NO_REASONING, NOT_ASKED = -1, -2, -3
"""In the place of marks: the critic gave none, there was nothing to mark, nobody was asked."""

SUBSETS = 20
"""Random subsets whose mean a polarization of passing samples is compared with."""
FLOOR_PERMUTATIONS = 200
_NOBODY = "no critic was asked about these samples"


def mark_shares(item: IntArray, marks: IntArray, n_items: int) -> list[Estimate]:
    """Return how one judge's reasoning was marked, as shares in [0, 1].

    `marks` holds the bits of each sample, or why there are none. Passing reasoning, and each mark,
    are shares of marked samples; `reasoning_absent` and `reasoning_unmarked` (the critic refused,
    failed or could not be read) are shares of the samples that were looked at. Interval: Wilson
    clustered by item. Needs one sample.
    """

    def counts(chosen: BoolArray) -> IntArray:
        return np.bincount(item[chosen], minlength=n_items)

    asked, marked = counts(marks != NOT_ASKED), counts(marks >= 0)
    shares = [
        clustered_share("reasoning_passes", counts(marks == PASSES), marked),
        *(
            clustered_share(f"reasoning_{name}", counts((marks >= 0) & (marks & bit > 0)), marked)
            for name, bit in (
                ("observable", OBSERVABLE),
                ("consistent", CONSISTENT),
                ("uses_evidence", USES_EVIDENCE),
            )
        ),
        clustered_share("reasoning_absent", counts(marks == NO_REASONING), asked),
        clustered_share("reasoning_unmarked", counts(marks == UNMARKED), asked),
    ]
    because = "no reasoning was marked" if asked.any() else _NOBODY
    return [replace(one, because=because) if one.estimate is None else one for one in shares]


def score_shift(verdicts: Verdicts, passes: BoolArray) -> list[Estimate]:
    """Return one judge's mean score on the passing samples, and that minus its mean on all.

    Both on the items with a passing sample, as item means on the 0-1 scale; t interval over items,
    of the shift over the paired differences. Needs one such item.
    """
    kept = verdicts.rows(passes)
    some = kept.sizes()[0] > 0
    passing = mean_scores(kept).value[0, some]
    everything = mean_scores(verdicts).value[0, some]
    n, unit = len(kept), "0-1 scale"
    return [
        mean_over_items("score_mean_passing", passing, n=n, unit=unit, bounds=UNIT_INTERVAL),
        mean_over_items(
            "score_mean_shift", passing - everything, n=n, unit=unit, bounds=SIGNED_UNIT
        ),
    ]


def polarization_shift(
    verdicts: Verdicts,
    passes: BoolArray,
    rng: np.random.Generator,
    *,
    family: IntArray | None = None,
) -> list[Estimate]:
    """Return P - P0 of the passing samples, and how far it is above that of random subsets.

    P - P0 falls with the number of replicates, so the comparison is with `SUBSETS` random subsets
    of all samples, each with as many samples in every cell. The shift is the mean over items of
    the paired difference, in bits, with a t interval. Needs what `measure_polarization` needs, of
    the passing samples.
    """
    metrics = ("polarization_excess_passing", "polarization_excess_shift")
    kept = verdicts.rows(passes)
    kept = kept.rows(kept.common_items()[kept.item])
    found = measure_polarization(kept, rng, family=family)
    if found.excess.estimate is None:
        return [replace(found.excess, metric=metric) for metric in metrics]
    matched = np.mean(
        [_matched_excess(verdicts, kept, rng, family) for _ in range(SUBSETS)], axis=0
    )
    shift = found.per_item - found.per_item_floor - matched
    unit = Divergence.JENSEN_SHANNON.unit
    return [
        replace(found.excess, metric=metrics[0]),
        replace(
            mean_over_items(metrics[1], shift, n=len(kept), unit=unit, bounds=SIGNED_UNIT),
            method=f"mean over items of the difference from {SUBSETS} random subsets of the same "
            "size, t interval",
        ),
    ]


def _matched_excess(
    verdicts: Verdicts, kept: Verdicts, rng: np.random.Generator, family: IntArray | None
) -> FloatArray:
    """Return P - P0 by item of a random subset with the cell sizes of `kept`."""
    order = np.lexsort((rng.random(len(verdicts)), verdicts.cell))
    cell = verdicts.cell[order]
    rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
    subset = verdicts.rows(order[rank < kept.sizes().ravel()[cell]])
    found = measure_polarization(subset, rng, family=family, permutations=FLOOR_PERMUTATIONS)
    return found.per_item - found.per_item_floor
