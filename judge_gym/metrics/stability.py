"""How stable the shape of verdicts is: how far it is apart between judges and wordings."""

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
    kept = np.isfinite(cells).any(axis=(0, 1))
    weights = np.vstack([np.ones(n_items), 1 - np.eye(n_items)])
    value, *left_out = _spreads(cells[:, :, kept], weights)
    if not np.isfinite(value):
        return not_estimable(metric, "no two cells have a figure in common", n=n, unit="share")
    method = "mean |difference| between judges and wordings, jackknife over items"
    whole = Estimate(metric, float(value), None, None, n, n_items, method=method, unit="share")
    interval = jackknife_interval(float(value), np.array(left_out)) if n_items > 1 else None
    return with_interval(whole, interval, UNIT_INTERVAL)


def _spreads(cells: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mean distance of two cells under each row of item weights; NaN without any."""
    present = np.isfinite(cells)
    counts = np.einsum("cfi,ri->rfc", present.astype(np.float64), weights)
    sums = np.einsum("cfi,ri->rfc", np.where(present, cells, 0.0), weights)
    # Of k ascending values the sum over pairs of differences is Σ (2·rank + 1 - k)·value.
    known = (counts > 0).sum(axis=2, keepdims=True)
    means = np.sort(np.where(counts > 0, sums / np.maximum(counts, 1), np.inf), axis=2)
    rank = np.arange(means.shape[2])
    distances = np.where(rank < known, (2 * rank + 1 - known) * np.minimum(means, 1), 0.0)
    pairs = (known * (known - 1) / 2).sum(axis=(1, 2))
    total = distances.sum(axis=(1, 2))
    return np.asarray(np.divide(total, pairs, where=pairs > 0, out=np.full(len(weights), np.nan)))
