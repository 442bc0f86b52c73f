"""Controlled pairs: pooled by hand, won by levels, and concepts correlated."""

import numpy as np
import pytest

from judge_gym.metrics.cells import CellMeans
from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.metrics.ranking import (
    concept_correlations,
    controlled_pair,
    pool_pairs,
    rank_levels,
)


def pair(differences, rng, *, axis="view", levels=("raw", "neutralized"), setting="a", first=0):
    """A pair of one judge whose items, from `first` on, differ by `differences`."""
    size = first + len(differences)
    n = np.zeros((1, size), dtype=np.int64)
    n[0, first:] = 2
    before, after = np.zeros((1, size)), np.zeros((1, size))
    after[0, first:] = differences
    return controlled_pair(
        axis, levels, setting, CellMeans(before, n), CellMeans(after, n), rng, "0-1 scale"
    )


def test_one_pair_is_its_paired_t_interval(rng):
    only = pair([0.1, 0.2, 0.6], rng)
    (pooled,) = pool_pairs([only])
    assert pooled.pooled.estimate == pytest.approx(0.3)
    assert pooled.pooled.lower == pytest.approx(only.contrast.lower)
    assert pooled.spread is None
    assert pooled.shrunk["a"].estimate == pytest.approx(0.3)


def test_pooling_by_hand(rng):
    # effects 0.1, 0.3, 0.5; each variance 0.01 (differences ±0.1·√... around the mean, 3 items)
    # DerSimonian-Laird with equal variances: τ² = s² - v = 0.04 - v
    step = np.array([-1, 0, 1.0]) * 0.1
    pairs = [
        pair(mean + step, rng, setting=str(mean), first=3 * k)
        for k, mean in enumerate((0.1, 0.3, 0.5))
    ]
    (found,) = pool_pairs(pairs)
    v = 0.01 / 3
    assert found.pooled.estimate == pytest.approx(0.3)
    assert found.spread == pytest.approx((0.04 - v) ** 0.5)
    # Hartung-Knapp: Σ w (d - mean)² / 2 = 0.04/3, t(2) = 4.302653
    assert found.pooled.upper == pytest.approx(0.3 + 4.302653 * (0.04 / 3) ** 0.5, abs=1e-6)
    assert (found.pooled.n, found.pooled.n_items) == (36, 9)
    w = (0.04 - v) / 0.04
    assert found.shrunk["0.1"].estimate == pytest.approx(w * 0.1 + (1 - w) * 0.3)


def test_pooling_by_hand_with_unequal_variances(rng):
    # Effects 0, 1/2 and 1 with variances v = 1/100, 1/100 and 4/100: w = 100, 100, 25.
    # Fixed mean (50 + 25)/225 = 1/3. Q = 100/9 + 100/36 + 100/9 = 25.
    # Σw - Σw²/Σw = 225 - 20625/225 = 400/3, so τ² = (25 - 2)/(400/3) = 0.1725.
    # Weights 1/0.1825 twice and 1/0.2125, in 1/(0.1825·0.2125): 0.2125, 0.2125, 0.1825.
    step = np.array([-1, 0, 1.0])  # s²/3 = 1/3 for steps of 1
    pairs = [
        pair(mean + step * (3 * v) ** 0.5, rng, setting=str(mean), first=3 * k)
        for k, (mean, v) in enumerate(((0.0, 0.01), (0.5, 0.01), (1.0, 0.04)))
    ]
    (result,) = pool_pairs(pairs)
    mean = (0.5 * 0.2125 + 0.1825) / 0.6075
    assert result.spread == pytest.approx(0.1725**0.5, rel=1e-12)
    assert result.pooled.estimate == pytest.approx(mean, rel=1e-12)
    # Σ w (d - mean)² / 2, above 1/Σw with known variances; t(2) = 4.302653
    squares = 0.2125 * (mean**2 + (0.5 - mean) ** 2) + 0.1825 * (1 - mean) ** 2
    half = 4.30265272974946 * (squares / 0.6075 / 2) ** 0.5
    assert result.pooled.lower == pytest.approx(mean - half, rel=1e-12)
    # mean + half is 1.70, and no change of values between 0 and 1 is more than 1.
    assert result.pooled.upper == 1


def test_a_mean_over_two_settings_that_say_opposite_things_is_not_estimable(rng):
    """Effects -0.4 and 0.2 with small variances: t(1) = 12.7 times 0.3 passes both -1 and 1."""
    step = np.array([-1, 0, 1.0]) * 0.01
    pairs = [pair(mean + step, rng, setting=str(mean)) for mean in (-0.4, 0.2)]
    (found,) = pool_pairs(pairs)
    assert found.pooled.estimate is None
    assert "2 settings are too few" in found.pooled.because
    assert found.pooled.n == 24
    for shrunk in found.shrunk.values():
        assert -1 <= shrunk.lower <= shrunk.upper <= 1
    # Of one pair it is the interval of its contrast.
    (alone,) = pool_pairs([pair([-0.9, 0.9], rng)])
    assert (alone.pooled.lower, alone.pooled.upper) == (-1, 1)


def test_settings_that_agree_are_drawn_all_the_way_to_the_mean(rng):
    pairs = [pair(np.array([0, 0.2, 0.4]) + shift, rng, setting=str(shift)) for shift in (0, 0.01)]
    (found,) = pool_pairs(pairs)
    assert found.spread == 0
    assert {one.estimate for one in found.shrunk.values()} == {found.pooled.estimate}


def test_settings_on_the_same_items_do_not_count_as_new_items(rng):
    # the same differences in nine settings say no more than in one
    differences = rng.normal(0.1, 0.2, 12)
    one, nine = (
        pool_pairs([pair(differences, rng, setting=str(k)) for k in range(count)])[0].pooled
        for count in (1, 9)
    )
    assert (nine.lower, nine.upper) == pytest.approx((one.lower, one.upper))
    assert nine.n_items == 12


def test_pairs_without_spread_are_left_out_and_counted(rng):
    flat, varied = pair([0.1, 0.1], rng, setting="b"), pair([0.1, 0.3, 0.2], rng)
    (found,) = pool_pairs([flat, varied])
    # One pair is left, of 3 items: 2 degrees of freedom, where 4 are advised.
    assert found.pooled.remarks == (
        Remark(RemarkKind.PAIRS_LEFT_OUT, 1), Remark(RemarkKind.FEW_DEGREES, 2, 4),
    )  # fmt: skip
    (none,) = pool_pairs([flat])
    assert none.pooled.reason == (
        "not estimable, because none of 1 pairs has two items whose differences vary"
    )


def test_levels_are_ranked_by_the_pairs_they_win(rng):
    pairs = [
        pair([0.1, 0.2], rng, levels=("raw", "cleaned")),
        pair([0.1, -0.1], rng, levels=("raw", "cleaned"), setting="b"),
        pair([-0.3, -0.2], rng, levels=("cleaned", "neutralized")),
        pair([0.0, 0.1], rng, axis="order", levels=("first", "last")),
    ]
    ranks = [(one.axis, one.level, one.wins.estimate, one.wins.n) for one in rank_levels(pairs)]
    # cleaned beats raw, ties with it, and beats neutralized: 2.5 of 3
    assert ranks == [
        ("view", "cleaned", pytest.approx(2.5 / 3), 3),
        ("view", "raw", 0.25, 2),
        ("view", "neutralized", 0.0, 1),
        ("order", "last", 1.0, 1),
        ("order", "first", 0.0, 1),
    ]


def test_a_share_of_wins_with_ties_is_no_binomial_proportion(rng):
    def share(*means):
        pairs = [pair([m - 0.1, m + 0.1], rng, setting=str(k)) for k, m in enumerate(means)]
        return next(one.wins for one in rank_levels(pairs) if one.level == "neutralized")

    # 1 lost, 2 even, 1 won: s² = (0.25 + 0.25) / 3, half = 3.1824 · 0.40825 / 2 = 0.64962, cut
    # to [0, 1]; 2 lost, 12 even, 2 won: s² = 4 · 0.25 / 15, half = 2.13145 · 0.25820 / 4.
    few, many = share(-0.3, 0, 0, 0.3), share(*[-0.3] * 2, *[0] * 12, *[0.3] * 2)
    assert (few.lower, few.upper) == (0, 1)
    assert (many.lower, many.upper) == pytest.approx((0.5 - 0.13758, 0.5 + 0.13758), abs=1e-4)
    # Without ties Wilson's: of 2 of 4, 0.15004 to 0.84996. So too where nothing but ties occur,
    # which have no spread, and of one tie and seven wins, which are too skewed for t.
    plain, even, skewed = share(-0.3, -0.3, 0.3, 0.3), share(0, 0, 0, 0), share(0, *[0.3] * 7)
    for one in (plain, even):
        assert (one.lower, one.upper) == pytest.approx((0.15004, 0.84996), abs=1e-4)
    assert skewed.lower == pytest.approx(0.59772, abs=1e-4)


def test_concepts_correlate_over_what_they_share():
    values = {
        "fascism": {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4, "e": 0.5, "x": 9.0},
        "backsliding": {"a": 1.0, "b": 3.0, "c": 2.0, "d": 4.0, "e": 5.0},
        "quality": {"a": 1.0, "b": 2.0, "c": 2.5},
    }
    found = concept_correlations(values)
    assert list(found) == [
        ("backsliding", "fascism"), ("backsliding", "quality"), ("fascism", "quality")
    ]  # fmt: skip
    near = found["backsliding", "fascism"]
    # ranks differ by 1 twice: 1 - 6·2/(5·24) = 0.9
    assert near.estimate == pytest.approx(0.9)
    assert (near.n, near.lower < 0.9 < near.upper) == (5, True)
    assert found["fascism", "quality"].reason == (
        "not estimable, because it needs 4 experiments in common, and there are 3"
    )


def test_a_true_null_over_a_grid_on_shared_items_keeps_its_level():
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(200):
        shared = rng.normal(0, 0.2, 10)
        pairs = [pair(shared + rng.normal(0, 0.1, 10), rng, setting=str(k)) for k in range(4)]
        rejected += pool_pairs(pairs)[0].pooled.p < 0.05
    # at most 0.05 with three standard errors of binomial(200, 0.05)
    assert rejected <= 19
