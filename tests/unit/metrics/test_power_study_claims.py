"""Power: it is the level where nothing is there, grows with what is, and asks for enough items."""

from dataclasses import replace

import pytest

from judge_gym.metrics.hypotheses_margins import Claim, Direction
from judge_gym.metrics.power_study import Rate
from judge_gym.metrics.power_study_claims import (
    WANTED,
    Found,
    Question,
    Setting,
    answer,
    items_needed,
    planted_truth,
    power,
)
from judge_gym.metrics.power_study_planted import planted_values
from judge_gym.metrics.power_study_truths import StudyDesign

SETTING = Setting(StudyDesign(items=15, replicates=3), families=(0, 1), noise=0.1)
SEEDS = range(60)


def overconfident(value, level=0.05):
    return Question("H2", Claim(Direction.ABOVE, 0.1), value, level)


def test_the_judges_have_the_value():
    # the closed form of two judges, within the error of the large data set it was found on
    for hypothesis, metric, value in (
        ("H2", "overconfidence", 0.2),
        ("H3", "swap_sensitivity", -0.15),
    ):
        truth = planted_truth(hypothesis, value, SETTING)
        assert planted_values(truth, SETTING.design)[metric] == pytest.approx(value, abs=0.01)
    five = replace(SETTING, design=StudyDesign(items=15, replicates=5))
    truth = planted_truth("H1", 0.15, five)
    assert planted_values(truth, five.design)["polarization_excess"] == pytest.approx(
        0.15, abs=0.02
    )


def test_families_lean_together():
    families = (0, 0, 1, 2)
    truth = planted_truth("H1", 0.15, Setting(StudyDesign(5, 5), families, 0.1))
    low, again, middle, high = truth.leaning
    assert low == again == -high < middle == 0


def test_why_nothing_can_be_planted():
    assert "5 are needed" in planted_truth("H1", 0.2, SETTING)
    assert "at most" in planted_truth("H2", 0.99, SETTING)
    found = answer(overconfident(0.99), SETTING, SEEDS)
    assert found.now.rate.share is None
    assert "at most" in found.now.reason
    assert (found.fewest, found.fewest_doubled, found.components) == (None, None, None)


def test_at_the_margin_power_is_half_the_level_and_grows_beyond():
    # at the margin a claim of one side is supported in 2.5% of 60 runs: 7 or more are 4.5
    # standard deviations away
    at, near, far = (
        power(question, planted_truth("H2", question.value, SETTING), SETTING, SEEDS).rate.count
        for question in map(overconfident, (0.1, 0.15, 0.3))
    )
    assert at < 7
    assert near < far
    assert far > 55


def test_a_stricter_level_finds_less():
    truth = planted_truth("H2", 0.17, SETTING)
    usual, strict = (
        power(overconfident(0.17, level), truth, SETTING, SEEDS).rate.count
        for level in (0.05, 0.001)
    )
    assert strict < usual


def test_enough_items_are_found():
    question = overconfident(0.15)
    truth = planted_truth("H2", 0.15, SETTING)
    start = power(question, truth, SETTING, SEEDS)
    enough = items_needed(question, truth, SETTING, SEEDS, start)
    assert start.rate.share < WANTED
    assert enough.design.items > SETTING.design.items
    # the error of 60 runs at 80% is 5 points
    assert WANTED - 0.02 <= enough.rate.share <= 1
    again = power(question, truth, replace(SETTING, design=enough.design), range(1000, 1060))
    assert again.rate.share > WANTED - 4 * 0.05


def test_no_number_of_items_finds_what_is_not_there():
    truth = planted_truth("H2", 0.1, SETTING)
    start = Found(replace(SETTING.design, items=900), Rate(1, 20))
    assert items_needed(overconfident(0.1), truth, SETTING, range(5), start) is None
