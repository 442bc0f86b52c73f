"""The self-test of a calibration's figures: what is planted, and what the intervals hold of it."""

import numpy as np
import pytest

from judge_gym.lab.power.selftest_labels import label_trials
from judge_gym.lab.power.trials import exploratory, summarise
from judge_gym.metrics.score_agreement import share_differing, worst_and_best
from judge_gym.planted.labelled import LABELLED_JUDGES, LabelledJudge, draw_labels

JUDGE = {judge.name: judge for judge in LABELLED_JUDGES}


def test_planted_values_of_two_verdicts_by_hand():
    # two readings of one text agree in 0.9² + 0.1² = 0.82, of two texts in half
    assert JUDGE["verdicts"].planted(near=10) == pytest.approx(
        {
            "readable_rate": 0.97**2,
            "labels_met": 0.82,
            "label_agreement": 1 - 0.18 / 0.5,
            "people_agreement": 1 - 0.18 / 0.5,
            "judge_agreement": 1 - 0.18 / 0.5,
            "judge_agreement_excess": 0,
            "discrimination": 1 - 0.36 * 0.18 / 0.5,
            "runs_near": 0.64 + 0.36 * 0.82,
        }
    )


def test_scores_that_do_not_depend_on_the_text_have_no_agreement():
    planted = JUDGE["chance"].planted(near=10)
    assert planted["label_agreement"] == pytest.approx(0)
    assert planted["labels_met"] == pytest.approx(1 / 5)


def test_misses_go_to_a_neighbour_or_to_any_value():
    nearby = LabelledJudge("", "", (0, 50, 100), (1 / 3,) * 3, slips=0.3, errs=0.2, nearby=True)
    assert nearby.people_read == pytest.approx(
        np.array([[0.7, 0.3, 0], [0.15, 0.7, 0.15], [0, 0.3, 0.7]])
    )
    anywhere = LabelledJudge("", "", (0, 50, 100), (1 / 3,) * 3, slips=0.3, errs=0.2)
    assert anywhere.judge_reads[0] == pytest.approx([0.8, 0.1, 0.1])


@pytest.mark.parametrize("judge", LABELLED_JUDGES, ids=lambda judge: judge.name)
def test_the_figures_of_many_labels_are_the_planted_ones(judge):
    checked = 0
    for trial in label_trials(judge, 10000, seed=1):
        assert trial.estimate.estimate == pytest.approx(trial.planted, abs=0.035), trial
        checked += 1
    assert checked == len(judge.planted(near=10))


@pytest.mark.parametrize("name", ["rare verdicts", "points"])
def test_intervals_of_few_labels_hold_rare_misses(name):
    # of 30 labels, resampled items alone held the difference in four of five sets, and of
    # "points" the share of variance between items in seven of ten
    trials = (trial for seed in range(60) for trial in label_trials(JUDGE[name], 30, seed))
    for found in summarise(trials):
        assert found.coverage.count >= 0.85 * found.coverage.of, found
    assert {"discrimination", "judge_agreement_excess"} <= set(exploratory())


def test_data_sets_repeat_and_differ():
    first, again, other = (draw_labels(JUDGE["grades"], 30, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.labels, again.labels, equal_nan=True)
    assert not np.array_equal(first.scores, other.scores)
    assert np.isnan(first.labels[-1]).sum() == 15


def test_shares_that_differ_count_pairs():
    ones, twos = np.array([[1.0], [1.0], [2.0]]), np.array([[2.0], [3.0]])
    # of six pairs only 2 and 2 are the same
    assert share_differing(ones, twos) == pytest.approx(5 / 6)


def test_without_a_miss_two_are_added():
    # no distance seen: Wilson's upper end of 0 in 20, of misses as large as two texts are apart
    low, high = worst_and_best(np.zeros(20), 0.5, 0.5)
    z2 = 1.959964**2
    assert low == pytest.approx(1 - z2 / (20 + z2) / 0.5 * 1.0, abs=1e-6)
    assert high == 1
