"""Agreement with labels, errors that correlate, and scores corrected by labels."""

import numpy as np
import pytest

from judge_gym.metrics.expert_labels import isotonic_calibration, prediction_powered_mean
from judge_gym.metrics.score_agreement import error_correlation, label_agreement

RNG_SEED = 3


def test_agreement_is_kappa_of_verdicts_and_its_quadratic_form_of_steps(rng):
    for steps in (2, 5):
        labels = rng.integers(0, steps, 40).astype(float)
        judged = np.where(rng.random(40) < 0.7, labels, rng.integers(0, steps, 40))
        found = label_agreement(labels, judged, rng)
        # Cohen 1968: 1 less the mean squared distance over that of all pairs of both sides
        by_chance = np.subtract.outer(labels, judged) ** 2
        kappa = 1 - ((labels - judged) ** 2).mean() / by_chance.mean()
        assert found.estimate == pytest.approx(kappa)
        assert found.lower <= found.estimate <= found.upper


def test_a_judge_that_never_moves_agrees_by_chance(rng):
    labels = np.repeat([0.0, 100], 20)
    found = label_agreement(labels, np.full(40, 100.0), rng)
    assert found.estimate == 0
    assert found.lower < 0 < found.upper < 0.4
    assert "all labels are the same" in label_agreement(np.ones(9), np.ones(9), rng).reason


def test_no_miss_among_few_labels_leaves_room():
    rng = np.random.default_rng(RNG_SEED)
    labels = np.tile([0.0, 100], 15)
    found = label_agreement(labels, labels, rng)
    # Wilson's upper end of 0 of 30 is 0.1135; half the pairs differ by chance
    assert (found.estimate, found.upper) == (1, 1)
    assert found.lower == pytest.approx(1 - 0.1135 / 0.5, abs=1e-3)


@pytest.mark.parametrize(("prevalence", "noise"), [(0.5, 0.05), (0.2, 0.05), (0.5, 0.2)])
def test_the_interval_of_agreement_is_not_above_the_truth(prevalence, noise):
    # κ of a judge that errs with this chance whatever the label
    says = prevalence * (1 - noise) + (1 - prevalence) * noise
    chance = prevalence * says + (1 - prevalence) * (1 - says)
    kappa = (1 - noise - chance) / (1 - chance)
    rng = np.random.default_rng(RNG_SEED)
    above = 0
    for _ in range(80):
        labels = (rng.random(30) < prevalence) * 100.0
        judged = np.where(rng.random(30) < noise, 100 - labels, labels)
        found = label_agreement(labels, judged, rng)
        above += found.lower is not None and found.lower > kappa
    # 2.5% of 80 sets; the interval of concordance alone lies above in 4 to 15%
    assert above <= 5


@pytest.mark.parametrize("shape", ["compressed", "cut at the top"])
def test_judges_that_use_a_part_of_the_scale_do_not_err_alike_by_that(shape):
    rng = np.random.default_rng(RNG_SEED)
    held = 0
    for _ in range(40):
        truth = rng.choice(5, 30) * 25.0
        used = 60 + 0.2 * truth if shape == "compressed" else np.minimum(1.3 * truth + 20, 100)
        one, other = used + rng.normal(0, 3, (2, 30))
        assert np.corrcoef(one - truth, other - truth)[0, 1] > 0.8
        found = error_correlation(one, other, truth, rng)
        held += found.lower <= 0 <= found.upper
    assert held >= 35


def test_errors_that_are_shared_at_the_same_truth_are_seen(rng):
    truth, shared = rng.choice(5, 60) * 25.0, rng.normal(0, 5, 60)
    one, other = truth + shared + rng.normal(0, 1, (2, 60))
    assert error_correlation(one, other, truth, rng).lower > 0.8


def five_steps(rng, count):
    truth = rng.choice(5, count, p=[0.1, 0.15, 0.25, 0.3, 0.2]) * 25.0
    return truth, np.clip(truth + rng.choice([-25, 0, 25], count, p=[0.15, 0.6, 0.25]), 0, 100)


def test_a_mean_corrected_by_labels_holds_the_truth_wherever_it_is_shown():
    rng = np.random.default_rng(RNG_SEED)
    shown, held = 0, 0
    for _ in range(300):
        labels, judged = five_steps(rng, 20)
        found = prediction_powered_mean(labels, judged, five_steps(rng, 100)[1], bounds=(0, 100))
        if found.lower is not None:
            shown += 1
            held += found.lower <= 58.75 <= found.upper
    assert shown > 200
    assert held / shown >= 0.93


def test_a_mean_is_not_shown_of_few_labels_or_of_labels_that_crowd():
    rng = np.random.default_rng(RNG_SEED)
    labels, judged = five_steps(rng, 19)
    few = prediction_powered_mean(labels, judged, judged)
    assert "needs 20 labelled items" in few.reason
    crowded = np.array([100.0] * 28 + [0, 25])
    found = prediction_powered_mean(crowded, crowded, np.full(50, 100.0))
    assert "30 labels crowd at one end" in found.reason


def test_a_corrected_mean_stays_on_the_scale():
    rng = np.random.default_rng(RNG_SEED)
    labels = rng.choice([90.0, 100], 20)
    found = prediction_powered_mean(labels, labels - 60, np.full(9, 39.0), bounds=(0, 100))
    assert 0 <= found.lower <= found.estimate <= found.upper <= 100


def test_the_curve_pools_what_falls():
    # at scores 0, 50, 100 the truth has means 1, 6, 4: the last two pool to (6 + 3 + 5)/3
    judge = np.tile([0.0, 0, 50, 100, 100], 4)
    expert = np.tile([0.0, 2, 6, 3, 5], 4)
    curve = isotonic_calibration(expert, judge)
    values = [one.estimate for one in curve.truth]
    pooled = 14 / 3
    assert curve.at.tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    # a line from 1 at score 0 to the pool at 50, and flat from there
    assert values[:2] == pytest.approx([1, 1 + (pooled - 1) / 5])
    assert values[5:] == pytest.approx([pooled] * 6)


def test_the_curve_claims_no_interval():
    curve = isotonic_calibration(np.full(30, 100.0), np.linspace(0, 100, 30))
    assert {(one.estimate, one.lower, one.reason) for one in curve.truth} == {
        (
            100.0,
            None,
            "no interval, because resampling is not consistent for an isotonic curve",
        )
    }


@pytest.mark.parametrize(
    ("judge", "because"), [([1.0, 2], "there are 2"), ([1.0] * 20, "the same score")]
)
def test_what_cannot_be_calibrated(judge, because):
    (only,) = isotonic_calibration(np.arange(len(judge)), np.array(judge)).truth
    assert because in only.reason
