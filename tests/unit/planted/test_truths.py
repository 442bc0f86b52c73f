"""Planted truths: closed forms by hand, and draws by seed."""

from dataclasses import replace

import numpy as np
import pytest

from judge_gym.planted.truth_values import planted_values
from judge_gym.planted.truths import (
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
        "rubric-loyal", "abstaining",
    ]  # fmt: skip


def test_a_draw_is_its_seeds():
    one, same, other = (draw(TRUTH["polarised"], DESIGN, seed) for seed in (1, 1, 2))
    assert (one.own.stages == same.own.stages).all()
    assert (one.own.stages != other.own.stages).any()
    assert (len(one.own.stages), one.n_judges, one.n_items) == (300, 2, 30)


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
