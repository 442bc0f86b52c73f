"""Permutations, sign flips and corrections, against enumeration by hand."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.inference import (
    benjamini_hochberg,
    holm,
    holm_over,
    permutation_p,
    sign_flip_p,
)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1, 1, 1, 1], 2 / 16),  # only all + and all - reach |sum| = 4
        ([1, -1], 1.0),  # the sum is 0, which every flip reaches
        ([2, 1, 1, 0], 2 / 8),  # the zero changes nothing: three differences that moved
        ([3, -1], 1.0),  # |sums| 4, 2, 2, 4: all reach 2
        ([0, 0], 1.0),
        ([1.5], 1.0),
    ],
)
def test_sign_flips_enumerate(differences, p, rng):
    assert sign_flip_p(np.array(differences, dtype=float), rng) == p


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1, 1, 1, 1], 1 / 16),  # one of 16 sums reaches 4
        ([-1, -1, -1, -1], 1.0),  # the wrong direction never passes
        ([3, -1], 2 / 4),  # sums 4, 2, -2, -4: two reach 2
        ([0, 0], 1.0),
    ],
)
def test_one_sided_sign_flips(differences, p, rng):
    assert sign_flip_p(np.array(differences, dtype=float), rng, above=True) == p


@pytest.mark.parametrize(
    ("up", "down", "p"),
    [
        # 2 · (sum of C(22, k) for k = 0..6) / 2^22 = 2 · 110056 / 4194304
        (16, 6, 2 * 110056 / 2**22),
        (6, 16, 2 * 110056 / 2**22),
        (60, 20, 2 * sum(comb(80, k) for k in range(21)) / 2**80),
        (15, 6, 2 * 82160 / 2**21),
        (11, 11, 1.0),
        (60, 0, 2 / 2**60),
    ],
)
def test_mcnemar_is_the_exact_binomial_whatever_the_number(up, down, p, rng):
    for size in (1.0, 0.1, 0.5):
        differences = np.repeat([size, -size, 0.0], [up, down, 5])
        assert sign_flip_p(differences, rng) == pytest.approx(p, rel=1e-12)


def test_the_binomial_p_of_sixteen_against_six_and_sixty_against_twenty(rng):
    assert sign_flip_p(np.repeat([1.0, -1.0], [16, 6]), rng) == pytest.approx(0.0525, abs=5e-5)
    assert sign_flip_p(np.repeat([1.0, -1.0], [60, 20]), rng) == pytest.approx(8.6e-6, abs=5e-8)


def test_one_sided_mcnemar(rng):
    # half of the two-sided value above: 82160 / 2097152
    differences = np.array([1.0] * 15 + [-1.0] * 6)
    assert sign_flip_p(differences, rng, above=True) == pytest.approx(82160 / 2**21, rel=1e-12)
    # 1 - P(at most 5 of 21), C(21, 0..5) summing to 27896
    turned = sign_flip_p(-differences, rng, above=True)
    assert turned == pytest.approx(1 - 27896 / 2**21, rel=1e-12)


def test_many_sign_flips_are_drawn(rng):
    # 15 of +1, 6 of -1 and one of -0.001: the sum of 8.999 is reached by 15 or more up of 21
    # whatever the last, as 9 - 0.001 is. 9,999 draws have a standard error of 0.0027.
    differences = np.array([1.0] * 15 + [-1.0] * 6 + [-1e-3])
    assert sign_flip_p(differences, rng) == pytest.approx(82160 / 2**20, abs=0.011)
    assert sign_flip_p(differences, rng, above=True) == pytest.approx(82160 / 2**21, abs=0.008)


def test_drawn_p_is_never_zero(rng):
    assert sign_flip_p(np.append(np.full(60, 0.1), 0.2), rng) == 1 / 10_000


def test_permutation_p_counts_the_observed_and_ties():
    assert permutation_p(1.0, np.zeros(99)) == 0.01
    assert permutation_p(0.5, np.array([0.5, 0.5 - 1e-15, 0.4])) == 0.75


def test_holm_and_benjamini_hochberg_by_hand():
    p = [0.04, 0.01, 0.03]
    # Holm ascending: 3*.01 = .03, 2*.03 = .06, then 1*.04 raised to .06
    assert holm(p) == pytest.approx([0.06, 0.03, 0.06])
    # BH ascending: 3/1*.01 = .03, 3/2*.03 = .045 lowered to .04, 3/3*.04 = .04
    assert benjamini_hochberg(p) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == benjamini_hochberg([]) == []


def holm_by_definition(p):
    """The largest of (m - r + 1)·p over the ranks r up to one's own, at most 1."""
    m, ascending = len(p), sorted(p)
    return [min(1.0, max((m - r) * q for r, q in enumerate(ascending) if q <= own)) for own in p]


def benjamini_hochberg_by_definition(p):
    """The smallest of m·p / r over the ranks r from one's own, at most 1."""
    m, ascending = len(p), sorted(p)
    return [
        min(1.0, min(m * q / (r + 1) for r, q in enumerate(ascending) if q >= own)) for own in p
    ]


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), max_size=12))
@settings(max_examples=200)
def test_corrections_follow_their_definitions_with_ties_and_at_the_ends(p):
    assert holm(p) == pytest.approx(holm_by_definition(p), rel=1e-12, abs=1e-300)
    assert benjamini_hochberg(p) == pytest.approx(
        benjamini_hochberg_by_definition(p), rel=1e-12, abs=1e-300
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=50)
def test_corrections_only_raise_p_and_holm_the_most(p):
    strict, mild = holm(p), benjamini_hochberg(p)
    for raw, family_wise, discovery in zip(p, strict, mild, strict=True):
        assert raw - 1e-12 <= discovery <= family_wise + 1e-12 <= 1 + 1e-9


def test_holm_over_skips_what_was_not_tested():
    tested = [Estimate("effect", 0.1, None, None, 2, 2, p=p, method="t") for p in (0.01, 0.03)]
    missing = not_estimable("effect", "there is one item")
    first, absent, second = holm_over([tested[0], missing, tested[1]])
    assert (first.p, second.p) == pytest.approx((0.02, 0.03))
    assert first.method == "t; Holm over 2"
    assert absent == missing
