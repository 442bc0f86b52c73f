"""Rules of combination: by hand, total conflict, and the laws that each obeys."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.metrics.masses import (
    MAX_PRODUCTS,
    Masses,
    Rule,
    TooManyProductsError,
    conflict,
    dempster,
    dubois_prade,
    pcr6,
    yager,
)

SIZE = 3
QUICK = settings(max_examples=50)
VACUOUS = Masses(np.array([0b111]), np.ones((1, 1)), SIZE)


def masses(table):
    """One mass function from {bitmask: mass}."""
    return Masses(np.array(list(table)), np.array([list(table.values())], dtype=float), SIZE)


def as_table(combination, row=0):
    found = combination.masses
    pairs = zip(found.sets.tolist(), found.mass[row].tolist(), strict=True)
    return {chosen: mass for chosen, mass in pairs if mass}


@st.composite
def any_masses(draw):
    sets = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4, unique=True))
    parts = np.array([draw(st.integers(1, 9)) for _ in sets], dtype=float)
    return Masses(np.array(sets), (parts / parts.sum())[None], SIZE)


def test_rules_by_hand():
    # products: {1} .6*.3 = .18, {2} .4*.7 = .28; conflict .6*.7 + .4*.3 = .54
    sources = [masses({1: 0.6, 2: 0.4}), masses({1: 0.3, 2: 0.7})]
    assert as_table(dempster(sources)) == pytest.approx({1: 0.18 / 0.46, 2: 0.28 / 0.46})
    assert as_table(yager(sources)) == pytest.approx({1: 0.18, 2: 0.28, 7: 0.54})
    assert as_table(dubois_prade(sources)) == pytest.approx({1: 0.18, 2: 0.28, 3: 0.54})
    # .42 comes of .6 on {1} and .7 on {2}; .12 of .4 on {2} and .3 on {1}
    back = 0.42 * 6 / 13 + 0.12 * 3 / 7
    assert as_table(pcr6(sources)) == pytest.approx({1: 0.18 + back, 2: 0.82 - back})
    assert as_table(Rule.LINEAR_POOL.combine(sources)) == pytest.approx({1: 0.45, 2: 0.55})
    assert [rule.combine(sources).conflict[0] for rule in Rule] == pytest.approx([0.54] * len(Rule))


def test_total_conflict_of_three_is_stated():
    sources = [masses({1: 1}), masses({1: 1}), masses({2: 1})]
    found = dempster(sources)
    assert found.masses is None
    assert (found.conflict.tolist(), found.defined.tolist()) == ([1], [False])
    assert as_table(yager(sources)) == {7: 1}
    assert as_table(dubois_prade(sources)) == {3: 1}
    assert as_table(pcr6(sources)) == pytest.approx({1: 2 / 3, 2: 1 / 3})


def test_conflict_is_not_forgotten_by_a_further_source():
    # folding an empty mass into the next source would give k = 0 here
    for order in permutations([masses({1: 1}), masses({2: 1}), VACUOUS]):
        assert dempster(order).conflict[0] == 1
        assert dempster(order).masses is None


def test_rows_without_a_combination_are_left_out():
    first = Masses(np.array([1, 2]), np.array([[1.0, 0], [0.5, 0.5], [0, 1]]), SIZE)
    second = Masses(np.array([1]), np.ones((3, 1)), SIZE)
    found = dempster([first, second])
    assert found.defined.tolist() == [True, True, False]
    assert found.conflict.tolist() == [0, 0.5, 1]
    assert [as_table(found, row) for row in (0, 1)] == [{1: 1}, {1: 1}]


def test_near_total_conflict_keeps_its_digits():
    # Zadeh: m({2}) = 1 whatever 1 - k is
    small = 1e-9
    sources = [masses({1: 1 - small, 2: small}), masses({4: 1 - small, 2: small})]
    assert as_table(dempster(sources)) == {2: 1}


def test_a_rule_that_lists_products_says_when_there_are_too_many():
    wide = Masses(np.arange(1, 8), np.full((1, 7), 1 / 7), SIZE)
    sources = [wide] * 9
    assert MAX_PRODUCTS < 7**9
    for rule in (pcr6, dubois_prade):
        with pytest.raises(TooManyProductsError, match="40353607 products"):
            rule(sources)
    assert dempster(sources).defined.all()


def test_what_does_not_combine_is_refused():
    other = Masses(np.array([1]), np.ones((1, 1)), SIZE + 1)
    empty = Masses(np.array([1]), np.zeros((1, 1)), SIZE)
    for rule in Rule:
        for wrong in ([VACUOUS, other], [], [VACUOUS, empty]):
            with pytest.raises(ValueError, match="combine"):
                rule.combine(wrong)


@given(st.lists(any_masses(), min_size=1, max_size=3))
@QUICK
def test_every_rule_gives_masses_and_ignores_the_order(sources):
    for rule in Rule:
        found, other = rule.combine(sources), rule.combine(sources[::-1])
        assert found.conflict == pytest.approx(other.conflict)
        if found.defined.all():
            assert found.masses.mass.sum() == pytest.approx(1)
            assert as_table(found) == pytest.approx(as_table(other))


@given(any_masses(), any_masses(), any_masses())
@QUICK
def test_dempster_is_associative(first, second, third):
    inner = dempster([second, third])
    whole = dempster([first, second, third])
    if inner.masses is None:
        assert whole.masses is None
        return
    nested = dempster([first, inner.masses])
    assert nested.defined.tolist() == whole.defined.tolist()
    if whole.masses is not None:
        assert as_table(nested) == pytest.approx(as_table(whole))


@given(any_masses())
@QUICK
def test_the_vacuous_mass_changes_nothing(one):
    for rule in (dempster, yager, dubois_prade, pcr6):
        assert as_table(rule([one, VACUOUS])) == pytest.approx(as_table(dempster([one])))
        assert rule([VACUOUS, one]).conflict[0] == 0


@given(any_masses(), any_masses())
@QUICK
def test_two_sources_conflict_by_k(first, second):
    assert dempster([first, second]).conflict == pytest.approx(conflict(first, second))
