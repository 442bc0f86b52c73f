"""How stable the shape of verdicts is: how far it is apart between judges and wordings."""

from itertools import combinations

import numpy as np

from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import (
    UNIT_INTERVAL,
    Estimate,
    jackknife_interval,
    not_estimable,
    with_interval,
)


def shape_spread(metric: str, cells: FloatArray) -> Estimate:
    """Return the mean distance of two cells' shapes, in [0, 1]; 0 where all have the same.

    `cells` are cells x figures x items, values in [0, 1], NaN where an item has none: a cell is one
    judge under one wording. The distance is |difference of the means over items|, averaged over
    figures that both cells have; interval by the jackknife over items. Needs two cells.
    """
    n_items = int(np.isfinite(cells).any(axis=(0, 1)).sum())
    n = int(np.isfinite(cells).sum())
    if len(cells) < 2:
        because = "it needs two judges or wordings in a setting that every concept has"
        return not_estimable(metric, because, n=n, n_items=n_items, unit="share")
    value = _spread(cells)
    if value is None:
        return not_estimable(metric, "no two cells have a figure in common", n=n, unit="share")
    kept = np.flatnonzero(np.isfinite(cells).any(axis=(0, 1)))
    left_out = [_spread(cells[:, :, kept[kept != item]]) for item in kept]
    method = "mean |difference| between judges and wordings, jackknife over items"
    whole = Estimate(metric, value, None, None, n, n_items, method=method, unit="share")
    known = np.array([one for one in left_out if one is not None])
    interval = jackknife_interval(value, known) if len(known) == len(kept) > 1 else None
    return with_interval(whole, interval, UNIT_INTERVAL)


def _spread(cells: FloatArray) -> float | None:
    present = np.isfinite(cells)
    counts = present.sum(axis=2)
    means = np.where(present, cells, 0.0).sum(axis=2) / np.maximum(counts, 1)
    apart = [
        np.abs(means[a] - means[b])[(counts[a] > 0) & (counts[b] > 0)]
        for a, b in combinations(range(len(cells)), 2)
    ]
    distances = np.concatenate(apart)
    return float(distances.mean()) if len(distances) else None
