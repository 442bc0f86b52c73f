"""Spread, repeats and agreement of judges that are planted: a good one, and ones with a fault."""

import numpy as np
import pytest

from judge_gym.calibration.checks import Margins, Result, more_items
from judge_gym.calibration.comparisons import between_checks
from judge_gym.calibration.distribution import distribution_checks, repetition_checks
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.margins import Direction, MarginClaim
from judge_gym.metrics.points import Scores

MARGINS = Margins()
ITEMS, RUNS = 30, 5


def scores(points):
    """Scores of one judge from items x runs."""
    items, runs = points.shape
    return Scores(
        judge=np.zeros(items * runs, dtype=np.int64), item=np.repeat(np.arange(items), runs),
        points=np.clip(points, 0, 100).ravel(), n_judges=1, n_items=items,
    )  # fmt: skip


def results(checks):
    return {check.name: check.result for check in checks}


@pytest.fixture
def quality(rng):
    return np.linspace(3, 97, ITEMS)[:, None] + rng.normal(0, 3, (ITEMS, RUNS))


def test_a_good_judge_passes(quality, rng):
    judged = scores(quality)
    spread = distribution_checks(judged, MARGINS, rng)
    assert set(results(spread).values()) == {Result.PASSES}
    repeats = repetition_checks(judged, MARGINS, rng, 0.9)
    assert set(results(repeats).values()) == {Result.PASSES}
    assert repeats[0].beside[0].metric == "reliability_of_mean"
    assert all(check.action == "" for check in (*spread, *repeats))


def test_a_judge_that_clusters_fails_though_it_repeats_itself(quality, rng):
    clustered = scores(75 + (quality - 50) / 20)
    found = results(distribution_checks(clustered, MARGINS, rng))
    assert found["band"] is found["entropy"] is Result.FAILS
    # of 30 items another two bins may still hold 5% each, of 40 not
    assert found["bins"] is Result.CANNOT_TELL
    more = scores(np.tile(75 + (quality - 50) / 20, (2, 1)))
    assert results(distribution_checks(more, MARGINS, rng))["bins"] is Result.FAILS
    # it still tells items apart, in steps of its own
    assert set(results(repetition_checks(more, MARGINS, rng, 0.9)).values()) == {Result.PASSES}


def test_agreement_of_a_judge_that_tells_nothing_apart_is_no_virtue(rng):
    constant = repetition_checks(scores(np.full((ITEMS, RUNS), 70.0)), MARGINS, rng, 0.9)
    assert {check.result for check in constant} == {Result.NOT_APPLICABLE}
    noise = repetition_checks(scores(70 + rng.normal(0, 2, (ITEMS, RUNS))), MARGINS, rng, 0.9)
    assert [check.result for check in noise] == [Result.FAILS, Result.NOT_APPLICABLE]
    assert "discrimination fails" in noise[1].reason


def test_a_judge_that_guesses_fails_to_agree(rng):
    guesses = repetition_checks(scores(rng.uniform(0, 100, (ITEMS, RUNS))), MARGINS, rng, 0.9)
    assert guesses[0].result is Result.FAILS


def test_one_run_an_item_repeats_nothing(quality, rng):
    once = repetition_checks(scores(quality[:, :1]), MARGINS, rng, 0.9)
    assert {check.result for check in once} == {Result.NOT_APPLICABLE}


def test_items_at_the_floor_are_counted(rng):
    floored = scores(np.where(np.arange(ITEMS) % 2, 0.0, 60.0)[:, None] * np.ones(RUNS))
    found = {check.name: check for check in distribution_checks(floored, MARGINS, rng)}
    assert found["floor"].result is Result.FAILS
    assert found["floor"].estimate.estimate == 0.5
    assert found["floor"].beside[0].metric == "share_at_ceiling"


def test_few_items_are_inconclusive_and_say_how_many_it_takes(rng):
    few = scores(np.array([[10.0], [50], [90], [85]]))
    assert results(distribution_checks(few, MARGINS, rng))["bins"] is Result.CANNOT_TELL
    # the half 0.2 has to shrink to 0.1: four times the items
    near = Estimate("share", 0.7, 0.5, 0.9, 10, 10)
    told = more_items(near, MarginClaim(Direction.ABOVE, 0.6))
    assert told == "Use more items: about 40 would show it, you have 10."
    assert "at the margin" in more_items(near, MarginClaim(Direction.ABOVE, 0.7))


def test_two_judges_of_one_thing(quality, rng):
    mean = quality.mean(axis=1)
    alike = np.column_stack([mean, mean + rng.normal(0, 4, ITEMS)])
    truth = np.linspace(3, 97, ITEMS)
    found = results(between_checks(["a", "b"], alike, truth, MARGINS, rng))
    assert found["alpha"] is found["rank agreement: a and b"] is Result.PASSES
    # errors of their own on one truth
    own = truth[:, None] + rng.normal(0, 8, (ITEMS, 2))
    assert results(between_checks(["a", "b"], own, truth, MARGINS, rng))["errors: a and b"] in (
        Result.PASSES,
        Result.CANNOT_TELL,
    )
    shared = truth[:, None] + rng.normal(0, 8, (ITEMS, 1)) + rng.normal(0, 1, (ITEMS, 2))
    same = between_checks(["a", "b"], shared, truth, MARGINS, rng)
    assert results(same)["errors: a and b"] is Result.FAILS


def test_judges_without_truth_or_common_items(rng):
    apart = np.array([[50, np.nan], [np.nan, 40], [60, np.nan]])
    found = between_checks(["a", "b"], apart, None, MARGINS, rng)
    assert {check.result for check in found} == {Result.NOT_APPLICABLE}
    reasons = " ".join(check.reason for check in found)
    assert "no item was scored by two judges" in reasons
    assert "no item has a known truth" in reasons
    assert between_checks(["a"], apart[:, :1], None, MARGINS, rng) == []
