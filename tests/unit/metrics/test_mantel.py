"""Mantel's test: by hand, against every order written out, and what it does not hang on."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import pearsonr

from judge_gym.metrics.mantel import mantel


def table(size, values):
    """Return a symmetric table from the distances of its pairs, in order."""
    result = np.zeros((size, size))
    for (i, j), value in zip(combinations(range(size), 2), values, strict=True):
        result[i, j] = result[j, i] = value
    return result


def found(first, second, seed=0):
    rng = np.random.default_rng(seed)
    return mantel("m", first, second, rng, n=9, n_items=3, units="judges")


def by_hand(first, second):
    """Return r and the share of all orders of one table with an r as high, by scipy."""
    pairs = np.triu_indices(len(first), k=1)
    observed = pearsonr(first[pairs], second[pairs])[0]
    orders = [list(order) for order in permutations(range(len(first)))]
    values = [pearsonr(first[pairs], second[np.ix_(o, o)][pairs])[0] for o in orders]
    return observed, np.mean(np.array(values) >= observed - 1e-12)


def test_four_judges_by_hand():
    # x: 1 2 3 1 2 1, y the same but for one pair; of 24 orders the identity and the turned one fit.
    first, second = table(4, [1, 2, 3, 1, 2, 1]), table(4, [1, 2, 4, 1, 2, 1])
    estimate = found(first, second)
    # Deviations: x (-2/3, 1/3, 4/3, -2/3, 1/3, -2/3), y less 11/6; r = 4.667/√(3.333 · 6.833).
    assert estimate.estimate == pytest.approx(4.66667 / (3.33333 * 6.83333) ** 0.5, abs=1e-5)
    assert estimate.p == pytest.approx(2 / 24)
    assert (estimate.lower, estimate.n_items) == (None, 3)


@pytest.mark.parametrize("size", [4, 5, 6])
def test_every_order_is_tried_of_few_judges(size):
    rng = np.random.default_rng(size)
    n = size * (size - 1) // 2
    first, second = table(size, rng.random(n)), table(size, rng.random(n))
    r, p = by_hand(first, second)
    estimate = found(first, second)
    assert estimate.estimate == pytest.approx(r)
    assert estimate.p == pytest.approx(p)


def test_of_many_judges_orders_are_drawn_and_a_seed_repeats_them():
    rng = np.random.default_rng(7)
    places = rng.random((9, 2))
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    noisy = apart + table(9, rng.normal(0, 0.05, 36))
    estimate = found(apart, noisy)
    assert estimate.p == found(apart, noisy).p == pytest.approx(1 / 10_000)
    # An order of the judges in both tables changes nothing but the draws.
    order = rng.permutation(9)
    turned = found(apart[np.ix_(order, order)], noisy[np.ix_(order, order)])
    assert turned.estimate == pytest.approx(estimate.estimate)


def test_unrelated_tables_are_seldom_found():
    rng = np.random.default_rng(3)
    p = [found(table(6, rng.random(15)), table(6, rng.random(15))).p for _ in range(200)]
    assert np.mean(np.array(p) <= 0.05) <= 0.09


def test_tables_that_say_nothing_are_not_estimable():
    assert "needs 4 judges" in found(table(3, [1, 2, 3]), table(3, [1, 2, 3])).because
    assert "do not vary" in found(table(4, [1] * 6), table(4, range(6))).because
