"""Specification curves: one claim about judges, estimated in every defensible cell of a design.

A cell is one combination of design choices. Its estimate is reported with all others, and three
figures of the whole curve (the median, the share of one sign, the share significant) are tested
against a null in which judges are exchangeable within an item. The exchange of an item is the same
in every cell, so that the dependence between cells is kept: a judge that reads an item high does so
in each of them. Source: Simonsohn, Simmons and Nelson 2020, Nature Human Behaviour 4.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, Verdicts, pignistic
from judge_gym.metrics.estimate import (
    EPSILON,
    SIGNED_UNIT,
    Estimate,
    mean_over_items,
    not_estimable,
    studentised_interval,
    t_quantile,
    with_interval,
)
from judge_gym.metrics.inference import permutation_p, random_signs

FLIPS = 4999
"""Random exchanges of two judges' labels behind the joint tests of differences."""
DEALS = 299
"""Random deals of samples to judges behind the joint tests of polarization."""
FEWEST_CELLS = 2
_LEVEL = 0.05


@dataclass(frozen=True)
class Curve:
    """A claim over its cells; `cells` are in the order given.

    All are of the cells that have an estimate, with or without an interval. `median` is of their
    estimates. `same_sign` is the share of cells on the side that most are on, `significant` the
    share significant on the side with more of those, and `against` the share significant on the
    other side of the median. A cell of exactly 0 is on neither side. The floor of a share is its
    mean under the null, its p tests it.
    """

    cells: tuple[Estimate, ...]
    median: Estimate
    same_sign: Estimate
    significant: Estimate
    against: Estimate


@dataclass(frozen=True, eq=False)
class _Draws:
    """Estimates (draws x cells), and which are significant: +1 above 0, -1 below, 0 neither."""

    estimate: FloatArray
    sign: FloatArray


def difference_curve(
    differences: FloatArray,
    samples: Sequence[int],
    rng: np.random.Generator,
    *,
    unit: str,
) -> Curve:
    """Return the curve of the mean differences of two judges.

    `differences` is items x cells, first judge less second, NaN where a cell lacks the item;
    `samples` counts the samples of each cell. A cell: mean over its items, t interval; significant
    when that excludes 0. Null: the labels of the two judges are exchanged within an item or not,
    at random, in all cells alike; this is exact where the judges are exchangeable. Where their
    differences are skewed around 0 they are not, and p rejects more often than its level. Interval
    of the median: bootstrap t, items resampled in all cells together. A cell without an interval
    counts, and is not significant. Needs two cells with an interval.
    """
    cells = tuple(
        mean_over_items(
            "specification", column[np.isfinite(column)], n=n, unit=unit, bounds=SIGNED_UNIT
        )
        for column, n in zip(differences.T, samples, strict=True)
    )
    bounded = sum(cell.lower is not None for cell in cells)
    if bounded < FEWEST_CELLS:
        return _missing(cells, f"{bounded} of {len(cells)} cells have an interval", unit)
    kept = differences[:, [cell.estimate is not None for cell in cells]]
    signs = random_signs((FLIPS, len(kept)), rng)
    observed = _flipped(kept, np.ones((1, len(kept))))
    null = _flipped(kept, signs)
    median = _median_over_items(kept, cells, rng, unit, SIGNED_UNIT)
    return _curve(cells, median, observed, null, two_sided=True)


def _flipped(differences: FloatArray, signs: FloatArray) -> _Draws:
    """Return the cells' means under these signs of the items (draws x items).

    Squares do not change with the signs, so that each draw's t statistic needs its mean only.
    """
    present = np.isfinite(differences)
    filled = np.where(present, differences, 0.0)
    n = present.sum(axis=0)
    mean = signs @ filled / n
    variance = ((filled**2).sum(axis=0) - n * mean**2) / np.maximum(n - 1, 1)
    critical = np.array([t_quantile(max(int(size) - 1, 1)) for size in n])
    varies = variance > EPSILON  # never of one item
    half = critical * np.sqrt(np.where(varies, variance, np.inf) / n)
    return _Draws(mean, np.sign(mean) * (np.abs(mean) > half))


def _median_over_items(
    differences: FloatArray,
    cells: Sequence[Estimate],
    rng: np.random.Generator,
    unit: str,
    bounds: tuple[float, float],
) -> Estimate:
    present = np.isfinite(differences)
    filled, counted = np.where(present, differences, 0.0), present.astype(np.float64)
    rows = present.any(axis=1)
    filled, counted = filled[rows], counted[rows]

    def median(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the medians, and their errors from the cells that each is the mean of."""
        size = weights @ counted
        means = np.where(size > 0, weights @ filled / np.maximum(size, 1), np.nan)
        order, usable = np.argsort(means, axis=1), np.isfinite(means).sum(axis=1)
        value, influence = np.zeros(len(means)), np.zeros(weights.shape)
        draws = np.arange(len(means))
        for middle in ((usable - 1) // 2, usable // 2):
            cell = order[draws, middle]
            mean = means[draws, cell][:, None]
            value = value + mean[:, 0] / 2
            share = counted[:, cell].T / size[draws, cell][:, None]
            influence = influence + share * (filled[:, cell].T - mean) / 2
        items = (weights > 0).sum(axis=1)
        variance = (weights * influence**2).sum(axis=1) * len(filled) / (len(filled) - 1)
        return value, np.where(items > 1, np.sqrt(variance), np.nan)

    value = float(median(np.ones((1, len(filled))))[0][0])
    estimate = Estimate(
        "specification_median", value, None, None, sum(cell.n for cell in cells), len(filled),
        method="median of the cells; bootstrap t, items resampled in all cells together", unit=unit,
    )  # fmt: skip
    return with_interval(estimate, studentised_interval(median, len(filled), rng), bounds)


@dataclass(frozen=True, eq=False)
class DealtCell:
    """Samples of one cell that are dealt anew: every item has a sample of every judge.

    `replicate` numbers the samples of a judge on an item from 0. `observed` is the cell's estimate
    of the excess over its floor, and its test.
    """

    verdicts: Verdicts
    replicate: IntArray
    observed: Estimate


def excess_curve(
    cells: Sequence[DealtCell],
    statistic: Callable[[NDArray[np.float64]], FloatArray],
    rng: np.random.Generator,
) -> Curve:
    """Return the curve of polarization above its floor.

    `statistic` maps pignistic distributions (items, judges, stages) to one value per item. Null:
    the samples of an item are dealt to the judges at random. Samples are ordered by a random key
    of their judge and replicate, which is the same in all cells. A cell is significant when at
    most 5% of the deals reach it; the test looks above the floor only. Items are numbered alike
    in all cells. No interval of the median: the excess of a cell has its own.
    """
    estimates = tuple(cell.observed for cell in cells)
    usable = [cell for cell in cells if cell.observed.estimate is not None]
    unit = estimates[0].unit if estimates else "bits"
    if len(usable) < FEWEST_CELLS:
        return _missing(estimates, f"{len(usable)} of {len(cells)} cells have an estimate", unit)
    shape = (
        max(cell.verdicts.n_items for cell in usable),
        max(cell.verdicts.n_judges for cell in usable),
        1 + max(int(cell.replicate.max()) for cell in usable),
    )
    dealt = np.empty((DEALS, len(usable)))
    for draw in range(DEALS):
        keys = rng.random(shape)
        for place, cell in enumerate(usable):
            dealt[draw, place] = statistic(_dealt(cell, keys)).mean()
    first = np.array([statistic(_distributions(cell.verdicts)).mean() for cell in usable])
    every = np.vstack([first, dealt])
    # The rank of each value among all, the observed one too: so every row is treated alike.
    reach = (every[None, :, :] >= every[:, None, :] - EPSILON).mean(axis=1)
    excess = every - dealt.mean(axis=0)
    sign = (reach <= _LEVEL).astype(np.float64)
    observed, null = _Draws(excess[:1], sign[:1]), _Draws(excess[1:], sign[1:])
    values = [cell.observed.estimate or 0.0 for cell in usable]
    median = Estimate(
        "specification_median", float(np.median(values)), None, None,
        sum(cell.observed.n for cell in usable), max(cell.observed.n_items for cell in usable),
        method="median of the cells", unit=unit,
        because="the excess of polarization is tested by permutation, cell by cell and jointly",
    )  # fmt: skip
    return _curve(estimates, median, observed, null, two_sided=False)


def _distributions(verdicts: Verdicts) -> FloatArray:
    p, present = pignistic(verdicts)
    items: BoolArray = np.asarray(present.all(axis=0))
    return np.asarray(p[:, items].swapaxes(0, 1))


def _dealt(cell: DealtCell, keys: FloatArray) -> FloatArray:
    """Return the distributions after the samples of each item are dealt by these keys."""
    verdicts = cell.verdicts
    key = keys[verdicts.item, verdicts.judge, cell.replicate]
    places, order = np.lexsort((verdicts.judge, verdicts.item)), np.lexsort((key, verdicts.item))
    stages = np.empty_like(verdicts.stages)
    stages[places] = verdicts.stages[order]
    return _distributions(replace(verdicts, stages=stages))


def _curve(
    cells: tuple[Estimate, ...],
    median: Estimate,
    observed: _Draws,
    null: _Draws,
    *,
    two_sided: bool,
) -> Curve:
    names = "permuted alike in all cells"
    middle = _middle(observed, two_sided=two_sided)
    p = permutation_p(float(middle[0]), _middle(null, two_sided=two_sided))
    side = float(np.sign(np.median(observed.estimate))) or 1.0

    def share(metric: str, of: Callable[[_Draws], FloatArray], how: str, tested: bool) -> Estimate:
        value, expected = float(of(observed)[0]), of(null)
        return Estimate(
            metric, value, None, None, observed.estimate.shape[1], median.n_items,
            floor=float(expected.mean()) if tested else None,
            p=permutation_p(value, expected) if tested else None,
            method=f"{how}{f'; floor and p: labels {names}' if tested else ''}", unit="share",
            because="the cells are all there are; p tests the share",
        )  # fmt: skip

    return Curve(
        cells,
        replace(median, p=p, method=f"{median.method}; p: judges' labels {names}"),
        share("specification_same_sign", _same_sign, "share of cells of one sign", tested=True),
        share(
            "specification_significant",
            _significant,
            "share of cells significant on one side",
            tested=True,
        ),
        share(
            "specification_against",
            lambda draws: np.asarray((draws.sign * side < 0).mean(axis=1)),
            "share of cells significant on the other side of the median",
            tested=False,
        ),
    )


def _middle(draws: _Draws, *, two_sided: bool) -> FloatArray:
    median = np.median(draws.estimate, axis=1)
    return np.asarray(np.abs(median) if two_sided else median)


def _same_sign(draws: _Draws) -> FloatArray:
    above, below = ((side * draws.estimate > EPSILON).mean(axis=1) for side in (1, -1))
    return np.asarray(np.maximum(above, below))


def _significant(draws: _Draws) -> FloatArray:
    above, below = ((side * draws.sign > 0).mean(axis=1) for side in (1, -1))
    return np.asarray(np.maximum(above, below))


def _missing(cells: tuple[Estimate, ...], because: str, unit: str) -> Curve:
    found = f"a curve needs {FEWEST_CELLS} cells; {because}"
    items = max((cell.n_items for cell in cells), default=0)
    return Curve(
        cells,
        *(
            not_estimable(metric, found, n=len(cells), n_items=items, unit=unit_of)
            for metric, unit_of in (
                ("specification_median", unit),
                ("specification_same_sign", "share"),
                ("specification_significant", "share"),
                ("specification_against", "share"),
            )
        ),
    )
