"""Measures of one mass function, and between two: by hand, and properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.metrics.masses import (
    Masses,
    belief,
    betp,
    conflict,
    gap,
    plausibility,
    singletons,
)
from support.belief_measures import discount, jousselme, nonspecificity, weight_of_conflict

SIZE = 4
QUICK = settings(max_examples=50)
SUBSETS = np.arange(1, 1 << SIZE)


def masses(table, n_stages=SIZE):
    """One mass function from {bitmask: mass}."""
    return Masses(np.array(list(table)), np.array([list(table.values())], dtype=float), n_stages)


@st.composite
def any_masses(draw):
    sets = draw(st.lists(st.integers(1, (1 << SIZE) - 1), min_size=1, max_size=6, unique=True))
    parts = np.array([draw(st.integers(1, 20)) for _ in sets], dtype=float)
    return Masses(np.array(sets), (parts / parts.sum())[None], SIZE)


def relabelled(one, order):
    """The same masses with stage s renamed to order[s]."""
    bits = (one.sets[:, None] >> np.arange(SIZE)) & 1
    return Masses((bits << np.array(order)).sum(axis=1), one.mass, SIZE)


def test_measures_by_hand():
    # m({1}) = 1/2, m({1, 2}) = 1/4, m({2, 3, 4}) = 1/4
    one = masses({0b0001: 0.5, 0b0011: 0.25, 0b1110: 0.25})
    points = singletons(SIZE)
    assert belief(one, points)[0].tolist() == [0.5, 0, 0, 0]
    assert plausibility(one, points)[0].tolist() == [0.75, 0.5, 0.25, 0.25]
    assert betp(one)[0] == pytest.approx([5 / 8, 5 / 24, 1 / 12, 1 / 12])
    # (0.25 + 0.5 + 0.25 + 0.25) / 4
    assert gap(one)[0] == 0.3125
    assert nonspecificity(one)[0] == pytest.approx(0.25 + 0.25 * np.log2(3))


def test_conflict_by_hand():
    # {1} meets neither {2} nor {2, 3}; {1, 2} meets both
    first = masses({0b0001: 0.5, 0b0011: 0.5})
    second = masses({0b0010: 0.4, 0b0110: 0.6})
    assert conflict(first, second)[0] == 0.5
    assert weight_of_conflict(first, second)[0] == pytest.approx(np.log(2))
    assert weight_of_conflict(masses({1: 1}), masses({2: 1}))[0] == np.inf


def test_distance_grows_with_what_is_not_shared():
    # nested {1} and {1, 2}: Jaccard 1/2, so the square is (1 + 1)/2 - 1/2
    assert jousselme(masses({1: 1}), masses({3: 1}))[0] == pytest.approx(0.5**0.5)
    assert jousselme(masses({1: 1}), masses({2: 1}))[0] == 1


def test_discounting_leaves_ignorance():
    found = discount(masses({0b0001: 0.5, 0b1111: 0.5}), 0.6)
    assert found.sets.tolist() == [0b0001, 0b1111]
    assert found.mass[0] == pytest.approx([0.3, 0.7])
    with pytest.raises(ValueError, match="reliability"):
        discount(found, 1.2)


@pytest.mark.parametrize(
    ("sets", "mass"),
    [
        ([0, 1], [0.5, 0.5]),
        ([1, 16], [0.5, 0.5]),
        ([1, 1], [0.5, 0.5]),
        ([1, 2], [0.5, 0.6]),
        ([1, 2], [1.5, -0.5]),
        ([1, 2], [1.0]),
    ],
)
def test_what_is_no_mass_function_is_refused(sets, mass):
    with pytest.raises(ValueError, match=r"set|mass"):
        Masses(np.array(sets), np.array([mass]), SIZE)


def test_frames_of_different_size_do_not_compare():
    with pytest.raises(ValueError, match="frames of 4 and 5"):
        conflict(masses({1: 1}), masses({1: 1}, 5))


@given(any_masses())
@QUICK
def test_belief_is_below_the_bet_and_the_bet_below_plausibility(one):
    bet = betp(one) @ ((SUBSETS >> np.arange(SIZE)[:, None]) & 1)
    low, high = belief(one, SUBSETS), plausibility(one, SUBSETS)
    assert betp(one).sum() == pytest.approx(1)
    assert (low <= bet + 1e-12).all()
    assert (bet <= high + 1e-12).all()
    # Pl(H) = 1 - Bel(not H), Θ excepted, whose complement is empty
    assert high[0, :-1] == pytest.approx(1 - low[0, :-1][::-1])


@given(any_masses())
@QUICK
def test_the_gap_is_the_mean_over_stages(one):
    points = singletons(SIZE)
    each = plausibility(one, points) - belief(one, points)
    assert gap(one)[0] == pytest.approx(each.mean())


@given(any_masses(), any_masses(), st.permutations(range(SIZE)))
@QUICK
def test_names_of_stages_do_not_matter(first, second, order):
    for measure in (conflict, jousselme):
        assert measure(first, second) == pytest.approx(measure(second, first), abs=1e-7)
        renamed = measure(relabelled(first, order), relabelled(second, order))
        assert renamed == pytest.approx(measure(first, second), abs=1e-7)
    assert gap(relabelled(first, order)) == pytest.approx(gap(first))
    assert jousselme(first, first)[0] == pytest.approx(0, abs=1e-7)
