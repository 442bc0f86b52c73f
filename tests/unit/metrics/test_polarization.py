"""Divergences by hand, and polarization over common items against its noise floor."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.metrics.cells import Verdicts
from judge_gym.metrics.estimate import NO_SPREAD, Remark, RemarkKind
from judge_gym.metrics.polarization import (
    Divergence,
    corrected_polarization,
    entropy,
    generalised_jensen_shannon,
    jensen_shannon,
    measure_polarization,
    pair_matrix,
    pairwise_mean,
    polarization_by_pair,
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


LOW, HIGH = [1] * 5, [4] * 5


def test_opposed_judges_are_polarised_item_by_item(build_verdicts, rng):
    # Pooled over items both judges have the same histogram; on each item they are disjoint.
    result = measure_polarization(build_verdicts([[LOW, HIGH], [HIGH, LOW]]), rng)
    assert result.per_item.tolist() == [1, 1]
    assert result.estimate.estimate == 1
    assert result.estimate.unit == "bits"
    assert (result.estimate.n, result.estimate.n_items) == (20, 2)


def test_floor_and_p_match_enumeration(build_verdicts, rng):
    # Five 1s and five 2s dealt to two judges: judge one gets k of the 1s with probability
    # C(5,k)^2 / C(10,5); only k = 0 and k = 5 reach P = 1, so p = 2/252.
    floor = sum(
        comb(5, k) ** 2 / 252 * jensen_shannon(np.array([k, 5 - k]) / 5, np.array([5 - k, k]) / 5)
        for k in range(6)
    )
    verdicts = build_verdicts([[[1] * 5], [[2] * 5]])
    estimate = measure_polarization(verdicts, rng, permutations=20_000).estimate
    # standard errors at 20,000 draws: floor under 0.0015, p 0.0006
    assert estimate.floor == pytest.approx(floor, abs=0.006)
    assert estimate.p == pytest.approx(2 / 252, abs=0.003)


def test_the_excess_reaches_as_high_as_dealing_allows(build_verdicts, rng):
    # Two items of five 1s and five 2s. Dealt, a judge gets 2 or 3 of the 1s with chance 200/252,
    # so both items do in 63% of deals: the 2.5% quantile of P is that of shares 0.4 and 0.6,
    # 1 - H(0.4) = 0.029049. P = 1, so P - P0 is at most 1 - P0 - (0.029049 - P0).
    verdicts = build_verdicts([[[1] * 5, [1] * 5], [[2] * 5, [2] * 5]])
    excess = measure_polarization(verdicts, rng, permutations=20_000).excess
    assert excess.upper == pytest.approx(1 - 0.029049, abs=1e-5)
    # the items differ by the error of their floors alone, so t gives next to no width below
    assert excess.lower == pytest.approx(excess.estimate, abs=0.05)
    assert "permutation test" in excess.method


def simulated(rng, chances, n_items=60, replicates=5):
    """Verdicts drawn from one distribution over stages per judge."""
    shape = (len(chances), n_items, replicates)
    stage = np.stack([rng.choice(4, size=shape[1:], p=chance) for chance in chances])
    judge, item, _ = np.indices(shape)
    return Verdicts(
        judge=judge.ravel(), item=item.ravel(), stages=1 << stage.ravel(),
        n_judges=len(chances), n_items=n_items, n_stages=4,
    )  # fmt: skip


def test_identical_judges_show_the_floor_and_nothing_above(rng):
    # Two uniform judges of five replicates: E[P] = 0.29 bits though they are the same judge.
    result = measure_polarization(simulated(rng, [[0.25] * 4] * 2), rng)
    assert result.estimate.estimate == pytest.approx(0.29, abs=0.06)
    assert result.excess.lower < 0 < result.excess.upper
    assert result.estimate.p > 0.05
    assert result.estimate.floor == pytest.approx(result.per_item_floor.mean())


@pytest.mark.parametrize("divergence", list(Divergence))
def test_judges_that_differ_rise_above_the_floor(divergence, rng):
    chances = [[0.7, 0.2, 0.1, 0], [0, 0.1, 0.2, 0.7], [0.25] * 4]
    result = measure_polarization(simulated(rng, chances), rng, divergence=divergence)
    assert result.excess.lower > 0.1
    assert result.estimate.p < 0.01


def test_a_family_counts_once(build_verdicts, rng):
    verdicts = build_verdicts([[LOW], [LOW], [HIGH]])
    alone = measure_polarization(verdicts, rng).estimate
    families = measure_polarization(verdicts, rng, family=np.array([3, 3, 8])).estimate
    # pairs 0, 1, 1 without families; one pair, disjoint, with them
    assert (alone.estimate, families.estimate) == pytest.approx((2 / 3, 1))


def test_members_of_a_family_are_averaged_before_comparing(build_verdicts, rng):
    # family (LOW + HIGH)/2 against a point mass at HIGH: JSD of (1/2, 1/2) and (0, 1)
    verdicts = build_verdicts([[LOW], [HIGH], [HIGH]])
    estimate = measure_polarization(verdicts, rng, family=np.array([0, 0, 1])).estimate
    assert estimate.estimate == pytest.approx(0.311278, abs=1e-6)


def test_only_items_all_judges_scored_are_compared(build_verdicts, rng):
    table = [[LOW, LOW, LOW], [HIGH, LOW, []]]
    result = measure_polarization(build_verdicts(table), rng)
    assert result.items.tolist() == [0, 1]
    assert result.per_item.tolist() == [1, 0]


def test_an_abstention_or_two_do_not_cost_the_item(build_verdicts, rng):
    result = measure_polarization(build_verdicts([[LOW, LOW], [HIGH, [4, 4, 4]]]), rng)
    assert result.items.tolist() == [0, 1]
    assert Remark(RemarkKind.NEAR_FLOOR, advised=10) in result.estimate.remarks


@pytest.mark.parametrize(
    ("table", "family", "because"),
    [
        ([[LOW]], None, "there is 1"),
        ([[LOW], [HIGH]], [2, 2], "different families"),
        ([[LOW, []], [[], HIGH]], None, "no item was scored by every judge"),
        ([[[]], [[]]], None, "no item was scored by every judge"),
        ([[[1] * 4], [[2] * 4]], None, "the median cell holds 4 scored replicates"),
    ],
)
def test_what_cannot_be_measured_says_why(build_verdicts, rng, table, family, because):
    family = None if family is None else np.array(family)
    result = measure_polarization(build_verdicts(table), rng, family=family)
    for estimate in (result.estimate, result.excess):
        assert estimate.estimate is None
        assert estimate.reason.startswith("not estimable, because ")
        assert because in estimate.reason
    assert len(result.items) == len(result.per_item) == len(result.per_item_floor) == 0


def test_constant_verdicts_show_no_polarization_and_no_evidence(build_verdicts, rng):
    estimate = measure_polarization(build_verdicts([[LOW, LOW], [LOW, LOW]]), rng).estimate
    assert (estimate.estimate, estimate.floor, estimate.p) == (0, 0, 1)
    assert estimate.because == NO_SPREAD


def test_ten_replicates_need_no_caution(build_verdicts, rng):
    estimate = measure_polarization(build_verdicts([[LOW * 2], [HIGH * 2]]), rng).estimate
    assert RemarkKind.NEAR_FLOOR not in {remark.kind for remark in estimate.remarks}


def test_the_same_seed_gives_the_same_floor(rng):
    verdicts = simulated(rng, [[0.25] * 4] * 3, n_items=5)
    first, second = (
        measure_polarization(verdicts, np.random.default_rng(5)).estimate for _ in range(2)
    )
    assert first == second


@given(st.integers(0, 2**32 - 1), st.sampled_from(Divergence))
@settings(max_examples=20)
def test_the_order_of_rows_and_judges_does_not_matter(seed, divergence):
    rng = np.random.default_rng(seed)
    verdicts = simulated(rng, rng.dirichlet([1] * 4, size=3), n_items=4)
    shuffled = verdicts.rows(rng.permutation(len(verdicts))).of_judges([2, 0, 1])
    results = [
        measure_polarization(v, np.random.default_rng(1), divergence=divergence, permutations=2)
        for v in (verdicts, shuffled)
    ]
    assert results[0].per_item == pytest.approx(results[1].per_item)
    assert ((results[0].per_item >= 0) & (results[0].per_item <= 1)).all()


def test_pairs_agree_with_the_matrix_and_average_to_the_whole(rng):
    verdicts = simulated(rng, [[0.7, 0.2, 0.1, 0], [0.25] * 4, [0, 0, 0, 1]], n_items=8)
    matrix = pair_matrix(verdicts)
    pairs = polarization_by_pair(verdicts, rng, permutations=50)
    assert set(pairs) == {(0, 1), (0, 2), (1, 2)}
    for (first, second), pair in pairs.items():
        assert pair.estimate.estimate == pytest.approx(matrix[first, second])
        assert matrix[second, first] == matrix[first, second]
    whole = measure_polarization(verdicts, rng, permutations=2).estimate.estimate
    assert np.mean([p.estimate.estimate for p in pairs.values()]) == pytest.approx(whole)


def test_every_pair_uses_the_items_common_to_all(build_verdicts, rng):
    # The third judge never saw item 1, so the first pair does not use it either.
    verdicts = build_verdicts([[LOW, LOW], [LOW, HIGH], [HIGH, []]])
    pairs = polarization_by_pair(verdicts, rng, permutations=10)
    assert pairs[0, 1].items.tolist() == [0]
    assert pairs[0, 1].estimate.estimate == 0


def test_pairs_of_families_carry_their_numbers(build_verdicts, rng):
    verdicts = build_verdicts([[LOW], [HIGH], [HIGH]])
    family = np.array([7, 7, 9])
    pairs = polarization_by_pair(verdicts, rng, family=family, permutations=10)
    assert list(pairs) == [(7, 9)]


def test_the_matrix_needs_a_common_item(build_verdicts):
    with pytest.raises(ValueError, match="no item was scored"):
        pair_matrix(build_verdicts([[LOW, []], [[], LOW]]))


@pytest.mark.parametrize(("replicates", "least", "most"), [(5, 0.12, 0.16), (100, 0.205, 0.222)])
def test_the_excess_says_where_it_understates_the_divergence(rng, replicates, least, most):
    first, second = np.array([0.6, 0.3, 0.1, 0, 0]), np.array([0.2, 0.3, 0.3, 0.2, 0])

    def entropy(p):
        return -sum(share * np.log2(share) for share in p if share)

    between = entropy((first + second) / 2) - (entropy(first) + entropy(second)) / 2
    assert between == pytest.approx(0.213, abs=0.001)
    judge, item, _ = (axis.ravel() for axis in np.indices((2, 600, replicates)))
    chosen = [rng.choice(5, size=600 * replicates, p=p) for p in (first, second)]
    verdicts = Verdicts(
        judge=judge, item=item, stages=1 << np.concatenate(chosen),
        n_judges=2, n_items=600, n_stages=5,
    )  # fmt: skip
    found = measure_polarization(verdicts, rng, permutations=100)
    assert least < found.excess.estimate < most
    too_low = Remark(RemarkKind.TOO_LOW, advised=30)
    assert (too_low in found.excess.remarks) == (replicates == 5)
    assert Remark(RemarkKind.INDEPENDENT_REPLICATES) in found.estimate.remarks


def test_the_correction_by_hand(build_verdicts):
    # judge one: 1 1 2, judge two: 2 2 2. Leaving out a 1 of judge one gives (1/2, 1/2), a 2 gives
    # (1, 0); leaving out any of judge two changes nothing.
    def apart(share):
        one, two = np.array([share, 1 - share]), np.array([0.0, 1.0])
        return float(jensen_shannon(one, two))

    found = corrected_polarization(build_verdicts([[[1, 1, 2] * 2], [[2] * 6]], n_stages=2))
    whole = apart(2 / 3)
    left_out = 2 / 3 * apart(3 / 5) + 1 / 3 * apart(4 / 5)
    assert found.estimate == pytest.approx(whole - 5 * (left_out - whole))


def test_the_correction_finds_the_true_divergence_where_p_does_not():
    # two judges 0.7 / 0.1 / 0.1 / 0.1 and 0.1 / 0.7 / 0.1 / 0.1, ten replicates, many items
    rng, n, items = np.random.default_rng(7), 10, 400
    p = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1]])
    judge, item, _ = (part.ravel() for part in np.indices((2, items, n)))
    stage = (rng.random(len(judge))[:, None] > p[judge].cumsum(axis=1)).sum(axis=1)
    verdicts = Verdicts(
        judge=judge, item=item, stages=1 << stage, n_judges=2, n_items=items, n_stages=4
    )
    true = float(jensen_shannon(*p))
    measured = measure_polarization(verdicts, rng, permutations=99)
    corrected = corrected_polarization(verdicts)
    assert corrected.lower < true < corrected.upper
    assert measured.estimate.lower > true
    # families of one judge each are the judges themselves
    assert corrected_polarization(verdicts, family=np.array([0, 1])) == corrected
