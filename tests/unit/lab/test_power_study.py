"""Power: it is the level where nothing is there, grows with what is, and asks for enough items."""

from dataclasses import replace

import numpy as np
import pytest

from judge_gym.lab.power.pooled import pooled_over_levels
from judge_gym.lab.power.study import (
    WANTED,
    Components,
    Costs,
    Power,
    PowerQuestion,
    Setting,
    SimulatedShare,
    answer,
    design_advice,
    items_needed,
    planted_truth,
    power,
    standard_error,
)
from judge_gym.metrics.estimate import mean_over_items, not_estimable
from judge_gym.metrics.facets import FacetTable, total_error
from judge_gym.metrics.margins import Direction, MarginClaim
from judge_gym.planted.truth_values import planted_values
from judge_gym.planted.truths import StudyDesign, draw

SETTING = Setting(StudyDesign(items=15, replicates=3), families=(0, 1), noise=0.1)
SEEDS = range(30)


def overconfident(value, level=0.05):
    return PowerQuestion("H2", MarginClaim(Direction.ABOVE, 0.1), value, level)


def test_the_judges_have_the_value():
    # the closed form of two judges, within the error of the large data set it was found on
    truth = planted_truth("H2", 0.2, SETTING)
    planted = planted_values(truth, SETTING.design)["overconfidence"]
    assert planted == pytest.approx(0.2, abs=0.01)


@pytest.mark.slow
def test_the_judges_have_the_value_of_other_hypotheses():
    truth = planted_truth("H3", -0.15, SETTING)
    planted = planted_values(truth, SETTING.design)["swap_sensitivity"]
    assert planted == pytest.approx(-0.15, abs=0.01)
    five = replace(SETTING, design=StudyDesign(items=15, replicates=5))
    truth = planted_truth("H1", 0.15, five)
    assert planted_values(truth, five.design)["polarization_excess"] == pytest.approx(
        0.15, abs=0.02
    )


@pytest.mark.slow
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
    # at the margin a claim of one side is supported in 2.5% of 30 runs: 5 or more are 5 standard
    # deviations away
    at, near, far = (
        power(question, planted_truth("H2", question.value, SETTING), SETTING, SEEDS).rate.count
        for question in map(overconfident, (0.1, 0.15, 0.3))
    )
    assert at < 5
    assert near < far
    assert far > 25


def test_a_claim_over_wordings_is_found_by_its_total_error():
    # Of judges that stand far beyond the margin a claim over items alone is found always. What
    # three wordings add: t of 2 degrees of freedom is 4.3, so that an effect of 0.2 with a
    # standard deviation of 0.2 between them (error 0.2/√3) is found in few runs.
    question = overconfident(0.3)
    truth = planted_truth("H2", 0.3, SETTING)
    alike, apart = (
        power(question, truth, replace(SETTING, levels=(3,), facet_sd=sd), SEEDS).rate.count
        for sd in (0.0, 0.2)
    )
    assert alike > 25
    assert apart < 15


def test_polarization_takes_the_samples_of_all_draws_together():
    """Three draws of 3 replicates are 9 of one cell, as in a report; no error between draws."""
    drawn = replace(SETTING, levels=(3,), facet_sd=0.2)
    whole = replace(SETTING, design=replace(SETTING.design, replicates=9))
    question = PowerQuestion("H1", MarginClaim(Direction.ABOVE, 0.05), 0.2, 0.05)
    truth = planted_truth("H1", 0.2, drawn)
    assert truth == planted_truth("H1", 0.2, whole)
    found = power(question, truth, drawn, range(10)).rate
    assert found == power(question, truth, whole, range(10)).rate
    assert found.count > 5


def test_other_wordings_judge_the_same_items_anew():
    truth = planted_truth("H2", 0.2, SETTING)
    first, again = (draw(truth, SETTING.design, 3, repeat) for repeat in (0, 1))
    assert (first.reading == again.reading).all()
    assert (first.own.stages != again.own.stages).any()


def test_levels_are_pooled_as_the_report_pools_them():
    values = np.array([[0.1, 0.3], [0.2, 0.5], [0.6, 0.6]])
    by_level = [
        mean_over_items("m", column, n=np.full(3, 4), unit="", items=np.arange(3))
        for column in values.T
    ]
    pooled = pooled_over_levels(by_level, (2,), 0.0, np.random.default_rng(0))
    total = total_error(FacetTable(("item", "wording"), values))
    assert pooled.estimate == pytest.approx(values.mean())
    assert (pooled.lower, pooled.upper) == pytest.approx(total.interval)
    assert pooled.df == pytest.approx(total.df)
    without = [by_level[0], not_estimable("m", "there is nothing")]
    assert "nothing" in pooled_over_levels(without, (2,), 0.0, np.random.default_rng(0)).because


@pytest.mark.slow
def test_a_stricter_level_finds_less():
    truth = planted_truth("H2", 0.17, SETTING)
    usual, strict = (
        power(overconfident(0.17, level), truth, SETTING, SEEDS).rate.count
        for level in (0.05, 0.001)
    )
    assert strict < usual


@pytest.mark.slow
def test_enough_items_are_found():
    question, seeds = overconfident(0.15), range(60)
    truth = planted_truth("H2", 0.15, SETTING)
    start = power(question, truth, SETTING, seeds)
    enough = items_needed(question, truth, SETTING, seeds, start)
    assert start.rate.share < WANTED
    assert enough.design.items > SETTING.design.items
    # the error of 60 runs at 80% is 5 points
    assert WANTED - 0.02 <= enough.rate.share <= 1
    again = power(question, truth, replace(SETTING, design=enough.design), range(1000, 1060))
    assert again.rate.share > WANTED - 4 * 0.05


def test_no_number_of_items_finds_what_is_not_there():
    truth = planted_truth("H2", 0.1, SETTING)
    start = Power(replace(SETTING.design, items=900), SimulatedShare(1, 20))
    assert items_needed(overconfident(0.1), truth, SETTING, range(5), start) is None


def test_no_number_of_items_makes_up_for_few_wordings():
    # 0.2 beyond the margin is 1.7 errors of three wordings (0.2/√3), and t wants 4.3
    truth = planted_truth("H2", 0.3, SETTING)
    worded = replace(SETTING, levels=(3,), facet_sd=0.2)
    start = Power(SETTING.design, SimulatedShare(1, 20))
    assert items_needed(overconfident(0.3), truth, worded, range(5), start) is None
    narrow = replace(worded, facet_sd=0.001)
    assert items_needed(overconfident(0.3), truth, narrow, range(5), start) is not None


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
    steady = design_advice(Components(0.05, 0.01), Costs(1, 0.1), 2, 20, 2)
    assert steady.startswith("more items: ")
    # an item dear, judges alike but noisy: 2·(0.001 + 0.1/1)/20 against 2·(0.001 + 0.1/2)/20
    noisy = design_advice(Components(0.001, 0.1), Costs(10, 0.1), 2, 20, 1)
    assert noisy.startswith("more replicates: ")
    assert "cuts the error by 28.9%" in noisy
    with pytest.raises(ValueError, match="more than 0"):
        Costs(1, 0)
