"""Divergences: bounds, symmetry, and values by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.metrics.polarization import (
    entropy,
    generalised_jensen_shannon,
    jensen_shannon,
    pairwise_mean,
    wasserstein,
)


def distributions(size=4):
    counts = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    return counts.map(lambda c: np.array(c) / sum(c))


KERNELS = pytest.mark.parametrize("kernel", [jensen_shannon, wasserstein])


@KERNELS
@given(p=distributions(), q=distributions())
@settings(max_examples=60)
def test_bounded_symmetric_and_zero_only_for_equals(kernel, p, q):
    value = float(kernel(p, q))
    assert 0 <= value <= 1
    assert value == pytest.approx(float(kernel(q, p)), abs=1e-12)
    assert float(kernel(p, p)) == pytest.approx(0, abs=1e-12)
    if np.abs(p - q).max() > 1e-6:
        assert value > 0


@given(distributions(), distributions())
@settings(max_examples=40)
def test_the_generalised_form_of_two_is_the_pairwise_one(p, q):
    both = np.stack([p, q])
    assert float(generalised_jensen_shannon(both)) == pytest.approx(float(jensen_shannon(p, q)))
    assert float(pairwise_mean(jensen_shannon, both)) == float(jensen_shannon(p, q))


def test_values_by_hand():
    certain, even = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    # mixture (3/4, 1/4): H = 0.811278; half of H(even) = 0.5
    assert jensen_shannon(certain, even) == pytest.approx(0.311278, abs=1e-6)
    assert entropy(even) == 1
    # CDFs (1) and (1/2): distance 1/2 of one step
    assert wasserstein(certain, even) == 0.5


def test_order_matters_only_to_the_ordinal_divergence():
    points = np.eye(4)
    assert jensen_shannon(points[0], points[1]) == jensen_shannon(points[0], points[3]) == 1
    assert wasserstein(points[0], points[1]) == pytest.approx(1 / 3)
    assert wasserstein(points[0], points[3]) == pytest.approx(1)


def test_disjoint_judges_reach_the_upper_bound():
    three = np.eye(3)
    assert generalised_jensen_shannon(three) == pytest.approx(1)
    assert pairwise_mean(jensen_shannon, three) == 1
    # two of three agree: pairs 0, 1, 1
    assert pairwise_mean(jensen_shannon, three[[0, 0, 1]]) == pytest.approx(2 / 3)
