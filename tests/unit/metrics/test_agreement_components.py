"""Agreement across judges and components of variance: by hand, and beside a package."""

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.metrics.agreement import Level, gwet_ac, krippendorff_alpha
from judge_gym.metrics.cells import Verdicts
from support.judge_components import judge_icc

THREE_ITEMS = [[[1], [1], [2]], [[1], [2], [2]]]


def test_coefficients_by_hand(build_verdicts, rng):
    # items (1, 1), (1, 2), (2, 2): alpha = 1 - (6 - 1)·1/(3·3); two of three pairs agree and
    # chance is 1/2 for the other: (2/3 - 1/2)/(1/2)
    verdicts = build_verdicts(THREE_ITEMS, n_stages=2)
    alpha = krippendorff_alpha(verdicts, rng, Level.NOMINAL)
    assert alpha.estimate == pytest.approx(4 / 9)
    assert (alpha.n, alpha.n_items) == (6, 3)
    assert gwet_ac(verdicts, rng).estimate == pytest.approx(1 / 3)


def test_replicates_neither_add_nor_agree_with_themselves(build_verdicts, rng):
    doubled = [[cell * 2 for cell in judge] for judge in THREE_ITEMS]
    once, twice = (
        krippendorff_alpha(build_verdicts(table, n_stages=2), rng).estimate
        for table in (THREE_ITEMS, doubled)
    )
    assert once == pytest.approx(twice)


def test_a_rare_stage_sinks_alpha_and_not_ac1(build_verdicts, rng):
    # 18 items agree on 1; one judge alone says 2 on each of two more
    table = [[[1]] * 18 + [[2], [1]], [[1]] * 18 + [[1], [2]]]
    verdicts = build_verdicts(table, n_stages=2)
    assert krippendorff_alpha(verdicts, rng).estimate < 0
    assert gwet_ac(verdicts, rng).estimate > 0.85


def test_what_cannot_agree_says_why(build_verdicts, rng):
    apart = build_verdicts([[[1], []], [[], [2]]])
    for coefficient in (krippendorff_alpha, gwet_ac):
        assert "no item was scored by two judges" in (coefficient(apart, rng, Level.NOMINAL).reason)
    constant = build_verdicts([[[1], [1]], [[1], [1]]])
    assert "all verdicts are the same stage" in krippendorff_alpha(constant, rng).reason
    assert gwet_ac(constant, rng).estimate == 1
    with pytest.raises(ValueError, match="nominal or interval"):
        gwet_ac(constant, rng, Level.ORDINAL)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_alpha_is_that_of_the_krippendorff_package(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 5, (3, 12)).astype(float)
    table[rng.random((3, 12)) < 0.2] = np.nan
    judge, item = np.nonzero(np.isfinite(table))
    stages = 1 << (table[judge, item].astype(int) - 1)
    verdicts = Verdicts(judge=judge, item=item, stages=stages, n_judges=3, n_items=12, n_stages=4)
    for level in Level:
        theirs = krippendorff.alpha(table, level_of_measurement=level.value)
        ours = krippendorff_alpha(verdicts, rng, level).estimate
        assert ours == pytest.approx(theirs, abs=1e-9)


def test_icc_of_judges_by_hand(build_verdicts, rng):
    # 0-1 scores 0 and .5 on item 0, .5 and 1 on item 1, replicates alike: mean squares of items
    # and of judges 1/4, of the rest 0
    verdicts = build_verdicts([[[1, 1], [2, 2]], [[2, 2], [3, 3]]], n_stages=3)
    # ICC(1): within an item 1/8, (1/4 - 1/8)/(1/4 + 1/8); ICC(2): 1/4 over 1/4 + 2/4·... = 1/2
    forms = {one.metric: one.estimate for one in judge_icc(verdicts, rng)}
    assert forms["judge_icc1"] == pytest.approx(1 / 3)
    assert forms["judge_icc2"] == pytest.approx(1 / 2)
    assert forms["judge_icc3"] == 1
    assert forms["judge_icc1_mean"] == pytest.approx(1 / 2)
    assert forms["judge_icc2_mean"] == pytest.approx(2 / 3)


def test_too_small_a_table_says_so(build_verdicts, rng):
    for table in ([[[1, 1], [2, 2]]], [[[1, 2]], [[1, 2]]]):
        for estimate in judge_icc(build_verdicts(table), rng):
            assert "it needs 2 judges and 2 items" in estimate.reason
    constant = build_verdicts([[[1], [1]], [[1], [1]]])
    assert "do not vary" in judge_icc(constant, rng)[0].reason
