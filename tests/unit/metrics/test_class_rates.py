"""Sensitivity and specificity: numbers by hand, and how often a judge is wrongly shown to reach."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from judge_gym.metrics.class_rates import (
    ALPHA,
    class_counts,
    class_rates,
    exact_bounds,
    exact_p,
    fewest_labels,
    labels_needed,
    level_of,
    slices_shown,
)
from judge_gym.metrics.system_scores import SystemScores, figures_of_all, figures_of_system

TRIALS = 2000
LEAST = np.array([0.8, 0.8])


def drawn(rng, rates, labels, trials=TRIALS):
    """Hits, trials x slices x 2, of judges with these rates of (passes, fails) in each slice."""
    rates = np.asarray(rates, dtype=float)
    return rng.binomial(labels, rates, (trials, *rates.shape)).astype(float)


def decided(hits, labels):
    return slices_shown(hits, np.full_like(hits, labels), LEAST)


def test_rates_are_of_the_readable_answers_of_each_class():
    # People pass 5, of which one is unreadable and 3 are found; they fail 2, of which one is found.
    judge = np.array([1, 1, 1, 0, np.nan, 0, 1, 1.0])
    people = np.array([1, 1, 1, 1, 1, 0, 0, np.nan])
    passed, failed = class_rates(judge, people, np.arange(8))
    assert (passed.metric, failed.metric) == ("sensitivity", "specificity")
    assert (passed.estimate, failed.estimate) == (0.75, 0.5)
    assert (passed.n, failed.n) == (4, 2)
    # Clopper and Pearson: P(X >= 3 of 4) at the lower end, and P(X <= 3 of 4) at the upper.
    assert binom.sf(2, 4, passed.lower) == pytest.approx(0.025)
    assert binom.cdf(3, 4, passed.upper) == pytest.approx(0.025)


def test_a_class_without_a_label_has_no_rate():
    passed, failed = class_rates(np.ones(3), np.ones(3), np.arange(3))
    assert passed.estimate == 1.0
    assert failed.because == "no answer of that class has a label"
    assert [float(end) for end in exact_bounds(0, 0)] == [0.0, 1.0]


def test_the_audit_has_the_same_rates():
    rng = np.random.default_rng(4)
    people, system = rng.integers(0, 2, 90).astype(float), np.arange(90) % 2
    judge = np.where(rng.random(90) < 0.8, people, 1 - people)
    judge[:5] = np.nan
    cluster = np.arange(90) // 2
    scores = SystemScores(system, cluster, judge, people, 2, True)
    rates = class_rates(judge, people, cluster)
    pooled = {one.metric: one for one in figures_of_all(scores)}
    one = system == 1
    own = class_rates(judge[one], people[one], cluster[one])
    of_system = {found.metric: found for found in figures_of_system(scores, 1)}
    for by_name, prefix, expected in ((pooled, "pooled", rates), (of_system, "system", own)):
        for rate in expected:
            there = by_name[f"{prefix}_{rate.metric}"]
            assert (there.estimate, there.lower, there.upper, there.n) == (
                rate.estimate, rate.lower, rate.upper, rate.n,
            )  # fmt: skip


def test_texts_that_repeat_a_question_say_no_more_than_the_question():
    judge, people = np.array([1, 1, 1, 0, 0.0] * 8), np.ones(40)
    once = class_rates(judge, people, np.arange(40))[0]
    three = class_rates(*(np.tile(part, 3) for part in (judge, people, np.arange(40))))[0]
    assert (three.estimate, three.n, three.n_items) == (once.estimate, 120, 40)
    assert three.lower <= once.lower + 1e-9
    assert three.upper >= once.upper - 1e-9


def test_as_few_labels_as_said_show_a_judge_without_an_error():
    for slices in (1, 4):
        n = fewest_labels(0.8, slices)
        for labels, reached in ((n, True), (n - 1, False)):
            hits = np.full((slices, 2), float(labels))
            assert decided(hits, labels).reached.all() == reached
    assert fewest_labels(0.8) == 17  # 0.8^17 = 0.0225, 0.8^16 = 0.028


def test_as_many_labels_as_forecast_decide_and_no_fewer():
    judge, people = np.repeat([1.0, 0.0], [45, 5]), np.ones(50)
    counts = class_counts(judge, people, np.arange(50))[0]
    n = labels_needed(counts, 0.8)
    assert exact_bounds(0.9 * n, n)[0] >= 0.8 > exact_bounds(0.9 * (n - 1), n - 1)[0]
    assert labels_needed(counts, 0.9) is None


@settings(deadline=None)
@given(st.integers(17, 400), st.floats(0.5, 0.99))
def test_no_number_of_labels_shows_a_judge_at_the_requirement_too_often(n, least):
    hits = np.arange(n + 1.0)
    shows = exact_p(hits, np.full(n + 1, float(n)), least) <= ALPHA
    assert binom.pmf(hits, n, least)[shows].sum() <= ALPHA + 1e-9
    # The bound says the same.
    assert ((exact_bounds(hits, np.full(n + 1, float(n)))[0] >= least) == shows).all()


@pytest.mark.parametrize("labels", [40, 100, 200])
@pytest.mark.parametrize("slices", [1, 3, 6])
@pytest.mark.parametrize("requirement", [0, 1])
def test_a_judge_just_below_a_requirement_is_seldom_shown_to_reach_it(labels, slices, requirement):
    rng = np.random.default_rng([labels, slices, requirement])
    rates = np.ones((slices, 2))
    rates[:, requirement] = 0.79
    below_everywhere = decided(drawn(rng, rates, labels), labels).reached
    # In one slice or more: the correction is over slices.
    assert below_everywhere.any(axis=-1).mean() <= ALPHA
    rates[1:] = 1.0
    below_in_one = decided(drawn(rng, rates, labels), labels).reached
    assert below_in_one[:, 0].mean() <= ALPHA


@pytest.mark.parametrize("slices", [1, 3])
def test_a_judge_well_above_is_shown_to_reach_in_most_trials(slices):
    rng = np.random.default_rng(slices)
    found = decided(drawn(rng, np.full((slices, 2), 0.9), 200), 200)
    assert found.reached.mean(axis=0).min() >= 0.9
    assert found.reached.all(axis=-1).mean() >= 0.8


def test_questions_that_systems_share_do_not_make_a_judge_seem_shown():
    # 60 questions answered by 4 systems; a judge errs on whole questions: 0.79 on average.
    rng, reached = np.random.default_rng(11), []
    cluster, people = np.repeat(np.arange(60), 4), np.ones(240)
    for _ in range(TRIALS):
        rate = rng.beta(0.79 * 2, 0.21 * 2, 60)
        judge = rng.binomial(1, np.repeat(rate, 4)).astype(float)
        of = class_counts(judge, people, cluster, level_of(1))[0]
        reached.append(exact_p(np.array([of.hits]), np.array([of.trials]), 0.8)[0] <= ALPHA)
    assert np.mean(reached) <= ALPHA


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), min_size=1, max_size=6))
def test_bounds_fit_what_is_decided(hits):
    hits = np.array(hits, dtype=float)
    found = slices_shown(hits, np.full_like(hits, 80.0), LEAST)
    assert (found.lower[found.reached] >= LEAST).all()
    assert not (found.reached & found.missed).any()
    simultaneous, _ = exact_bounds(hits, np.full_like(hits, 80.0), ALPHA / len(hits))
    assert (found.lower >= np.minimum(simultaneous, LEAST) - 1e-12).all()
    assert (found.lower <= found.upper).all()
    assert (found.lower[~found.reached].min(axis=-1, initial=0.0) <= LEAST[0]).all()


def test_bounds_lie_above_the_truth_in_at_most_one_of_forty_trials():
    rng = np.random.default_rng(8)
    rates = np.array([[0.95, 0.9], [0.79, 0.9], [0.85, 0.82]])
    found = decided(drawn(rng, rates, 120), 120)
    for requirement in (0, 1):
        wrong = (found.lower > rates + 1e-12)[..., requirement].any(axis=-1)
        assert wrong.mean() <= ALPHA
