"""Entrenchment and calibration on cases small enough to work out by hand."""

import numpy as np
import pytest

from judge_gym.metrics.entrenchment import calibration, entrenchment
from judge_gym.metrics.estimate import Remark, RemarkKind

LOW, HIGH = [1] * 5, [4] * 5


def test_entrenchment_is_polarization_times_mean_confidence(build_verdicts, build_probes, rng):
    # P = 1 on both items. Judge one: (0.9 + 0.7)/2 = 0.8 however many probes an item has;
    # judge two: 0.6. C = 0.7, E = 0.7.
    verdicts = build_verdicts([[LOW, LOW], [HIGH, HIGH]])
    probes = build_probes(
        [[[(1, 0.8), (1, 1.0)], [(1, 0.7)]], [[(4, 0.6)], [(4, 0.6), (4, 0.6), (4, 0.6)]]]
    )
    estimate = entrenchment(verdicts, probes, rng).estimate
    assert estimate.estimate == pytest.approx(0.7)
    assert 0 < estimate.floor < estimate.estimate
    # item products differ only through confidence: 0.75 and 0.65, so the interval surrounds 0.7
    assert estimate.lower < 0.7 < estimate.upper


def test_both_factors_use_the_same_items(build_verdicts, build_probes, rng):
    # Item 1 has no probe of judge two: its agreement (P = 0) must not dilute item 0.
    verdicts = build_verdicts([[LOW, LOW], [HIGH, LOW]])
    probes = build_probes([[[(1, 0.5)], [(1, 0.1)]], [[(4, 0.5)], []]])
    estimate = entrenchment(verdicts, probes, rng).estimate
    assert (estimate.estimate, estimate.n_items) == (0.5, 1)
    assert estimate.reason == "no interval, because there is one item"


def test_entrenchment_less_its_floor_is_that_of_polarization(build_verdicts, build_probes, rng):
    verdicts = build_verdicts([[LOW, LOW, HIGH], [HIGH, LOW, HIGH]])
    probes = build_probes([[[(1, 0.5)], [(1, 0.5)], [(4, 0.5)]]] * 2)
    found = entrenchment(verdicts, probes, rng)
    assert found.excess.estimate == pytest.approx(found.estimate.estimate - found.estimate.floor)
    assert found.excess.lower < found.excess.estimate < found.excess.upper


@pytest.mark.parametrize(
    ("scored", "probed", "because"),
    [
        ([[LOW], [HIGH]], [[[(1, 0.5)]], [[]]], "no item was scored by, and probed for"),
        ([[LOW]], [[[(1, 0.5)]]], "there is 1"),
        ([[[1]], [[4]]], [[[(1, 0.5)]], [[(4, 0.5)]]], "the median cell holds 1"),
    ],
)
def test_entrenchment_needs_polarization_and_probes(
    build_verdicts, build_probes, rng, scored, probed, because
):
    estimate = entrenchment(build_verdicts(scored), build_probes(probed), rng).estimate
    assert (estimate.metric, estimate.estimate) == ("entrenchment", None)
    assert because in estimate.reason


def test_the_joint_interval_covers(build_verdicts, build_probes):
    """Items where polarised judges are surer: the interval of E must feel both factors move."""
    rng = np.random.default_rng(3)
    apart = [[LOW, LOW, LOW, LOW], [HIGH, LOW, HIGH, LOW]]
    sure = [[[(1, x)] for x in (0.9, 0.3, 0.9, 0.3)]] * 2
    estimate = entrenchment(build_verdicts(apart), build_probes(sure), rng).estimate
    # P = 1/2, C = 0.6. Delta method: each item contributes P_e*0.6 + 0.5*C_e = 1.05 or 0.15,
    # s = 0.51962, s/sqrt(4) = 0.25981, t(3) = 3.18245: half-width 0.8268, cut to [0, 1]
    assert estimate.estimate == pytest.approx(0.3)
    assert (estimate.lower, estimate.upper) == (0.0, 1.0)


def test_overconfidence_is_confidence_less_agreement(build_verdicts, build_probes):
    # Judge one says {1} at 0.9 while 2 of judge two's 4 samples say {1}: gap 0.9 - 0.5.
    # Brier: 0.81 - 2*0.9*0.5 + 0.5 = 0.41. Judge two says {2} at 0.2, never met: gap 0.2, 0.04.
    verdicts = build_verdicts([[[1, 1]], [[1, 1, 2, 2]]])
    result = calibration(verdicts, build_probes([[[(1, 0.9)]], [[(2, 0.2)]]]))
    gaps = [estimate.estimate for estimate in result.overconfidence_by_judge]
    briers = [estimate.estimate for estimate in result.brier_by_judge]
    assert gaps == pytest.approx([0.4, 0.2])
    assert briers == pytest.approx([0.41, 0.04])
    assert result.overconfidence.estimate == pytest.approx(0.3)
    assert result.brier.estimate == pytest.approx(0.225)


def test_agreement_is_on_the_whole_set(build_verdicts, build_probes):
    verdicts = build_verdicts([[[(1, 2)]], [[1, (1, 2), (1, 2), 2]]])
    result = calibration(verdicts, build_probes([[[((1, 2), 0.5)]], [[(3, 0.5)]]]))
    # half of the others chose {1,2}; nobody chose {3}, and nobody was ever asked about it
    gaps = [estimate.estimate for estimate in result.overconfidence_by_judge]
    assert gaps == pytest.approx([0.0, 0.5])


def test_the_other_judges_weigh_the_same_however_often_they_answered(build_verdicts, build_probes):
    # Judge two agrees in its one sample, judge three in none of four: agreement 1/2, not 1/5.
    verdicts = build_verdicts([[[1]], [[1]], [[2, 2, 2, 2]]])
    probes = build_probes([[[(1, 0.5)]], [[(1, 0.5)]], [[(2, 0.5)]]])
    gap = calibration(verdicts, probes).overconfidence_by_judge[0]
    assert gap.estimate == pytest.approx(0.0)


def test_few_items_are_pointed_out(build_verdicts, build_probes):
    result = calibration(build_verdicts([[[1]], [[1]]]), build_probes([[[(1, 1.0)]]] * 2))
    assert Remark(RemarkKind.FEW_ITEMS, 1, 30) in result.overconfidence.remarks


@pytest.mark.parametrize(
    ("scored", "probed", "because"),
    [
        ([[[1]]], [[[(1, 0.5)]]], "no other judge scores these items"),
        ([[[1], []], [[], [1]]], [[[(1, 0.5)], []], [[], [(1, 0.5)]]], "no item was scored by"),
    ],
)
def test_calibration_without_others_says_so(build_verdicts, build_probes, scored, probed, because):
    result = calibration(build_verdicts(scored), build_probes(probed))
    every = (result.overconfidence, result.brier, *result.brier_by_judge)
    assert all(e.estimate is None and because in e.reason for e in every)
    assert len(result.overconfidence_by_judge) == len(scored)
