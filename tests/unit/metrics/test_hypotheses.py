"""Claims against intervals, corrections, and what each hypothesis makes of figures."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judge_gym.calibration.checks import items_needed, would_show
from judge_gym.metrics.estimate import Estimate, mean_over_items, not_estimable
from judge_gym.metrics.hypotheses import (
    HYPOTHESES,
    VALIDITY_CHECKS,
    TestedFigure,
    beyond_sham,
    correct,
    dose_steps,
    examine,
    overall,
)
from judge_gym.metrics.margins import (
    Conclusion,
    Direction,
    MarginClaim,
    conclude,
    difference,
    p_at_margin,
)

SHARED = Path(__file__).resolve().parents[4] / "shared"
ABOVE, BELOW, WITHIN = Direction.ABOVE, Direction.BELOW, Direction.WITHIN
YES, NO, OPEN, NONE = (
    Conclusion.SUPPORTED, Conclusion.REFUTED, Conclusion.INCONCLUSIVE, Conclusion.NOT_TESTABLE
)  # fmt: skip


def figure(metric, low, high, task="ecc", *, items=30, reference=0.0, **scope):
    middle = (low + high) / 2
    estimate = Estimate(metric, middle, low, high, 5 * items, items, unit="bits")
    return TestedFigure(estimate, task, scope, reference)


@pytest.mark.parametrize(
    ("direction", "margin", "low", "high", "said"),
    [
        (ABOVE, 0.1, 0.11, 0.3, YES),
        (ABOVE, 0.1, 0.0, 0.3, OPEN),
        (ABOVE, 0.1, 0.1, 0.3, OPEN),  # the end of the interval is a value it does not exclude
        (ABOVE, 0.1, -0.1, 0.1, NO),
        (BELOW, 0.1, -0.1, 0.09, YES),
        (BELOW, -0.05, -0.2, -0.06, YES),
        (BELOW, 0.1, 0.2, 0.3, NO),
        (WITHIN, 0.1, -0.05, 0.09, YES),
        (WITHIN, 0.1, -0.2, 0.05, OPEN),
        (WITHIN, 0.1, -0.2, 0.2, OPEN),  # wider than the margins on both sides
        (WITHIN, 0.1, 0.15, 0.2, NO),
        (WITHIN, 0.1, -0.3, -0.1, NO),
    ],
)
def test_the_interval_decides(direction, margin, low, high, said):
    estimate = figure("m", low, high).estimate
    assert conclude(estimate, MarginClaim(direction, margin)) is said
    shifted = figure("m", low + 0.5, high + 0.5).estimate
    assert conclude(shifted, MarginClaim(direction, margin, reference=0.5)) is said


def test_without_an_interval_nothing_is_decided():
    claim = MarginClaim(ABOVE, 0.1)
    assert conclude(not_estimable("m", "there is one judge"), claim) is NONE
    steady = mean_over_items("m", np.full(9, 0.9), n=9, unit="")
    assert conclude(steady, claim) is OPEN
    assert p_at_margin(steady, claim) is None


def test_equivalence_needs_room():
    with pytest.raises(ValueError, match="above 0"):
        MarginClaim(WITHIN, 0.0)


@given(st.floats(-1, 1), st.floats(0.01, 1), st.sampled_from(list(Direction)), st.integers(2, 60))
def test_p_and_interval_never_disagree(middle, half, direction, items):
    estimate = figure("m", middle - half, middle + half, items=items).estimate
    claim = MarginClaim(direction, 0.3)
    p = p_at_margin(estimate, claim)
    if abs(p - 0.05) > 1e-9:
        assert (p < 0.05) is (conclude(estimate, claim) is not OPEN)


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared beside this repository")
def test_equivalence_of_sleep_drugs():
    cases = {c["id"]: c for c in json.loads((SHARED / "oracles.json").read_text())["cases"]}
    case = cases["tost-paired-sleep"]
    given_ = case["input"]
    differences = np.subtract(given_["a"], given_["b"])
    estimate = mean_over_items("d", differences, n=20, unit="hours")
    claim = MarginClaim(WITHIN, given_["upp"])
    # the reference is one-sided, ours twice that
    assert p_at_margin(estimate, claim) / 2 == pytest.approx(
        case["expected"]["p"], abs=case["tolerance"]
    )
    assert conclude(estimate, claim) is YES
    assert conclude(estimate, MarginClaim(WITHIN, 2.0)) is OPEN


def test_difference_adds_errors():
    # halves 0.3 and 0.4 of equal t: 0.5
    step = difference("step", figure("a", 0.2, 0.8).estimate, figure("b", -0.3, 0.5).estimate)
    assert (step.estimate, step.lower, step.upper) == pytest.approx((0.4, -0.1, 0.9))
    assert (step.items_lower, step.items_upper) == (None, None)
    missing = difference("step", step, not_estimable("b", "no item qualifies"))
    assert missing.reason == "not estimable, because no item qualifies"


def test_difference_of_estimates_over_draws_has_an_interval_over_items():
    # The first is over draws, with 2 degrees of freedom, and 0.5 ± 0.03 over its 30 items; the
    # second is 0.1 ± 0.04 over items, so that the two halves of equal t make 0.05.
    first, second = (one.estimate for one in (figure("a", 0.2, 0.8), figure("b", 0.06, 0.14)))
    over_draws = replace(first, df=2.0, items_lower=0.47, items_upper=0.53)
    step = difference("step", over_draws, second)
    assert (step.items_lower, step.items_upper) == pytest.approx((0.35, 0.45))
    assert step.df == 2
    # By 2 degrees of freedom: standard errors 0.3/4.303 and 0.04/2.045, 0.0724 together.
    error = np.hypot(0.3 / stats.t.ppf(0.975, 2), 0.04 / stats.t.ppf(0.975, 29))
    assert p_at_margin(step, MarginClaim(ABOVE, 0)) == pytest.approx(
        2 * stats.t.sf(0.4 / error, 2), abs=1e-9
    )
    # What differs between draws stays, whatever the items: more draws are advised, not items.
    claim = MarginClaim(ABOVE, 0.35)
    assert items_needed(step, claim) is None
    assert "rubric draws" in would_show(step, claim, None, "items")


def test_findings_by_task_and_margin():
    figures = [
        figure("polarization_excess", 0.06, 0.2, concept="fascism"),
        figure("polarization_excess", 0.06, 0.2, "control", concept="quality"),
    ]
    found = {one.hypothesis.key: one for one in examine(figures, {})}
    assert found["H1"].conclusion is YES
    assert found["H1"].scope == {"concept": "fascism"}
    assert found["H1"].reason == "the interval 0.06 to 0.2 is above 0.05"
    assert found["V1.polarization"].conclusion is NO
    assert found["V1.polarization"].reason == "the interval 0.06 to 0.2 is not below 0.05"
    assert found["H3"].conclusion is NONE
    assert found["H3"].reason.startswith("it needs a swap, and a sham of the same judge")
    strict = {one.hypothesis.key: one for one in examine(figures, {"H1": 0.1})}
    assert strict["H1"].conclusion is OPEN
    assert strict["H1"].reason == "the interval 0.06 to 0.2 is only partly above 0.1"


def test_mixed_rubrics_are_no_test_of_entrenchment():
    found = examine([figure("polarization_excess_mixed", 0.3, 0.5)], {})
    assert {one.conclusion for one in found if one.hypothesis.key == "H1"} == {NONE}


def test_accuracy_is_read_against_chance_and_the_published_figure():
    figures = [
        figure("accuracy", 0.55, 0.75, "benchmark", reference=0.5),
        figure("accuracy_as_published", 0.62, 0.68, "benchmark", reference=0.6571),
    ]
    found = {one.hypothesis.key: one.conclusion for one in examine(figures, {})}
    assert (found["V3.chance"], found["V3.published"]) == (YES, YES)


def test_corrections_take_back_what_does_not_survive():
    # p at the margin 0.05 from the interval's width: one far, one barely beyond
    figures = [
        figure("polarization_excess", 0.051, 0.25, concept="a"),
        figure("polarization_excess", 0.3, 0.5, concept="b"),
        figure("overconfidence", 0.101, 0.3, judge="c"),
    ]
    raw = [one for one in examine(figures, {}) if one.estimate]
    h1 = [one for one in raw if one.hypothesis.key == "H1"]
    assert [one.conclusion for one in h1] == [YES, YES]
    corrected = correct(raw, lambda one: one.hypothesis.key == "H1")
    assert [one.confirmatory for one in corrected] == [True, True, False]
    # the second is far beyond, so Holm leaves the first, the largest p of two, as it is
    assert [one.conclusion for one in corrected] == [YES, YES, YES]
    barely = correct([raw[0], raw[0]], lambda one: True)[0]
    assert barely.p_adjusted == pytest.approx(2 * raw[0].p)
    assert barely.conclusion is OPEN
    assert barely.reason.endswith("after Holm over 2")


def test_one_conclusion_of_several_is_that_of_all():
    figures = [
        figure("polarization_excess", low, low + 0.1, concept=str(low)) for low in (0.1, 0.2)
    ]
    findings = [one for one in examine(figures, {}) if one.hypothesis.key == "H1"]
    assert overall(findings) is YES
    (refuted,) = [
        one
        for one in examine([figure("polarization_excess", -0.1, 0.0)], {})
        if one.hypothesis.key == "H1"
    ]
    assert overall([*findings, refuted]) is OPEN
    assert overall([]) is NONE


def test_swaps_are_read_beyond_the_sham_of_the_same_judge():
    figures = [
        figure("swap_sensitivity", -0.3, -0.1, judge="sure", rival="calm", concept="x"),
        figure("swap_sensitivity", -0.3, -0.1, judge="calm", rival="sure", concept="x"),
        figure("sham_sensitivity", -0.01, 0.01, judge="sure", concept="x"),
    ]
    (beyond,) = beyond_sham(figures)
    assert beyond.scope == {"judge": "sure", "rival": "calm", "concept": "x"}
    assert beyond.estimate.estimate == pytest.approx(-0.2)
    found = {one.hypothesis.key: one for one in examine([beyond], {})}
    assert found["H3"].conclusion is YES


def test_dose_steps_follow_the_order_of_the_plan():
    figures = [
        figure("polarization_excess", 0.0, 0.1, "control", concept="quality"),
        figure("polarization_excess", 0.5, 0.6, concept="fascism"),
        figure("polarization_excess", 0.2, 0.3, concept="backsliding"),
    ]
    steps = dose_steps(figures, ["fascism", "backsliding", "quality"])
    assert [step.scope["less contested"] for step in steps] == ["backsliding", "quality"]
    assert [round(step.estimate.estimate, 6) for step in steps] == [0.3, 0.2]
    assert overall([one for one in examine(steps, {}) if one.hypothesis.key == "V2"]) is YES


def test_every_hypothesis_says_what_it_is_about():
    every = (*HYPOTHESES, *VALIDITY_CHECKS)
    assert len({one.key for one in every}) == len(every)
    assert {one.key.partition(".")[0] for one in every} == {
        "H1", "H2", "H3", "H4", "V1", "V2", "V3", "V4", "V5"
    }  # fmt: skip
    for one in every:
        assert one.statement.endswith(".")
        assert MarginClaim(one.direction, one.margin)
