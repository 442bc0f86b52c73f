"""Rates of outcomes, repeatability of a judge, and width of its verdicts."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import norm

from judge_gym.metrics.consistency import (
    OutcomeCounts,
    mean_score,
    outcome_rates,
    replicate_conflict,
    replicate_icc,
    replicate_variance,
    time_correlation,
)
from judge_gym.metrics.estimate import NO_SPREAD, clustered_wilson
from judge_gym.metrics.subsets import subset_information, subset_width


def counts(scored, abstained, unparseable, refused, failed):
    columns = (scored, abstained, unparseable, refused, failed)
    return OutcomeCounts(*(np.array(column) for column in columns))


def test_abstention_is_a_share_of_judgements_and_the_rest_of_all_samples():
    rates = {
        rate.metric: rate for rate in outcome_rates(counts([4, 2], [1, 1], [0, 1], [0, 1], [5, 5]))
    }
    # abstention 2 of 8 judgements; the others out of 20 samples
    assert rates["abstention_rate"].estimate == 2 / 8
    assert rates["unparseable_rate"].estimate == 1 / 20
    assert rates["refused_rate"].estimate == 1 / 20
    assert rates["failed_rate"].estimate == 10 / 20
    abstention = rates["abstention_rate"]
    expected = clustered_wilson(np.array([1, 1]), np.array([5, 3]))
    assert (abstention.lower, abstention.upper) == pytest.approx(expected)
    assert (abstention.n, abstention.n_items) == (8, 2)


def test_a_judge_that_never_judged_has_no_abstention_rate():
    abstention, *others = outcome_rates(counts([0], [0], [0], [0], [3]))
    assert abstention.reason == "not estimable, because there is no sample to count"
    assert others[-1].estimate == 1


def test_a_judge_that_always_abstains_is_certain_only_as_items_allow():
    abstention = outcome_rates(counts([0] * 4, [5] * 4, [0] * 4, [0] * 4, [0] * 4))[0]
    assert abstention.estimate == 1
    # Wilson for 4 of 4, not 20 of 20: n/(n + z^2) = 4/7.841459
    assert abstention.lower == pytest.approx(0.510109, abs=1e-6)


def test_the_mean_score_averages_by_item_before_items(build_verdicts):
    # Item 0: 1, 1, 1, 3 of three stages, so 1/4; item 1: 2, so 1/2; item 2 has no verdict.
    found = mean_score(build_verdicts([[[1, 1, 1, 3], [2], []]], n_stages=3))
    assert found.estimate == pytest.approx(3 / 8)
    assert (found.n, found.n_items) == (5, 2)
    assert mean_score(build_verdicts([[[]]])).estimate is None


def test_variance_is_over_replicates_of_a_cell_on_the_unit_scale(build_verdicts):
    # 1, 2, 3 of three stages: 0, 1/2, 1, variance 1/4. A constant cell: 0. Mean 1/8.
    verdicts = build_verdicts([[[1, 2, 3], [2, 2, 2, 2]]], n_stages=3)
    estimate = replicate_variance(verdicts)
    assert estimate.estimate == pytest.approx(1 / 8)
    assert (estimate.n, estimate.n_items) == (7, 2)


def test_an_item_counts_only_if_every_judge_repeated_it(build_verdicts):
    table = [[[1, 1, 1], [1, 4, 4]], [[1, 1, 4], [1, 4]]]
    # item 1 drops; item 0: variances 0 and 1/3, mean 1/6
    assert replicate_variance(build_verdicts(table)).estimate == pytest.approx(1 / 6)


def test_a_constant_judge_is_consistent_without_being_reliable(build_verdicts, rng):
    verdicts = build_verdicts([[[2] * 5] * 6])
    variance, icc = replicate_variance(verdicts), replicate_icc(verdicts, rng)
    assert (variance.estimate, variance.because) == (0, NO_SPREAD)
    assert icc.estimate is None
    assert icc.reason == "not estimable, because all verdicts of the judge are the same"


def test_too_few_replicates_are_refused(build_verdicts, rng):
    verdicts = build_verdicts([[[1, 2], [3, 4]]])
    assert "no item has 3 scored replicates" in replicate_variance(verdicts).reason
    assert "needs 2 items of 3 scored replicates" in replicate_icc(verdicts, rng).reason


def test_icc_of_unequal_cells_by_hand(build_verdicts, rng):
    # Scores A = 0,0,1 (mean 1/3) and B = 1,1,1,1; grand mean 5/7.
    # SSB = 3(8/21)^2 + 4(2/7)^2 = 16/21, MSB = 16/21; SSW = 2/3, MSW = (2/3)/5 = 2/15;
    # n0 = (7 - 25/7)/1 = 24/7. ICC = (80 - 14)/(80 + 17/7 * 14) = 66/114
    verdicts = build_verdicts([[[1, 1, 2], [2, 2, 2, 2]]], n_stages=2)
    assert replicate_icc(verdicts, rng).estimate == pytest.approx(66 / 114)


def test_icc_reaches_its_ends(build_verdicts, rng):
    perfect = replicate_icc(build_verdicts([[[1] * 3, [2] * 3, [4] * 3]]), rng)
    assert perfect.estimate == pytest.approx(1)
    # equal cell means: MSB = 0, ICC = -1/(n0 - 1) = -1/2
    useless = replicate_icc(build_verdicts([[[1, 2, 3], [3, 1, 2]]]), rng)
    assert useless.estimate == pytest.approx(-0.5)


def test_icc_is_of_one_judge(build_verdicts, rng):
    with pytest.raises(ValueError, match="of one judge"):
        replicate_icc(build_verdicts([[[1]], [[1]]]), rng)


def test_width_of_verdicts_by_hand(build_verdicts):
    # |A| = 1, 2 on item 0: widths 0, 1/3; |A| = 4 on item 1: width 1. Mean (1/6 + 1)/2.
    # Bits: 0, 1/2 then 1: (1/4 + 1)/2
    verdicts = build_verdicts([[[1, (2, 3)], [(1, 2, 3, 4)]]])
    assert subset_width(verdicts).estimate == pytest.approx(7 / 12)
    assert subset_information(verdicts).estimate == pytest.approx(5 / 8)


def test_width_compares_judges_on_common_items(build_verdicts):
    verdicts = build_verdicts([[[1], [(1, 2, 3, 4)]], [[(1, 2)], []]])
    estimate = subset_width(verdicts)
    assert (estimate.estimate, estimate.n, estimate.n_items) == (pytest.approx(1 / 6), 2, 1)
    missing = subset_width(build_verdicts([[[1], []], [[], [1]]]))
    assert missing.reason == "not estimable, because no item was scored by every judge"


@pytest.mark.parametrize(
    ("stages", "n_stages", "widest", "share"),
    [
        ((0b0001, 0b1000, 0b1000), 4, 1, 2 / 3),
        ((0b0001, 0b0001), 4, 0, 0),
        # {1, 2} and {3, 4} exclude each other at a distance of 3.5 - 1.5 stages; {2, 3} meets both.
        ((0b0011, 0b1100, 0b0110), 4, 2 / 3, 1 / 3),
        ((0b001, 0b010), 3, 1 / 2, 1),
    ],
)
def test_verdicts_of_a_cell_conflict_where_they_share_no_stage(stages, n_stages, widest, share):
    found = replicate_conflict(stages, n_stages)
    assert (found.widest, found.share) == pytest.approx((widest, share))


def test_one_verdict_cannot_conflict():
    with pytest.raises(ValueError, match="two verdicts"):
        replicate_conflict([1], 4)


def test_correlation_in_time_by_hand(build_verdicts, rng):
    # 0-1 scores 0 0 1 1 in time: d = -1/2 -1/2 1/2 1/2, Σ d(k)·d(k+1) = 1/4, its mean over all
    # orders -Σd²/4 = -1/4; (1/4 + 1/4)/3 over s² = 1/3
    verdicts, time = build_verdicts([[[1, 2, 1, 2]]], n_stages=2), np.array([1.0, 3, 2, 4])
    found = time_correlation(verdicts, time, rng)
    assert found.estimate == pytest.approx(1 / 2)
    # over the orders of 0 0 1 1 the sum is 1/4 twice, -1/4 twice and -3/4 or so: by enumeration
    d = np.array([-0.5, -0.5, 0.5, 0.5])
    sums = np.array([(d[list(o)][1:] * d[list(o)][:-1]).sum() for o in permutations(range(4))])
    z = (0.25 - sums.mean()) / sums.std()
    assert found.p == pytest.approx(2 * norm.sf(z))


def test_correlation_in_time_has_its_level_and_finds_runs(build_verdicts):
    rng = np.random.default_rng(2)
    found = {0.0: 0, 0.8: 0}
    for shared in found:
        for _ in range(200):
            # replicates of two runs of three, which share a reading as far as `shared`
            reading = shared * np.repeat(rng.normal(size=(2, 20, 2)), 3, axis=2)
            reading = reading + (1 - shared**2) ** 0.5 * rng.normal(size=(2, 20, 6))
            table = (1 + np.searchsorted([-0.7, 0, 0.7], reading)).tolist()
            verdicts = build_verdicts(table)
            time = np.tile(np.arange(6.0), 40)
            found[shared] += time_correlation(verdicts, time, rng).p < 0.05
    # 200 sets at 5%: 20 is 3.2 standard deviations above
    assert found[0.0] <= 20
    assert found[0.8] >= 190


def test_no_correlation_in_time_of_two_replicates(build_verdicts, rng):
    found = time_correlation(build_verdicts([[[1, 2]]]), np.zeros(2), rng)
    assert "3 scored replicates that differ" in found.reason
