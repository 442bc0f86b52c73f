"""Permutations, sign flips, corrections and paired effects, against enumeration by hand."""

from itertools import product
from math import comb
from operator import mul

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import fdrcorrection, multipletests

from judge_gym.metrics.accuracy import accuracy_by_pair
from judge_gym.metrics.cells import CellMeans
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.expert_labels import prediction_powered_mean
from judge_gym.metrics.inference import (
    benjamini_hochberg,
    equivalence_items,
    equivalence_p,
    holm,
    holm_over,
    items_needed,
    kendall_tau_b,
    page_trend,
    paired_power,
    permutation_p,
    sign_flip_p,
    standardised_effects,
    unpaired_contrast,
    welch,
)
from support.homogeneity import g_test
from support.judge_components import rating_scale


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


@given(st.lists(st.integers(-6, 6).map(lambda tenths: tenths / 10), max_size=9))
def test_sign_flips_are_those_of_every_choice_of_signs(differences):
    # In whole tenths, where ties are exact.
    tenths = [round(10 * difference) for difference in differences]
    totals = [sum(map(mul, signs, tenths)) for signs in product((1, -1), repeat=len(tenths))]
    two_sided = sum(abs(total) >= abs(sum(tenths)) for total in totals) / len(totals)
    one_sided = sum(total >= sum(tenths) for total in totals) / len(totals)
    given_values, rng = np.array(differences, dtype=float), np.random.default_rng(0)
    assert sign_flip_p(given_values, rng) == pytest.approx(two_sided, rel=1e-12)
    assert sign_flip_p(given_values, rng, above=True) == pytest.approx(one_sided, rel=1e-12)


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


def holm_of_statsmodels(p):
    return multipletests(p, method="holm")[1].tolist() if p else []


def benjamini_hochberg_by_definition(p):
    """The smallest of m·p / r over the ranks r from one's own, at most 1."""
    m, ascending = len(p), sorted(p)
    return [
        min(1.0, min(m * q / (r + 1) for r, q in enumerate(ascending) if q >= own)) for own in p
    ]


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), max_size=12))
@settings(max_examples=50)
def test_corrections_follow_their_definitions_with_ties_and_at_the_ends(p):
    assert holm(p) == pytest.approx(holm_of_statsmodels(p), rel=1e-12, abs=1e-300)
    assert benjamini_hochberg(p) == pytest.approx(
        benjamini_hochberg_by_definition(p), rel=1e-12, abs=1e-300
    )
    assert benjamini_hochberg(p) == (fdrcorrection(p)[1].tolist() if p else [])


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


def test_three_effect_sizes_of_one_effect():
    # differences 1 1 3 3: mean 2, sd sqrt(4/3); before has no spread, so d_av has sqrt(2/3)
    dz, gz, dav = standardised_effects(np.zeros(4), np.array([1.0, 1, 3, 3]))
    assert dz.estimate == pytest.approx(3**0.5)
    assert dav.estimate == pytest.approx(6**0.5)
    # J(3) = Γ(3/2)/(sqrt(3/2)·Γ(1))
    assert gz.estimate == pytest.approx(3**0.5 * (np.pi**0.5 / 2) / 1.5**0.5)
    assert dz.lower < dz.estimate < dz.upper
    # one interval, on three scales
    assert dav.lower / dz.lower == pytest.approx(dav.estimate / dz.estimate)
    assert gz.upper / dz.upper == pytest.approx(gz.estimate / dz.estimate)


@pytest.mark.parametrize("after", [[1.0], [1.0, 1.0, 1.0]])
def test_effects_without_spread_are_not_infinite(after):
    for effect in standardised_effects(np.zeros(len(after)), np.array(after)):
        assert effect.estimate is None
        assert "not estimable" in effect.reason
    assert equivalence_p(np.array(after), -2, 2) is None


def test_equivalence_is_a_question_of_the_margin(rng):
    differences = rng.normal(0, 1, 30)
    narrow, wide = (equivalence_p(differences, -m, m) for m in (0.1, 1))
    assert wide < 0.05 < narrow
    # at the edge of the margin the test is at its 50% point
    mean = differences.mean()
    assert equivalence_p(differences, mean, mean + 50) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="empty"):
        equivalence_p(differences, 1, 1)


@pytest.mark.parametrize(("dz", "items"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_items_that_a_paired_test_needs(dz, items):
    # Cohen 1988, table 2.4.1, for a power of 0.80 at 5%, two-sided
    assert items_needed(dz) == items
    assert paired_power(dz, items - 1) < 0.8 <= paired_power(dz, items)


def test_power_at_fifteen_items():
    assert paired_power(0.5, 15) == pytest.approx(0.44, abs=0.005)
    assert paired_power(0.5, 1) == 0
    with pytest.raises(ValueError, match="above 0"):
        items_needed(0)


def test_items_that_equivalence_needs(rng):
    # 2·Φ(5·√n/10 - t(n - 1)) - 1 reaches 0.8 at 44 items (3.317 - 2.017 > 1.282), and seeded
    # runs of the test agree
    needed = equivalence_items(10, 5)
    assert needed == 44
    found = [equivalence_p(rng.normal(0, 10, needed), -5, 5) < 0.025 for _ in range(400)]
    assert 0.74 < np.mean(found) < 0.86
    assert equivalence_items(0, 5) == 2


def test_trend_and_rank_correlation():
    # ranks 1 2 3 on both items: L = 2·(1 + 4 + 9), reached in one of 6² orders
    assert page_trend(np.array([[1.0, 2, 3], [4, 5, 9]])) == pytest.approx((28, 1 / 36))
    assert kendall_tau_b(np.arange(4.0), np.arange(4.0))[0] == 1
    assert kendall_tau_b(np.zeros(4), np.arange(4.0)) is None


def test_experts_correct_the_judge():
    # 4 + mean(1 - 2, 2 - 2); a judge that never moves gets no weight
    expert, judge, others = np.array([1.0, 2]), np.array([2.0, 2]), np.array([3.0, 5])
    plain = prediction_powered_mean(expert, judge, others, tuned=False, published=True)
    assert plain.estimate == 3.5
    tuned = prediction_powered_mean(expert, judge, others, published=True)
    assert tuned.estimate == 1.5
    missing = prediction_powered_mean(expert, judge, others)
    assert "it needs 20 labelled items and 2 others, and there are 2 and 2" in missing.reason


def test_two_judges_of_two_stages_by_hand():
    # conditional odds: of 8 items on which they differ the second is lower on 6, so it is
    # ln(6/2) more severe; the variance of that difference is 1/6 + 1/2
    stages = np.array([[2, 1]] * 6 + [[1, 2]] * 2 + [[1, 1], [2, 2]])
    found = rating_scale(stages, 2)
    first, second = found.severity
    assert second.estimate - first.estimate == pytest.approx(np.log(3), abs=1e-5)
    half = 1.959964 * (1 / 6 + 1 / 2) ** 0.5 / 2
    assert second.upper - second.estimate == pytest.approx(half, abs=1e-4)
    assert found.log_likelihood == pytest.approx(6 * np.log(0.75) + 2 * np.log(0.25))


@pytest.mark.parametrize(
    ("stages", "because"),
    [
        ([[1], [2]], "there is one"),
        ([[1, 2], [2, 1]], "no verdict is at stage 3"),
        ([[1, 2], [1, 3], [1, 1]], "same end of the scale"),
    ],
)
def test_severity_that_cannot_be_told(stages, because):
    found = rating_scale(np.array(stages), 3 if "one" not in because else 2)
    assert because in found.severity[0].reason
    assert found.log_likelihood is None


def test_the_test_of_one_distribution_needs_two():
    assert g_test(np.array([[3.0, 0], [2, 0]])) is None
    # 10 samples of 1 bit: G = 2·10·ln 2
    found = g_test(np.array([[5.0, 0], [0, 5]]))
    assert (found.statistic, found.df) == (pytest.approx(20 * np.log(2)), 1)


def test_two_judges_on_the_same_benchmark(build_verdicts, rng):
    # the second alone is right on three items, the first on none: exact McNemar 2·(1/2)³
    verdicts = build_verdicts([[[1], [2], [2], [2]], [[1], [1], [1], [1]]], n_stages=2)
    truth = np.ones(4, dtype=np.int64)
    found = accuracy_by_pair(verdicts, truth, rng)[0, 1]
    assert (found.estimate, found.p) == (0.75, 0.25)
    wide = build_verdicts([[[(1, 2)]], [[1]]])
    assert "name several stages" in accuracy_by_pair(wide, truth[:1], rng)[0, 1].reason


@pytest.mark.filterwarnings("error")
def test_welch_is_scipys_and_takes_a_side_of_equal_values(rng):
    first, second = rng.normal(size=9), rng.normal(0.5, 2.0, size=14)
    (low, high), p = welch(first, second)
    other = stats.ttest_ind(second, first, equal_var=False)
    assert ((low, high), p) == (
        pytest.approx(other.confidence_interval()),
        pytest.approx(other.pvalue),
    )
    # Without spread on one side it is the t test of the other: mean 2, variance 1, df 2.
    (low, high), p = welch(np.full(5, 1 / 3), np.array([1.0, 2.0, 3.0]))
    half = float(stats.t.ppf(0.975, 2)) / 3**0.5
    assert (low, high) == pytest.approx((5 / 3 - half, 5 / 3 + half))
    assert p == pytest.approx(2 * float(stats.t.sf(5 / 3 * 3**0.5, 2)))


def test_a_contrast_over_other_items_is_the_difference_of_their_means():
    # Items 0, 1 and 2 before, 3 to 6 after; means 0.4 and 0.7, variances 0.04 and 1/15.
    value = np.array([[0.2, 0.4, 0.6, 0.4, 0.6, 0.8, 1.0]])
    first = np.array([[1, 1, 1, 0, 0, 0, 0]])
    before, after = CellMeans(value, first), CellMeans(value, 1 - first)
    found = unpaired_contrast("contrast", before, after, "share")
    assert found.estimate == pytest.approx(0.3)
    # SE² = 0.04/3 + 1/60 = 0.03; Welch's df = 0.03² / ((0.04/3)²/2 + (1/60)²/3) = 4.96.
    df = 0.03**2 / ((0.04 / 3) ** 2 / 2 + (1 / 60) ** 2 / 3)
    margin = float(stats.t.ppf(0.975, df)) * 0.03**0.5
    assert (found.lower, found.upper) == pytest.approx((0.3 - margin, 0.3 + margin))
    assert found.p == pytest.approx(2 * float(stats.t.sf(0.3 / 0.03**0.5, df)))
    nothing = unpaired_contrast("contrast", before, CellMeans(value, 0 * first), "share")
    assert nothing.estimate is None
    one = unpaired_contrast(
        "contrast", before, CellMeans(value, np.eye(7, dtype=int)[[3]]), "share"
    )
    assert (one.estimate, one.lower) == (pytest.approx(0.0), None)
