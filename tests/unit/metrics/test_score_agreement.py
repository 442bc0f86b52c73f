"""Agreement of scores: by hand, against other packages, and over many seeds."""

import csv
import gzip
import json
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, norm, pearsonr, t

from judge_gym.metrics.error_correlation import (
    effective_votes,
    error_correlation,
    votes_between_families,
)
from judge_gym.metrics.score_agreement import (
    agreement_gain,
    bland_altman,
    concordance,
    label_agreement,
    rank_agreement,
    score_alpha,
    texts_for_gain,
)

SCORES = st.lists(
    st.tuples(*[st.integers(0, 20).map(lambda v: 5.0 * v)] * 2), min_size=5, max_size=25
)


def test_limits_of_agreement_by_hand():
    # differences 0 0 4 4: mean 2, s = sqrt(16/3); half of a limit: t(3)·s·sqrt(1/4 + 1.96²/6)
    old = np.array([10.0, 20, 30, 40])
    bias, lower, upper = bland_altman(old, old + np.array([0, 0, 4, 4]))
    s = (16 / 3) ** 0.5
    assert bias.estimate == 2
    assert upper.estimate == pytest.approx(2 + 1.959964 * s)
    assert lower.estimate == pytest.approx(2 - 1.959964 * s)
    half = 3.182446 * s * (1 / 4 + 1.959964**2 / 6) ** 0.5
    assert (upper.lower, upper.upper) == pytest.approx(
        (upper.estimate - half, upper.estimate + half), abs=1e-5
    )
    same = bland_altman(old, old + 3)
    assert [one.estimate for one in same] == [3, 3, 3]
    # of items, up to 1 - 0.025^(1/4) = 0.602 may differ otherwise, by -100 or 100 at most
    share = 1 - 0.025**0.25
    assert (same[0].lower, same[0].upper) == pytest.approx((3 - share * 103, 3 + share * 97))
    assert [(one.lower, one.upper) for one in same[1:]] == [(-100, 3), (3, 100)]
    assert "it needs 2 items" in bland_altman(old[:1], old[:1])[1].reason
    # verdicts that differ both ways: 1.96 standard deviations would lie beyond the scale
    wide = bland_altman(np.array([0.0, 100, 0, 100]), np.array([100.0, 0, 100, 0]))
    assert all(-100 <= end <= 100 for one in wide for end in (one.lower, one.estimate, one.upper))


def test_concordance_sees_what_a_correlation_does_not(rng):
    # s² = 2/3 on both sides, covariance 2/3, means 3 apart: (4/3)/(4/3 + 9)
    one = np.array([1.0, 2, 3] * 3)
    assert concordance(one, one + 3, rng).estimate == pytest.approx((4 / 3) / (4 / 3 + 9))
    same = concordance(one, one, rng)
    # perfect agreement of 9 items, and of one more that disagrees with all: (36 - 9)/45
    assert (same.estimate, same.lower, same.upper) == (1, 0.6, 1)
    opposite = rank_agreement(one[:4], np.array([3.0, 2, 1, 3]), rng)
    assert (opposite.lower, opposite.estimate, opposite.upper) == (-1, -1, -0.2)
    assert "4 items" in concordance(one[:3], one[:3], rng).reason
    assert "the same for all items" in concordance(one, np.ones(9), rng).reason


@given(SCORES)
@settings(max_examples=25)
def test_coefficients_are_those_of_other_packages(pairs):
    rng = np.random.default_rng(3)
    one, other = np.array(pairs).T
    found = rank_agreement(one, other, rng)
    if found.estimate is not None:
        expected = kendalltau(one, other)
        assert (found.estimate, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    truth = np.arange(len(one), dtype=float)
    errors = error_correlation(one, other, truth, rng)
    if errors.estimate is not None:
        degree = min(5, len(one) // 3) - 1
        left = [side - np.polyval(np.polyfit(truth, side, degree), truth) for side in (one, other)]
        assert errors.estimate == pytest.approx(pearsonr(*left).statistic, abs=1e-6)
    alpha = score_alpha(np.array(pairs), rng)
    if alpha.estimate is not None:
        levels = krippendorff.alpha(np.array(pairs).T, level_of_measurement="interval")
        assert alpha.estimate == pytest.approx(levels)
    for one_found in (found, errors, alpha):
        if one_found.lower is not None:
            assert -1 <= one_found.lower <= one_found.upper <= 1


def test_alpha_of_an_incomplete_table(rng):
    table = np.array([[10, 12, np.nan], [50, np.nan, 40], [90, 95, 99], [30, np.nan, np.nan]])
    expected = krippendorff.alpha(table.T, level_of_measurement="interval")
    found = score_alpha(table, rng)
    assert found.estimate == pytest.approx(expected)
    assert found.n_items == 3
    assert "no item" in score_alpha(table[:, :1], rng).reason
    assert "the same" in score_alpha(np.full((5, 2), 70.0), rng).reason


@pytest.mark.parametrize("coefficient", [concordance, rank_agreement])
def test_intervals_hold_the_truth(coefficient):
    # scores of a common quality with noise, in steps of 10 so that they tie; the truth is the
    # mean over eight sets of 200 items
    rng = np.random.default_rng(11)

    def pair(items):
        quality = rng.normal(50, 20, items)
        noisy = [quality + rng.normal(shift, 12, items) for shift in (0, 5)]
        return [np.clip(np.round(side, -1), 0, 100) for side in noisy]

    truth = np.mean([coefficient(*pair(200), rng).estimate for _ in range(8)])
    held = 0
    for _ in range(100):
        found = coefficient(*pair(30), rng)
        held += found.lower <= truth <= found.upper
    assert 88 <= held <= 100


LLMBAR = Path(__file__).resolve().parents[4] / "shared" / "data" / "llmbar"


@pytest.mark.skipif(not LLMBAR.exists(), reason="no ../shared beside this repository")
def test_six_judges_of_llmbar_are_worth_two():
    with (LLMBAR / "items.jsonl").open() as file:
        answers = {
            (row["subset"], str(row["item"])): str(row["label"]) for row in map(json.loads, file)
        }
    errors: dict[tuple[str, str], dict[str, list[float]]] = {}
    with gzip.open(LLMBAR / "judgements.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            if row["wording"] == "Vanilla":
                item = row["subset"], row["item"]
                wrong = row["winner"].removesuffix(".0") != answers[item]
                errors.setdefault(item, {}).setdefault(row["judge"], []).append(wrong)
    judges = sorted({judge for by_judge in errors.values() for judge in by_judge})
    table = np.array([[np.mean(errors[item][judge]) for judge in judges] for item in errors])
    assert table.shape == (419, 6)
    mean, votes = effective_votes(table, np.zeros(419))
    assert mean.estimate == pytest.approx(0.4148, abs=5e-5)
    assert votes.estimate == pytest.approx(1.952, abs=5e-4)
    assert 1.7 < votes.lower < votes.estimate < votes.upper < 2.3


def test_votes_are_the_mean_of_pairwise_error_correlations(rng):
    quality = rng.normal(size=40)
    scores = quality[:, None] + rng.normal(size=(40, 1)) + rng.normal(size=(40, 3))
    truth = np.round(quality)
    pairs = [
        error_correlation(*scores[:, [i, j]].T, truth, rng) for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    mean, votes = effective_votes(scores, truth)
    assert mean.estimate == pytest.approx(np.mean([pair.estimate for pair in pairs]))
    assert votes.estimate == pytest.approx(3 / (1 + 2 * mean.estimate))
    # ends of both intervals belong together
    assert votes.lower == pytest.approx(3 / (1 + 2 * mean.upper))
    assert votes.upper == pytest.approx(3 / (1 + 2 * mean.lower))


def test_copies_of_a_judge_are_one_vote(rng):
    one = rng.normal(size=20)
    _, votes = effective_votes(np.column_stack([one, one, one]), np.zeros(20))
    assert (votes.estimate, votes.lower) == (pytest.approx(1), None)
    _, steady = effective_votes(np.column_stack([one, np.zeros(20)]), np.zeros(20))
    assert "do not vary" in steady.reason


def test_votes_of_few_items_have_no_interval_where_it_has_no_bound():
    # Four items: the interval of the correlation reaches -1, at which two judges' errors cancel.
    errors = np.array([[0, 1, 0, 1], [1, 1, 1, 0]], dtype=float).T
    mean, votes = effective_votes(errors, np.zeros(4))
    assert mean.estimate == pytest.approx(np.corrcoef(errors.T)[0, 1])
    assert mean.lower == pytest.approx(-1)
    assert votes.estimate == pytest.approx(2 / (1 + mean.estimate))
    assert (votes.lower, votes.upper) == (None, None)
    assert "no bound" in votes.because


def test_the_interval_of_votes_has_the_larger_of_two_jackknife_errors(rng):
    errors, pairs = rng.normal(size=(9, 1)) + rng.normal(size=(9, 3)), np.triu_indices(3, 1)

    def fisher(correlation):
        return np.log((1 + 2 * correlation) / (1 - correlation)) / 2

    def pooled(rows):
        covariance = np.cov(rows.T)
        return fisher(covariance[pairs].mean() / np.diag(covariance).mean())

    def mean(rows):
        return fisher(np.corrcoef(rows.T)[pairs].mean())

    left_out = [[way(np.delete(errors, k, axis=0)) for k in range(9)] for way in (pooled, mean)]
    error = max(8 / 9**0.5 * np.std(values, ddof=1) for values in left_out)
    found, _ = effective_votes(errors, np.zeros(9))
    half, centre = t.ppf(0.975, 8) * error, fisher(found.estimate)
    ends = [fisher(end) for end in (found.lower, found.upper)]
    assert ends == pytest.approx([centre - half, centre + half])


def test_without_a_truth_independent_judges_of_families_show_no_shared_errors():
    # residuals from the item's mean say -1/(k - 1) = -0.2 of the same six judges
    rng, families = np.random.default_rng(3), np.array([0, 0, 1, 1, 2, 2])
    found, residual = [], []
    for _ in range(200):
        scores = 2 * rng.normal(size=(30, 1)) + rng.normal(size=(30, 6))
        found.append(votes_between_families(scores, families)[0].estimate)
        left = scores - scores.mean(axis=1, keepdims=True)
        residual.append(np.corrcoef(left.T)[np.triu_indices(6, 1)].mean())
    assert abs(np.mean(found)) < 3.5 * np.std(found) / 200**0.5
    assert np.mean(residual) == pytest.approx(-0.2, abs=0.01)


def test_without_a_truth_families_that_err_together_are_fewer_votes():
    # errors within a family correlate by 0.5: of 15 pairs 3 are of one family, so r̄ is 0.1
    rng, families, held = np.random.default_rng(5), np.array([0, 0, 1, 1, 2, 2]), 0
    for _ in range(200):
        errors = (rng.normal(size=(30, 3))[:, families] + rng.normal(size=(30, 6))) * 0.5**0.5
        mean, _ = votes_between_families(2 * rng.normal(size=(30, 1)) + errors, families)
        held += mean.lower <= 0.1 <= mean.upper
    assert 0.89 <= held / 200 <= 0.99


def test_without_a_truth_or_families_votes_cannot_be_told(rng):
    scores = rng.normal(size=(30, 3))
    for families in ([0, 1, 2], [0, 0, 0]):
        _, votes = votes_between_families(scores, np.array(families))
        assert "cannot be told from the items" in votes.reason


def test_a_gain_in_agreement_by_hand():
    # Ten verdicts, five of each. Before: two wrong, κ = (0.8 - 0.5)/0.5 = 0.6. After: all right, 1.
    labels = np.repeat([0.0, 100.0], 5)
    before, after = labels.copy(), labels.copy()
    before[[0, 9]] = before[[9, 0]]
    gain = agreement_gain(labels, before, after)
    assert gain.estimate == pytest.approx(0.4)
    # One of nine left out: another text wrong of five and four, or a wrong one.
    # With one of the wrong out: 1 wrong of 9; people 5 and 4, the judge 4 and 5:
    # chance = (5·4 + 4·5)/81 = 40/81, κ = (8/9 - 40/81)/(41/81) = 32/41.
    # With a right one out: 2 wrong of 9; people 5 and 4, the judge the same:
    # chance = (25 + 16)/81 = 41/81, κ = (7/9 - 41/81)/(40/81) = 22/40.
    left_out = 1 - np.array([32 / 41] * 2 + [22 / 40] * 8)
    jackknife = 0.9 * ((left_out - left_out.mean()) ** 2).sum()
    # κ = 1 - (Σd²/n)/D with D = 2·50² = 5000: a wrong text adds 100²/5000 to n times the gain.
    single = 100.0**2 / 5000
    half = t.ppf(0.975, 9) * (jackknife + 2 * single**2 / 10**2) ** 0.5
    assert (gain.lower, gain.upper) == pytest.approx((0.4 - half, 0.4 + half))

    def excludes_0(texts):
        error = (10 * jackknife / texts) ** 0.5
        half = t.ppf(0.975, texts - 1) * (error**2 + 2 * single**2 / texts**2) ** 0.5
        return half + norm.ppf(0.8) * error <= 0.4

    needed = texts_for_gain(labels, before, after)
    assert needed == texts_for_gain(labels, after, before)
    assert (excludes_0(needed), excludes_0(needed - 1)) == (True, False)


@pytest.mark.parametrize("better", [8, 9])
def test_as_many_texts_as_a_gain_needs_show_it_in_80_percent_of_draws(rng, better):
    """Verdicts of two labels: 7 of 10 right before, 8 or 9 of 10 after, whichever text."""
    cells = [(label, i < 7, j < better) for label in (0, 100) for i in range(10) for j in range(10)]
    labels, *right = np.array(cells, dtype=np.float64).T
    every = labels, *(np.where(one > 0, labels, 100 - labels) for one in right)
    needed = texts_for_gain(*every)
    shown = 0
    for _ in range(600):
        chosen = rng.integers(0, len(labels), needed)
        shown += (agreement_gain(*(one[chosen] for one in every)).lower or 0.0) > 0
    # Draws of 600 at 80% lie within 75 to 85% in 998 of 1,000.
    assert 0.75 < shown / 600 < 0.88, needed


@given(SCORES, st.integers(0, 20))
def test_a_gain_is_the_difference_of_agreements_and_turns_its_sign(pairs, label):
    before, after = np.array(pairs).T
    labels = np.roll(before, 1)
    labels[0] = 5.0 * label
    gain, back = agreement_gain(labels, before, after), agreement_gain(labels, after, before)
    if gain.estimate is None:
        assert np.ptp(labels) == 0 or len(labels) < 4
        return
    levels = [label_agreement(labels, judged).estimate for judged in (before, after)]
    assert gain.estimate == pytest.approx(levels[1] - levels[0])
    assert back.estimate == pytest.approx(-gain.estimate)
    if gain.lower is not None:
        assert (back.lower, back.upper) == pytest.approx((-gain.upper, -gain.lower))
        assert gain.lower <= gain.estimate <= gain.upper


def test_the_same_judge_twice_gains_nothing_and_has_no_interval():
    labels = np.array([0.0, 0, 100, 100, 100])
    gain = agreement_gain(labels, labels[::-1], labels[::-1])
    assert (gain.estimate, gain.lower) == (0, None)
    assert "agree with each other on every text" in gain.reason
    assert texts_for_gain(labels, labels[::-1], labels[::-1]) is None
    assert "same" in agreement_gain(labels * 0, labels, labels[::-1]).reason
    assert agreement_gain(labels[:3], labels[:3], labels[:3]).estimate is None
