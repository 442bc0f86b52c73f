"""The self-test: the estimators on planted truths, and how its trials are summarised."""

from dataclasses import replace

import pytest

from judge_gym.lab.power import selftest as selftest_module
from judge_gym.lab.power.facets import FACET_FIGURES, facet_trials
from judge_gym.lab.power.selftest import EXPLORATORY, MEASURES, expected_values, selftest
from judge_gym.lab.power.study import Rate
from judge_gym.lab.power.trials import Trial, summarise
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.planted.facets import FACET_TRUTHS
from judge_gym.planted.truth_values import planted_values
from judge_gym.planted.truths import TRUTHS, StudyDesign

TRUTH = {truth.name: truth for truth in TRUTHS}
DESIGN = StudyDesign(items=30, replicates=5)


def test_an_incomplete_crossing_is_planted_for_the_parts_of_polarization(monkeypatch):
    monkeypatch.setattr(selftest_module, "complete_block", lambda cells: None)
    found = selftest(TRUTH["polarised"], DESIGN, 1, ["judges", "rubrics"])
    assert {one.estimate.reason for one in found} == {
        "not estimable, because judges and rubrics are not fully crossed: "
        "6 of 9 combinations have a verdict"
    }


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_test_has_a_null_of_its_own():
    # P itself is above 0 for identical judges, and its permutation test still has nothing to find
    found = {one.metric: one for one in selftest(TRUTH["identical"], DESIGN, 1)}
    assert found["polarization"].planted > 0.1
    assert found["polarization"].null
    assert found["conflict"].null is None
    assert found["conflict"].rejects is None
    apart = {one.metric: one for one in selftest(TRUTH["polarised"], DESIGN, 1)}
    assert apart["polarization"].null is False


@pytest.mark.slow
def test_what_has_no_closed_form_is_taken_from_many_items():
    # Krippendorff's alpha of judges that always agree, and that vary between items, is 1
    sure = replace(TRUTH["identical"], name="sure", noise=1e-9)
    values = expected_values(sure, StudyDesign(items=5))
    assert planted_values(sure, StudyDesign(items=5)).get("krippendorff_alpha") is None
    assert values["krippendorff_alpha"] == pytest.approx(1)
    assert set(values) >= set(MEASURES)


@pytest.mark.parametrize("truth", FACET_TRUTHS, ids=[truth.name for truth in FACET_TRUTHS])
def test_facets_hold_what_is_planted(truth):
    # 60 sets: the flags need the whole interval of a share on the wrong side
    found = summarise(trial for seed in range(60) for trial in facet_trials(truth, seed))
    assert {one.metric for one in found} <= set(FACET_FIGURES)
    for one in found:
        if one.metric not in EXPLORATORY:
            assert not one.covers_too_little, one
            assert not one.rejects_too_often, one
        assert one.missing == 0
