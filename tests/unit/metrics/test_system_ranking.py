"""Ranking of systems: numbers by hand, properties, and published judges of nine systems."""

import csv
import gzip
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, t, ttest_1samp

from judge_gym.judges.systems import ComparedSystems
from judge_gym.metrics.system_ranking import (
    decided_at_random,
    labels_to_buy,
    ranking,
    spread_evenly,
)
from judge_gym.metrics.system_scores import (
    SystemScores,
    figures_of_all,
    figures_of_system,
    first_shown_bias,
    one_correction,
    shared_correction,
)
from judge_gym.records.items import Item
from support.references import SHARED

NINE = SHARED / "data/judging_judges"
needs_nine = pytest.mark.skipif(not NINE.exists(), reason="needs ../shared/data/judging_judges")


def judged(rows, n_systems, binary=True):
    """SystemScores from (system, question, judge, people) rows; None is unreadable or no label."""
    system, question, judge, people = zip(*rows, strict=True)
    as_floats = [
        np.array([np.nan if v is None else v for v in of], float) for of in (judge, people)
    ]
    return SystemScores(np.array(system), np.array(question), *as_floats, n_systems, binary)


def test_rates_of_a_system_are_those_of_its_own_labels():
    # System 0: 4 passes by people of which the judge passes 3, 2 fails of which it fails 1.
    rows = [(0, q, j, p) for q, (j, p) in enumerate([(1, 1)] * 3 + [(0, 1), (0, 0), (1, 0)])]
    rows += [(0, 6, 1, None), (0, 7, None, 1), (1, 0, 1, 1)]
    found = {one.metric: one for one in figures_of_system(judged(rows, 2), 0)}
    assert found["system_sensitivity"].estimate == pytest.approx(3 / 4)
    assert found["system_specificity"].estimate == pytest.approx(1 / 2)
    assert found["system_youden"].estimate == pytest.approx(1 / 4)
    assert found["system_judged"].estimate == pytest.approx(5 / 7)
    assert found["system_people"].estimate == pytest.approx(4 / 6)
    assert found["system_bias"].estimate == pytest.approx(0.0)
    assert found["system_readable"].estimate == pytest.approx(7 / 8)
    other = {one.metric: one for one in figures_of_system(judged(rows, 2), 1)}
    assert other["system_youden"].because == "one class of answers has no label"


def test_the_interval_of_pooled_graded_scores_is_of_their_own_spread():
    # Three questions of two systems, whose means are 0.375, 0.625 and 0.5: their spread is 0.125.
    rows = [(0, 0, 0.25, 0), (1, 0, 0.5, 0), (0, 1, 0.5, 1), (1, 1, 0.75, 1)]
    rows += [(0, 2, 0.75, 1), (1, 2, 0.25, 1)]
    found = {one.metric: one for one in figures_of_all(judged(rows, 2, binary=False))}
    graded, passes = found["pooled_judged"], found["pooled_people"]
    half = t.ppf(0.975, df=2) * 0.125 / 3**0.5
    assert (graded.estimate, graded.n, graded.n_items) == (0.5, 6, 3)
    assert (graded.lower, graded.upper) == pytest.approx((0.5 - half, 0.5 + half))
    # People's are 0 or 1, alike within a question: Wilson's, of fewer answers than six.
    assert passes.estimate == pytest.approx(4 / 6)
    assert passes.method == "share, Wilson interval clustered by question"


def test_a_shared_correction_is_rogan_and_gladens_and_is_cut_to_shares():
    # Se = 3/4 and Sp = 1 over both; 0.5 of the first marked: 0.5 / 0.75, all of the second: 1.
    rows = [(0, 0, 1, 1), (0, 1, 1, 1), (0, 2, 0, 0), (0, 3, 0, 1), (1, 4, 1, 1)]
    assert shared_correction(judged(rows, 2)) == pytest.approx([0.5 / 0.75, 1.0])


def test_with_every_label_the_corrected_mean_is_that_of_people():
    rows = [(s, q, (q + s) % 2, int(q < 4 + 3 * s)) for s in range(2) for q in range(10)]
    found = ranking(judged(rows, 2), np.random.default_rng(1), 10)
    assert found.corrected == pytest.approx([0.4, 0.7])
    assert found.order.tolist() == [1, 0]


def test_questions_that_systems_share_make_their_difference_surer():
    # Easy questions are passed by both: the difference rests on 8 of 40 questions, one way.
    rows = [(0, q, int(q < 20), int(q < 20)) for q in range(40)]
    rows += [(1, q, int(q < 28), int(q < 28)) for q in range(40)]
    shared = ranking(judged(rows, 2), np.random.default_rng(1))
    apart = [(s, q + 40 * s, j, p) for s, q, j, p in rows]
    alone = ranking(judged(apart, 2), np.random.default_rng(1))
    assert shared.errors[0] < 0.7 * alone.errors[0]
    # d has mean 0.2 over 40 questions: its variance is 0.2 * 0.8 / 39.
    assert shared.errors[0] ** 2 == pytest.approx(0.2 * 0.8 / 39, rel=0.02)
    assert (shared.outcomes.tolist(), alone.outcomes.tolist()) == ([-1], [0])


def test_a_system_with_few_labels_is_not_ranked_and_the_others_are():
    rows = [(s, q, q % 2, q % 2 if q < (3 if s == 2 else 20) else None) for s in range(3)
            for q in range(20)]  # fmt: skip
    found = ranking(judged(rows, 3), np.random.default_rng(1))
    assert found.ranked.tolist() == [True, True, False]
    assert len(found.outcomes) == 1
    assert found.difference_of(0, 1).estimate is not None
    lacking = found.difference_of(0, 2)
    assert lacking.reason == (
        "not estimable, because it needs 20 labelled items of each system, and there are 20 and 3: "
        "0 and 17 more"
    )


def test_no_label_at_all_ranks_nothing_and_says_why():
    rows = [(s, q, 1, None) for s in range(2) for q in range(9)]
    data = judged(rows, 2)
    found = ranking(data, np.random.default_rng(1))
    assert found.expected_inversions().because == "it needs two systems with labels"
    assert one_correction(data, np.random.default_rng(1)) is None


def test_an_order_that_the_judge_turns_is_expected_to_be_inverted():
    # People pass 0.9 and 0.1, the judge 0.1 and 0.9, on 200 answers each.
    rows = [
        (s, q, int((q % 10 == 0) != bool(s)), int((q % 10 > 0) != bool(s)))
        for s in range(2)
        for q in range(200)
    ]
    found = ranking(judged(rows, 2), np.random.default_rng(1))
    assert found.inversions == 1
    assert found.expected_inversions().estimate == pytest.approx(1.0)
    assert found.tau().estimate == pytest.approx(-1.0)


def test_answers_that_a_judge_does_not_score_stay_in_peoples_means():
    """It scores only what people pass of system 0: there all are right, and half are not scored."""
    rows = [(0, n, 1 if n % 2 else None, n % 2) for n in range(100)]
    rows += [(1, 100 + n, int(n % 4 > 0), int(n % 4 > 0)) for n in range(100)]
    found = ranking(judged(rows, 2), np.random.default_rng(0))
    assert found.judged == pytest.approx([1, 0.75])
    assert found.corrected == pytest.approx([0.5, 0.75], abs=0.02)
    inverted = found.expected_inversions()
    assert inverted.estimate == pytest.approx(1, abs=0.02)
    # Fewer than 2.5% of the draws invert none; the mean stays within the interval.
    assert 0.95 < inverted.lower <= inverted.estimate <= inverted.upper == 1


def test_a_system_of_which_nothing_is_scored_is_not_ranked():
    rows = [(0, n, None, n % 2) for n in range(40)]
    rows += [(1, 40 + n, n % 2, n % 2) for n in range(40)]
    rows += [(2, 80 + n, int(n % 4 > 0), int(n % 4 > 0)) for n in range(40)]
    found = ranking(judged(rows, 3), np.random.default_rng(0))
    assert found.ranked.tolist() == [False, True, True]
    assert np.isnan(found.corrected).tolist() == [True, False, False]


def test_a_judge_that_ties_all_systems_is_expected_to_invert_half_of_the_pairs():
    rows = [(s, q, q % 2, int(q % 10 < 3 * s)) for s in range(3) for q in range(200)]
    found = ranking(judged(rows, 3), np.random.default_rng(1))
    assert found.expected_inversions().estimate == pytest.approx(1.5)
    assert found.tau().because == "systems do not differ"


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0), (2, 5, 0, 3, 1, 4)])
def test_equal_means_tie_whatever_the_order_of_rows_and_tau_is_in_its_interval(order):
    scores = [0.75, 0.75, 0.75, 0.75, 0.5, 0.0]
    shifted = [scores[n] for n in order]
    people = [[*scores[:-1], 0.25], scores, [0.0, 0.0, 0.0, 0.25, 0.0, 0.0]]
    own = [scores, shifted, [0.0, 0.0, 0.0, 0.25, 0.0, 0.0]]
    people[1] = [people[1][n] for n in order]
    rows = [(s, q, own[s][q], people[s][q]) for q in range(6) for s in range(3)]
    found = ranking(judged(rows, 3, binary=False), np.random.default_rng(1), 6)
    assert found.judged[0] == found.judged[1]
    assert found.expected_inversions().estimate == pytest.approx(0.5, abs=0.02)
    tau = found.tau()
    # Of two pairs that the judge orders and three that people do: 2 / sqrt(2 * 3).
    assert tau.estimate == pytest.approx(2 / 6**0.5)
    assert tau.lower - 1e-9 <= tau.estimate <= tau.upper + 1e-9


def test_errors_of_labels_on_a_part_of_the_questions_are_those_of_numpy():
    # 12 of 400 questions have labels of both systems; the judge says the same of all: no weight.
    rng = np.random.default_rng(4)
    people = rng.random((2, 12)) < [[0.5], [0.6]]
    rows = [(s, q, 1, int(people[s, q]) if q < 12 else None) for s in range(2) for q in range(400)]
    found = ranking(judged(rows, 2), np.random.default_rng(1), 12)
    reference = np.cov(people, ddof=1) / 12
    # A system's own variance is at least that shrunk towards all systems'.
    squares = people.var(axis=1, ddof=1) * 11
    pooled = squares.sum() / 22
    shrunk = np.maximum(squares / 11, (squares + 2 * pooled) / 13)
    reference += np.diag((shrunk - squares / 11) / 12)
    assert found.covariance == pytest.approx(reference, abs=1e-12)
    difference = reference[0, 0] + reference[1, 1] - 2 * reference[0, 1]
    assert found.errors == pytest.approx([difference**0.5], abs=1e-12)


def test_errors_of_several_answers_to_a_question_are_clustered_as_by_statsmodels():
    from statsmodels.api import OLS

    rng = np.random.default_rng(6)
    question = np.repeat(np.arange(15), 3)
    people = rng.random(45) < np.repeat(rng.random(15), 3)
    rows = [(0, q, 1, int(p)) for q, p in zip(question, people, strict=True)]
    rows += [(0, q, 1, None) for q in range(15, 100)]
    found = ranking(judged(rows, 1), np.random.default_rng(1))
    fitted = OLS(people.astype(float), np.ones(45)).fit(
        cov_type="cluster", cov_kwds={"groups": question}
    )
    assert found.covariance[0, 0] == pytest.approx(fitted.cov_params()[0, 0], rel=1e-9)


def test_labels_that_all_agree_do_not_make_a_system_certain():
    # 20 of 20 labels pass, as the judge says: Wilson's interval is [0.84, 1].
    rows = [(s, q, int(q % 2 < 1 + s), int(q % 2 < 1 + s) if q < 20 else None)
            for s in range(2) for q in range(400)]  # fmt: skip
    found = ranking(judged(rows, 2), np.random.default_rng(1))
    assert found.lower[1] < 0.95


def simulated(rng, rates, n=150):
    """Labels at 0.5 and a judge right with the rate of each system, independently."""
    people = rng.integers(0, 2, (len(rates), n))
    right = rng.random(people.shape) < np.array(rates)[:, None]
    rows = [(s, q, int(people[s, q] == right[s, q]), int(people[s, q]))
            for s in range(len(rates)) for q in range(n)]  # fmt: skip
    return judged(rows, len(rates))


def test_graded_labels_on_a_wide_scale_are_told_apart_as_by_the_paired_t():
    # 40 questions, labels of two systems from 70 to 84 on a scale said to be 0 to 100, a judge that
    # says nothing of them; 8 more answers of each have no label.
    rng = np.random.default_rng(3)
    labels = np.round(rng.normal([[75], [79]], 3, (2, 40)))
    rows = [(s, q, 50, labels[s, q] if q < 40 else None) for s in (0, 1) for q in range(48)]
    found = {}
    for low, high in ((0, 100), (50, 100), (-900, 1100)):
        scaled = [
            (s, q, (j - low) / (high - low), None if p is None else (p - low) / (high - low))
            for s, q, j, p in rows
        ]
        ranks = ranking(judged(scaled, 2, binary=False), np.random.default_rng(0))
        one = ranks.difference_of(0, 1)
        found[low, high] = np.array([one.estimate, one.lower, one.upper]) * (high - low)
    apart = labels[1] - labels[0]
    by_t = ttest_1samp(apart, 0).confidence_interval()
    for value, lower, upper in found.values():
        assert value == pytest.approx(apart.mean())
        # Somewhat wider: labels count as if half a one more were at the far end.
        assert by_t.high - by_t.low <= upper - lower <= 1.25 * (by_t.high - by_t.low)
    np.testing.assert_allclose(found[0, 100], found[-900, 1100])


@pytest.mark.parametrize("labelled", [20, 60])
@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_differences_of_graded_labels_are_covered_at_their_level(noise, labelled):
    # Labels of 75 and 76 ± 3 on 0 to 100; the judge is off by `noise`, on 200 answers of each.
    rng, held, widths, errors = np.random.default_rng(4), 0, [], []
    for _ in range(300):
        people = rng.normal([[0.75], [0.76]], 0.03, (2, 200))
        said = people + rng.normal(0, 0.03 * noise, people.shape)
        rows = [
            (s, q + 200 * s, said[s, q], people[s, q] if q < labelled else None)
            for s in (0, 1)
            for q in range(200)
        ]
        found = ranking(judged(rows, 2, binary=False), rng).difference_of(0, 1)
        held += found.lower <= 0.01 <= found.upper
        widths.append(found.upper - found.lower)
        errors.append(found.estimate - 0.01)
    # 300 sets at 95%: 285 ± 3.8; the width is that of ±1.96 errors.
    assert 273 <= held <= 296
    assert np.mean(widths) == pytest.approx(2 * 1.96 * np.std(errors), rel=0.2)


@settings(deadline=None, max_examples=15)
@given(
    unit=st.floats(0.01, 1000), shift=st.floats(-500, 500), wider=st.floats(0, 9),
    seed=st.integers(0, 1000),
)  # fmt: skip
def test_figures_of_graded_labels_change_with_their_unit_alone(unit, shift, wider, seed):
    rng = np.random.default_rng(seed)
    people = rng.integers(20, 80, 100) / 100
    said = np.clip(people + rng.normal(0, 0.1, 100), 0, 1)
    labels = np.where(rng.random(100) < 0.7, people, np.nan)
    items = [Item(id=f"t{n}", text=f"T{n}", system="ab"[n % 2]) for n in range(100)]

    def figures(a, b, bounds):
        of = ComparedSystems.of(
            items, said * a + b, labels * a + b, bounds, np.random.default_rng(0)
        )
        apart = [(one.estimate, one.lower, one.upper) for one in of.difference(0, 1)]
        means = [(one.estimate - b, one.lower - b, one.upper - b) for one in of.mean(1)]
        return apart, means

    # The declared scale is as wide as the scores, or wider on both sides.
    plain = figures(1, 0, (0, 1))
    scaled = figures(unit, shift, (shift - wider * unit, shift + (1 + wider) * unit))
    for one, other in zip(plain, scaled, strict=True):
        np.testing.assert_allclose(np.array(other) / unit, one, rtol=1e-6, atol=1e-8)


def test_power_to_tell_graded_errors_apart_does_not_take_a_narrow_spread_for_a_wide_one():
    # Bias of both ±0.01 by turns: variance 1e-4, its floor 0.02² / 42. Noncentrality
    # 4·0.1²·20·20/40/1e-4 = 4000, so that a power of 0.8 is exceeded.
    rows = [(s, 20 * s + q, 0.5 + 0.01 * (-1) ** q, 0.5) for s in (0, 1) for q in range(20)]
    assert one_correction(judged(rows, 2, binary=False), np.random.default_rng(0)).power > 0.99


def test_equal_rates_are_refused_as_often_as_the_level_and_different_ones_nearly_always():
    rng = np.random.default_rng(7)
    equal = [one_correction(simulated(rng, [0.85] * 4), rng).p < 0.05 for _ in range(200)]
    # 200 trials at 5%: 10, and at most 19 with 99.7%.
    assert sum(equal) <= 19
    apart = [one_correction(simulated(rng, [0.95, 0.9, 0.75, 0.7]), rng) for _ in range(20)]
    assert sum(one.p < 0.05 for one in apart) >= 18
    assert not any(one.serves for one in apart if one.p < 0.05)


def test_of_many_questions_the_test_is_that_of_chi_squared():
    """Pearson's statistic of each class, of rates that differ a little, with one degree each."""
    rng = np.random.default_rng(11)
    n = 10_001
    people = rng.integers(0, 2, (2, n))
    right = rng.random((2, n)) < np.array([[0.8], [0.806]])
    said = np.where(right, people, 1 - people)
    rows = [(s, q, int(said[s, q]), int(people[s, q])) for s in range(2) for q in range(n)]
    statistic = 0.0
    for truth in (0, 1):
        of = [said[s][people[s] == truth] for s in range(2)]
        common = np.concatenate(of)
        statistic += sum(len(x) * (x.mean() - common.mean()) ** 2 for x in of) / common.var()
    expected = chi2.sf(statistic, 2)
    assert 0.02 < expected < 0.98
    found = one_correction(judged(rows, 2), rng)
    # 2,000 draws: four standard errors.
    assert found.p == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 2000) ** 0.5)


def test_a_few_labels_leave_it_open_whether_one_correction_serves():
    found = one_correction(
        simulated(np.random.default_rng(3), [0.9] * 3, n=8), np.random.default_rng(3)
    )
    assert not found.serves
    assert "too few labels" in found.why_not


@pytest.mark.parametrize(
    ("passes", "fails", "serves"),
    [
        # χ² of 2 degrees needs a noncentrality of 9.63 for a power of 0.8. Two systems 0.1 above
        # and below a mean of 0.9: 0.2² · n/2 / 0.09 by n labels each, 9.78 of 44 and 9.11 of 41.
        ((44, 44), (44, 44), True),
        ((41, 41), (44, 44), False),
        ((44, 44), (41, 41), False),
        # 300 labels of one system are of no use without those of the other.
        ((300, 5), (300, 5), False),
        ((300, 5), (300, 300), False),
        ((300, 300), (300, 2), False),
        ((300, 300), (300, 0), False),
        ((300, 300), (0, 0), False),
    ],
)
def test_equal_errors_are_shown_by_labels_of_each_class_of_each_system(passes, fails, serves):
    """The judge makes no error, so no test finds a difference."""
    rows, question = [], iter(range(10_000))
    for system in range(2):
        for label, counts in ((1, passes), (0, fails)):
            rows += [(system, next(question), label, label) for _ in range(counts[system])]
    found = one_correction(judged(rows, 2), np.random.default_rng(0))
    assert (found.p, found.serves) == (1.0, serves)


def test_graded_scores_are_ranked_by_people_and_their_bias_is_tested():
    rng = np.random.default_rng(5)
    people = rng.integers(0, 4, (3, 100)) / 3
    bias = np.array([0.0, 0.3, 0.0])
    rows = [(s, q, float(people[s, q] + bias[s]), float(people[s, q]))
            for s in range(3) for q in range(100)]  # fmt: skip
    data = judged(rows, 3, binary=False)
    found = {one.metric: one for one in figures_of_system(data, 1)}
    assert found["system_bias"].estimate == pytest.approx(0.3)
    assert "system_youden" not in found
    assert one_correction(data, rng).p < 0.001
    assert ranking(data, rng).corrected == pytest.approx(people.mean(axis=1))


def test_labels_go_where_a_pair_is_near_its_decision():
    rng = np.random.default_rng(2)
    # The first two are far apart from the third and near each other; the fourth is like the third.
    rates = (0.95, 0.75, 0.3, 0.3)
    rows = [(s, 1000 * s + q, int(v), int(v) if q < 40 else None) for s, rate in enumerate(rates)
            for q, v in enumerate(rng.random(400) < rate)]  # fmt: skip
    for number, row in enumerate(rows):  # a judge that knows nothing
        rows[number] = (*row[:2], int(rng.random() < 0.5), row[3])
    plan = labels_to_buy(ranking(judged(rows, 4), rng), 60)
    assert plan.counts.sum() == 60
    assert plan.counts[:2].sum() > plan.counts[2:].sum()
    assert plan.now < plan.evenly <= plan.planned


@pytest.mark.parametrize("few", [5, 8, 12])
def test_a_system_of_few_labels_gets_the_next_ones_and_they_promise_no_certainty(few):
    """75 labels of one system, `few` of the other: what is open is open by the few."""
    rows = [(0, q, int(q % 6 > 0), int(q % 6 > 0) if q < 75 else None) for q in range(300)]
    rows += [(1, 300 + q, int(q % 4 > 0), int(q % 3 > 0) if q < few else None) for q in range(300)]
    found = ranking(judged(rows, 2), np.random.default_rng(0), few)
    assert found.outcomes.tolist() == [0]
    plan = labels_to_buy(found, 50)
    assert plan.counts[1] > plan.counts[0]
    assert plan.evenly <= plan.planned < 0.95
    assert labels_to_buy(found, 25).planned < plan.planned


def test_labels_spread_evenly_end_where_answers_do():
    assert spread_evenly(np.array([1, 10, 10]), 7).tolist() == [1, 3, 3]
    assert spread_evenly(np.array([1, 2]), 9).tolist() == [1, 2]


def published():
    """The table of nine systems: columns by name."""
    with gzip.open(NINE / "answers.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def nine(table, judge, keep=None):
    as_number = {"True": 1.0, "False": 0.0, "": np.nan}
    scores, people = (np.array([as_number[v] for v in table[name]])
                      for name in (judge, "HumanJudgement"))  # fmt: skip
    if keep is not None:
        people[~keep] = np.nan
    system = np.unique(table["system"], return_inverse=True)[1]
    question = np.unique(table["question_id"], return_inverse=True)[1]
    return SystemScores(system, question, scores, people, 9, True)


@needs_nine
def test_published_judges_of_nine_systems_have_their_published_figures():
    table = published()
    with (NINE / "reference.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            data = nine(table, row["judge"])
            found = ranking(data, np.random.default_rng(0))
            pooled = {one.metric: one.estimate for one in figures_of_all(data)}
            people = data.means(data.people, data.both)
            youden = [
                one.estimate
                for system in range(9)
                for one in figures_of_system(data, system)
                if one.metric == "system_youden"
            ]
            figures = {
                "n": data.both.sum(),
                "readable": data.readable.mean(),
                "scott_pi": pooled["scott_pi"],
                "tpr": pooled["pooled_sensitivity"],
                "tnr": pooled["pooled_specificity"],
                "pass_rate": pooled["pooled_judged"],
                "human_pass_rate": pooled["pooled_people"],
                "system_error_raw": np.abs(found.judged - people).mean(),
                "system_error_shared_correction": np.abs(shared_correction(data) - people).mean(),
                "order_inversions_raw": found.inversions,
                "J_lowest": min(youden),
                "J_highest": max(youden),
            }
            for name, value in figures.items():
                assert value == pytest.approx(float(row[name]), abs=1e-6), (row["judge"], name)
            # Its errors differ between systems, so one correction is refused.
            assert not one_correction(data, np.random.default_rng(0)).serves


def drawn(table, counts, rng, given=None):
    """Return which answers have a label: `counts` more of each system, at random."""
    keep = np.zeros(len(table["system"]), dtype=bool) if given is None else given.copy()
    system = np.unique(table["system"], return_inverse=True)[1]
    for number, count in enumerate(counts):
        left = np.flatnonzero((system == number) & ~keep)
        keep[rng.choice(left, min(int(count), len(left)), replace=False)] = True
    return keep


@needs_nine
@pytest.mark.parametrize("labels", [10, 20, 50])
def test_decided_pairs_of_few_labels_have_the_sign_of_all_labels(labels):
    table, outcomes = published(), Counter()
    for judge in ("GPT-4", "Llama3-70B", "EM", "Llama-7B"):
        whole = nine(table, judge)
        truth = whole.means(whole.people, whole.both)
        for seed in range(25):
            rng = np.random.default_rng([labels, seed])
            found = ranking(nine(table, judge, drawn(table, [labels] * 9, rng)), rng, labels)
            first, second = found.pairs
            right = np.sign(truth[first] - truth[second])
            outcomes["decided"] += np.count_nonzero(found.outcomes)
            outcomes["wrong"] += ((found.outcomes != 0) & (found.outcomes == -right)).sum()
            outcomes["rankings with a wrong one"] += (found.outcomes * right < 0).any()
    assert outcomes["decided"] > 0
    assert outcomes["wrong"] <= 0.05 * outcomes["decided"]
    assert outcomes["rankings with a wrong one"] <= 0.05 * 100


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [(20, 20), (20, 100)])
@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.97, 0.97), (0.6, 0.97)])
def test_differences_of_twenty_labels_are_covered_also_where_labels_crowd(rates, first, second):
    """A judge right of all answers of one system and of 70% of the other; 400 sets at 95%."""
    rng, held = np.random.default_rng(3), 0
    for _ in range(400):
        people = rng.random((2, 300)) < np.array(rates)[:, None]
        right = rng.random((2, 300)) < [[1.0], [0.7]]
        rows = [
            (s, 300 * s + q, int(people[s, q] == right[s, q]), int(people[s, q]) if q < n else None)
            for s, n in enumerate((first, second))
            for q in range(300)
        ]
        found = ranking(judged(rows, 2), rng).difference_of(0, 1)
        held += found.lower <= rates[1] - rates[0] <= found.upper
    assert held >= 0.92 * 400


@needs_nine
@pytest.mark.slow
def test_planned_labels_decide_more_pairs_than_as_many_spread_evenly(capsys):
    table, more = published(), 450
    decided = Counter()
    for judge in ("GPT-4", "Llama3-70B"):
        whole = nine(table, judge)
        truth = whole.means(whole.people, whole.both)
        for seed in range(60):
            rng = np.random.default_rng([8, seed])
            pilot = drawn(table, [50] * 9, rng)
            plan = labels_to_buy(ranking(nine(table, judge, pilot), rng), more)
            decided["forecast"] += plan.planned
            for name, counts in (("planned", plan.counts), ("evenly", [more // 9] * 9)):
                found = ranking(nine(table, judge, drawn(table, counts, rng, pilot)), rng)
                first, second = found.pairs
                decided[name] += np.count_nonzero(found.outcomes)
                decided[f"{name}, wrong"] += (
                    found.outcomes * (truth[first] - truth[second]) < 0
                ).sum()
    with capsys.disabled():
        print(f"\npairs decided by {more} more labels: {dict(decided)}")
    assert decided["planned"] > decided["evenly"]
    assert decided["forecast"] == pytest.approx(decided["planned"], rel=0.1)
    assert decided["planned, wrong"] <= 0.05 * decided["planned"]


def pairs(rows, n_systems):
    """SystemScores of (first, second, question, judge, people): 1 where the first one wins."""
    first, second, question, judge, people = (np.array(of) for of in zip(*rows, strict=True))
    return SystemScores.of_pairs(
        first, second, cluster=question, judge=judge.astype(float), people=people.astype(float),
        n_systems=n_systems, binary=True,
    )  # fmt: skip


def test_a_system_wins_the_pairs_that_it_is_first_or_second_in():
    # By people: 0 beats 1 in 3 of 4 pairs, and 2 in 2 of 2; 1 beats 2 in one of two.
    won = [(0, 1, 1), (1, 0, 0), (0, 1, 1), (1, 0, 1), (0, 2, 1), (2, 0, 0), (1, 2, 1), (2, 1, 1)]
    # The judge always prefers the first answer.
    rows = [(one, other, q, 1.0, float(by)) for q, (one, other, by) in enumerate(won)]
    scores = pairs(rows, 3)
    found = [{one.metric: one for one in figures_of_system(scores, s)} for s in range(3)]
    people = [of["system_people"].estimate for of in found]
    assert people == pytest.approx([5 / 6, 2 / 6, 1 / 4])
    # First in 3 of 6, 3 of 6 and 2 of 4 pairs.
    judge = [of["system_judged"].estimate for of in found]
    assert judge == pytest.approx([3 / 6, 3 / 6, 2 / 4])
    assert np.dot(people, [6, 6, 4]) == 8, "one win a pair"


def test_two_systems_are_as_far_apart_as_the_share_of_pairs_that_one_wins():
    # 30 of 40 pairs: 0.75 less 0.25, whose variance is four times that of a share.
    rows = [(n % 2, 1 - n % 2, n, float(n % 2 == 0), float((n % 4 == 3) != (n % 2 == 0)))
            for n in range(40)]  # fmt: skip
    found = ranking(pairs(rows, 2), np.random.default_rng(1))
    assert found.corrected == pytest.approx([0.75, 0.25])
    assert found.errors[0] ** 2 == pytest.approx(4 * 0.75 * 0.25 / 39, rel=0.05)
    assert found.outcomes.tolist() == [1]


def test_repeated_questions_do_not_narrow_a_win_rate():
    once = [(0, 1 + n % 2, n, 1.0, float(n % 3 > 0)) for n in range(30)]
    again = [(0, 1 + (n + 1) % 2, q, j, p) for n, (_, _, q, j, p) in enumerate(once)]
    of = [{one.metric: one for one in figures_of_system(pairs(rows, 3), 0)}["system_people"]
          for rows in (once, once + again)]  # fmt: skip
    assert of[0].estimate == pytest.approx(of[1].estimate)
    assert of[0].upper - of[0].lower == pytest.approx(of[1].upper - of[1].lower)


def test_pairs_of_four_systems_are_decided_with_the_right_sign():
    """SIMULATED. Four systems of Bradley-Terry strengths; three pairs of each question."""
    rng, strength = np.random.default_rng(4), np.array([0.0, 0.0, 0.5, 1.2])
    wrong, inside = 0, []
    for _ in range(200):
        rows = []
        for question in range(80):
            hard = rng.normal(0, 1, 4)
            for one, other in rng.permuted(list(zip(*np.triu_indices(4, 1), strict=True)))[:3]:
                apart = (strength + hard)[[one, other]] @ [1, -1]
                by = float(rng.random() < 1 / (1 + np.exp(-apart)))
                judge = by if rng.random() < 0.8 else 1 - by
                people = by if rng.random() < 0.5 else np.nan
                rows.append((one, other, question, judge, people))
        found = ranking(pairs(rows, 4), rng)
        order = -np.sign(strength[found.pairs[0]] - strength[found.pairs[1]])
        wrong += bool((found.outcomes * order > 0).any() or found.outcomes[0] != 0)
        inside.append((found.lower[0] - 1e-9 <= MEAN_OF_WEAKEST <= found.upper[0]).all())
    assert wrong / 200 <= 0.08
    assert np.mean(inside) >= 0.93


def _mean_of_weakest():
    """The win rate of a system of strength 0 against 0, 0.5 and 1.2; differences of two standard
    normals are normal with variance 2."""
    apart = np.random.default_rng(1).normal(0, 2**0.5, 400_000)
    return np.mean([(1 / (1 + np.exp(s - apart))).mean() for s in (0.0, 0.5, 1.2)])


MEAN_OF_WEAKEST = _mean_of_weakest()


def test_labels_of_pairs_at_random_decide_about_as_many_as_forecast():
    """SIMULATED. Four systems, 400 pairs, 100 labels and 100 more."""
    rng, forecast, came = np.random.default_rng(6), [], []
    for _ in range(120):
        strength = rng.normal(0, 0.5, 4)
        first, second = np.array([rng.choice(4, 2, replace=False) for _ in range(400)]).T
        by = rng.random(400) < 1 / (1 + np.exp(strength[second] - strength[first]))
        judge = np.where(rng.random(400) < 0.8, by, ~by)

        def ranked(labelled, of=(first, second, judge, by)):
            one, other, said, truth = of
            people = np.where(np.arange(400) < labelled, truth.astype(float), np.nan)
            return ranking(pairs([*zip(one, other, range(400), said, people, strict=True)], 4), rng)

        found = ranked(100)
        forecast.append(decided_at_random(found, 100))
        assert np.count_nonzero(found.outcomes) <= 6
        came.append(np.count_nonzero(ranked(200).outcomes))
    assert abs(np.mean(forecast) - np.mean(came)) < 0.5


def test_what_is_shown_first_is_preferred_beyond_people():
    # 8 judgements of 4 pairs in both orders: the first one shown wins, except for one pair.
    judge = np.array([1, 1, 1, 1, 1, 1, 1, 0], float)
    people = np.array([1, 0, 1, 0, 0, 1, 1, 0], float)
    found = first_shown_bias(judge, people, np.repeat(np.arange(4), 2))
    assert found.estimate == pytest.approx(3 / 8)
    # By pair 1/2, 1/2, 1/2 and 0: t of 3 degrees of freedom.
    assert (found.upper - found.lower) / 2 == pytest.approx(3.182 * 0.25 / 2, rel=1e-3)
