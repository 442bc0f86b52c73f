"""Whether two tables of distances between the same things go together."""

from itertools import permutations
from math import factorial

import numpy as np

from judge_gym.counting import there_are
from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.estimate import EPSILON, Estimate, not_estimable
from judge_gym.metrics.inference import permutation_p

FEWEST = 4
"""Things from which it is made: of 3 there are 6 orders, and no p below 1/6."""
EXACT_UP_TO = 7
"""Things whose orders (5,040) are all tried."""
PERMUTATIONS = 9999
_BLOCK = 500_000
"""Entries of permuted tables held at once: bounds memory. Results do not depend on it."""


def mantel(
    metric: str,
    first: FloatArray,
    second: FloatArray,
    rng: np.random.Generator,
    *,
    n: int,
    n_items: int,
    units: str,
) -> Estimate:
    """Return Pearson's r over pairs of two symmetric distance tables, with a p by permutation.

    In [-1, 1]. p is one-sided, of an r as high under random orders of the things in one table:
    exact up to 7 things (all orders, with the observed one), else 9,999 seeded orders. Pairs that
    share a thing are not independent, so that there is no interval. Needs 4 things, and distances
    that vary in both. Source: Mantel 1967, Cancer Research 27.
    """
    size = len(first)
    if size < FEWEST:
        because = f"it needs {FEWEST} {units}, and {there_are(size)}"
        return not_estimable(metric, because, n=n, n_items=n_items, unit="r")
    rows, columns = np.triu_indices(size, k=1)
    pairs = [table[rows, columns] - table[rows, columns].mean() for table in (first, second)]
    lengths = [float((pair**2).sum()) ** 0.5 for pair in pairs]
    if min(lengths) <= EPSILON:
        because = f"the distances between {units} do not vary"
        return not_estimable(metric, because, n=n, n_items=n_items, unit="r")
    observed = float(pairs[0] @ pairs[1]) / (lengths[0] * lengths[1])
    exact = size <= EXACT_UP_TO
    permuted = _permuted(pairs[0], second - second[rows, columns].mean(), _orders(size, rng))
    permuted /= lengths[0] * lengths[1]
    # All orders hold the observed one; a sample of them does not.
    p = (
        float((permuted >= observed - EPSILON).mean())
        if exact
        else permutation_p(observed, permuted)
    )
    tried = f"all {factorial(size):,}" if exact else f"{PERMUTATIONS:,}"
    return Estimate(
        metric,
        observed,
        None,
        None,
        n,
        n_items,
        p=p,
        method=f"Mantel's correlation over pairs of {units}; p by {tried} orders of one table",
        unit="r",
        because="pairs share what they are of: see p",
    )


def _orders(size: int, rng: np.random.Generator) -> IntArray:
    """Return orders of the things (orders, size)."""
    if size <= EXACT_UP_TO:
        return np.array(list(permutations(range(size))), dtype=np.int64)
    return np.asarray(rng.permuted(np.tile(np.arange(size), (PERMUTATIONS, 1)), axis=1))


def _permuted(pairs: FloatArray, table: FloatArray, orders: IntArray) -> FloatArray:
    """Return Σ pairs · table with its rows and columns in each order."""
    rows, columns = np.triu_indices(len(table), k=1)
    step = max(1, _BLOCK // len(pairs))
    return np.concatenate(
        [
            table[block[:, rows], block[:, columns]] @ pairs
            for block in (orders[start : start + step] for start in range(0, len(orders), step))
        ]
    )
