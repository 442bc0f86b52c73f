"""Planted truths: closed forms by hand, draws by seed, and what the estimators make of them."""

from dataclasses import replace

import numpy as np
import pytest

from judge_gym.metrics import power_study_measures
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.power_study import Rate, Trial, expected_values, selftest, summarise
from judge_gym.metrics.power_study_decision import (
    Components,
    Costs,
    decision_study,
    standard_error,
)
from judge_gym.metrics.power_study_measures import MEASURES
from judge_gym.metrics.power_study_planted import planted_values
from judge_gym.metrics.power_study_truths import (
    TRUTHS,
    StudyDesign,
    draw,
    set_probabilities,
    single_probabilities,
)

TRUTH = {truth.name: truth for truth in TRUTHS}
DESIGN = StudyDesign(items=30, replicates=5)


def test_the_named_truths():
    assert list(TRUTH) == [
        "identical", "polarised", "vague", "constant", "position-biased", "overconfident",
        "rubric-loyal",
    ]  # fmt: skip


def test_an_incomplete_crossing_is_planted_for_the_parts_of_polarization(monkeypatch):
    monkeypatch.setattr(power_study_measures, "complete_block", lambda cells: None)
    found = selftest(TRUTH["polarised"], DESIGN, 1, ["judges", "rubrics"])
    assert {one.estimate.reason for one in found} == {
        "not estimable, because judges and rubrics are not fully crossed: "
        "6 of 9 combinations have a verdict"
    }


def test_a_draw_is_its_seeds():
    one, same, other = (draw(TRUTH["polarised"], DESIGN, seed) for seed in (1, 1, 2))
    assert (one.own.stages == same.own.stages).all()
    assert (one.own.stages != other.own.stages).any()
    assert (len(one.own), one.own.n_judges, one.own.n_items) == (300, 2, 30)


def test_divergence_of_few_samples_by_hand():
    # two judges, two stages, probability one half each (no leaning; noise that drowns the reading),
    # one replicate: they differ in half of the pairs, and then by one bit. Dealing two samples
    # anew changes nothing.
    coin = replace(TRUTH["identical"], noise=1e6)
    planted = planted_values(coin, StudyDesign(items=5, replicates=1, n_stages=2))
    assert planted["polarization"] == pytest.approx(0.5, abs=1e-5)
    assert planted["polarization_excess"] == pytest.approx(0, abs=1e-9)
    # scores 0 and 1 evenly: variance 1/4, and any stage is right half the time
    assert planted["replicate_variance"] == pytest.approx(0.25, abs=1e-5)
    assert planted["accuracy"] == pytest.approx(0.5, abs=1e-5)
    assert planted["overconfidence"] == pytest.approx(0, abs=1e-9)


def test_opposed_judges_by_hand():
    # without noise, readings of 0.15 to 0.85 pushed below 0 and above 1: always stages 1 and S.
    # P is 1 bit. Dealt at random, four samples of two each: the half holds 2, 1 or 0 of the first
    # judge's with chances 1/6, 4/6, 1/6, so P0 = 1 - 4/6 and P - P0 = 2/3
    apart = replace(TRUTH["polarised"], leaning=(2.0, -2.0), noise=1e-6)
    planted = planted_values(apart, StudyDesign(items=5, replicates=2))
    assert planted["polarization"] == pytest.approx(1)
    assert planted["polarization_excess"] == pytest.approx(2 / 3)
    assert planted["judge_difference"] == pytest.approx(-1)
    # scores 1 and 0 under either rubric: variance 1/2 of judges, none of rubrics
    assert planted["judges"] == pytest.approx(0.5)
    assert planted["rubrics"] == pytest.approx(0, abs=1e-12)
    assert planted["overconfidence"] == pytest.approx(0)


def test_biases_by_hand():
    assert planted_values(TRUTH["position-biased"], DESIGN)["position_bias"] == 0.25 * 0.75
    assert planted_values(TRUTH["position-biased"], DESIGN)["label_bias"] == 0
    # without noise a doubt of one stage's width to either side names 3 of 5 stages in the middle
    sure = replace(TRUTH["vague"], noise=1e-6, doubt=0.2, leaning=(0.0, 0.0))
    planted = planted_values(sure, StudyDesign(n_stages=5))
    # readings of 0.15 to 0.2 name 2 stages (width 1/4), as do those of 0.8 to 0.85, else 3
    assert planted["subset_width"] == pytest.approx((0.1 / 4 + 0.6 / 2) / 0.7, abs=0.01)


@pytest.mark.parametrize("truth", TRUTHS, ids=[truth.name for truth in TRUTHS])
def test_estimators_find_what_is_planted(truth):
    # one large data set: each estimate within four of its own standard errors
    design = StudyDesign(items=100, replicates=5)
    checked = 0
    for trial in selftest(truth, design, seed=3, metrics=list(MEASURES)):
        found = trial.estimate
        if trial.planted is None or found.estimate is None:
            continue
        half = (found.upper - found.lower) / 2 if found.lower is not None else 1e-9
        assert abs(found.estimate - trial.planted) <= 2 * half + 1e-9, trial
        checked += 1
    assert checked >= 6


def test_failures_of_data_are_reasons_not_numbers():
    trials = {one.metric: one for one in selftest(TRUTH["constant"], DESIGN, 1)}
    assert trials["replicate_icc"].estimate.reason.startswith("not estimable, because ")
    assert trials["judge_difference"].covers is None
    assert trials["judge_difference"].rejects is None


def trial(seed, low, high, planted=0.0, p=None):
    estimate = Estimate("m", (low + high) / 2, low, high, 10, 5, p=p)
    return Trial("identical", "m", seed, planted, estimate, null=True)


def test_summaries_count():
    trials = [
        trial(0, -0.1, 0.1),
        trial(1, 0.05, 0.1),
        trial(2, -0.2, 0.1, p=0.04),
        Trial("identical", "m", 3, 0.0, not_estimable("m", "there is one judge")),
    ]
    (found,) = summarise(trials)
    assert found.coverage == Rate(2, 3)
    assert found.rejected == Rate(2, 3)
    assert found.missing == 1
    assert found.mean == pytest.approx((0 + 0.075 - 0.05) / 3)
    assert Rate(0, 0).share is None


def test_flags_need_more_than_chance():
    good, bad = (
        summarise([trial(k, *((0.1, 0.2) if k < wrong else (-0.1, 0.1))) for k in range(200)])[0]
        for wrong in (14, 30)
    )
    # 93% of 200 is within chance of 95%; 85% is not
    assert not good.misses_coverage
    assert not good.rejects_too_often
    assert bad.misses_coverage
    assert bad.rejects_too_often


def summaries(truth, seeds, metrics, design=DESIGN):
    return {
        one.metric: one
        for one in summarise(
            trial for seed in range(seeds) for trial in selftest(truth, design, seed, metrics)
        )
    }


def test_identical_judges_are_covered_at_thirty_items():
    metrics = ["judge_difference", "swap_verdict_shift", "replicate_variance", "accuracy"]
    for found in summaries(TRUTH["identical"], 80, metrics).values():
        assert not found.misses_coverage, found
        assert not found.rejects_too_often, found


@pytest.mark.parametrize(("metric", "most"), [("polarization_excess", 23), ("belief_distance", 12)])
def test_a_difference_of_nothing_is_found_as_often_as_it_should(metric, most):
    # 200 true nulls at 5%: more than 23 are 4.5 standard deviations away; 12 is the aim of 6%
    found = summaries(TRUTH["identical"], 200, [metric])[metric]
    assert found.null
    assert found.rejected.of == 200
    assert found.rejected.count <= most


def test_a_test_has_a_null_of_its_own():
    # P itself is above 0 for identical judges, and its permutation test still has nothing to find
    found = {one.metric: one for one in selftest(TRUTH["identical"], DESIGN, 1)}
    assert found["polarization"].planted > 0.1
    assert found["polarization"].null
    assert found["conflict"].null is None
    assert found["conflict"].rejects is None
    apart = {one.metric: one for one in selftest(TRUTH["polarised"], DESIGN, 1)}
    assert apart["polarization"].null is False


def test_sets_are_those_of_the_points_without_doubt():
    theta = np.linspace(0.2, 0.8, 5)
    for truth in (TRUTH["polarised"], TRUTH["position-biased"], TRUTH["constant"]):
        sets, p = set_probabilities(truth, theta, 0, 4)
        assert p.sum(axis=1) == pytest.approx(1)
        points = [list(sets).index(1 << stage) for stage in range(4)]
        assert p[:, points] == pytest.approx(single_probabilities(truth, theta, 0, 4))


def test_sets_of_doubting_judges_by_hand():
    # no noise, 4 stages, doubt 0.2: a reading of 0.5 reaches from 0.3 to 0.7, stages 2 and 3;
    # one of 0.1 from below the scale to 0.3, stages 1 and 2
    sure = replace(TRUTH["vague"], noise=1e-9, doubt=0.2)
    sets, p = set_probabilities(sure, np.array([0.5, 0.1]), 0, 4)
    assert [int(sets[row.argmax()]) for row in p] == [0b0110, 0b0011]
    assert p.max(axis=1) == pytest.approx(1)


def test_beliefs_by_hand():
    # two judges, two stages, probability one half each: half of the pairs of verdicts disagree,
    # between judges as within; both distances are 0
    coin = replace(TRUTH["identical"], noise=1e6)
    planted = planted_values(coin, StudyDesign(items=5, replicates=2, n_stages=2))
    for metric in ("conflict", "self_conflict", "dempster_conflict", "belief", "betp", "coverage"):
        assert planted[metric] == pytest.approx(0.5, abs=1e-5)
    assert planted["belief_distance"] == pytest.approx(0, abs=1e-9)
    # told one half, agreed in one half of the pairs: 1/4 - 1/2 + 1/2
    assert planted["brier_score"] == pytest.approx(0.25, abs=1e-5)
    opposed = replace(TRUTH["polarised"], leaning=(2.0, -2.0), noise=1e-6)
    planted = planted_values(opposed, StudyDesign(items=5, replicates=2))
    assert planted["conflict"] == pytest.approx(1)
    assert planted["self_conflict"] == pytest.approx(0)
    assert planted["belief_distance"] == pytest.approx(1)


def test_what_has_no_closed_form_is_taken_from_many_items():
    # Krippendorff's alpha of judges that always agree, and that vary between items, is 1
    sure = replace(TRUTH["identical"], name="sure", noise=1e-9)
    values = expected_values(sure, StudyDesign(items=5))
    assert planted_values(sure, StudyDesign(items=5)).get("krippendorff_alpha") is None
    assert values["krippendorff_alpha"] == pytest.approx(1)
    assert set(values) >= set(MEASURES)


def test_error_of_a_difference_by_hand():
    # 2·(0.02 + 0.1/5)/40 = 0.002
    assert standard_error(Components(0.02, 0.1), 40, 5) == pytest.approx(0.002**0.5)
    # a negative estimate counts as none: 2·(0.1/5)/40
    assert standard_error(Components(-0.02, 0.1), 40, 5) == pytest.approx(0.001**0.5)


def test_the_error_is_that_of_simulated_judges():
    # judge x item and noise are normal here: errors of 400 differences of means, within 4 sigma
    rng = np.random.default_rng(2)
    parts = rng.normal(0, 0.2, (400, 2, 20, 1)) + rng.normal(0, 0.3, (400, 2, 20, 4))
    differences = np.diff(parts.mean(axis=(2, 3)), axis=1)
    expected = standard_error(Components(0.04, 0.09), 20, 4)
    assert differences.std() == pytest.approx(expected, abs=4 * expected / 800**0.5)


def test_what_to_buy():
    # judges read items their own way and repeat themselves: replicates buy little
    steady = decision_study(Components(0.05, 0.01), Costs(1, 0.1), 2, [20], [2])
    assert steady.advice.startswith("more items: from 20 items of 2, ")
    # an item dear, judges alike but noisy: 2·(0.001 + 0.1/1)/20 against 2·(0.001 + 0.1/2)/20
    noisy = decision_study(Components(0.001, 0.1), Costs(10, 0.1), 2, [20], [1, 4])
    assert noisy.advice.startswith("more replicates: ")
    assert "cuts the error by 28.9%" in noisy.advice
    # √(10 / 0.2 · 0.1 / 0.001)
    assert noisy.best_replicates == pytest.approx(5000**0.5)
    assert [(plan.items, plan.replicates, plan.cost) for plan in noisy.plans] == [
        (20, 1, pytest.approx(20 * 10.2)), (20, 4, pytest.approx(20 * 10.8))
    ]  # fmt: skip
    assert decision_study(Components(0.0, 0.1), Costs(1, 1), 2, [5], [1]).best_replicates is None
    with pytest.raises(ValueError, match="more than 0"):
        Costs(1, 0)
