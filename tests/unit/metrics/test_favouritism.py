"""Favouritism: numbers by hand, what is no bias, and how often none is taken for some."""

import numpy as np
import pytest

from judge_gym.metrics.favouritism import favour_bias, favour_difference, longer
from judge_gym.metrics.system_scores import SystemScores

NONE = np.nan


def judged(question, judge, people):
    """Scores of answers of one system each; who wrote them is told apart."""
    question = np.array(question)
    return SystemScores(
        np.zeros(len(question), dtype=int), question, np.array(judge, float),
        np.array(people, float), 1, True,
    )  # fmt: skip


def test_bias_is_of_the_same_questions_and_of_judge_less_people():
    # Question 0: own 1 - 0 = 1, others (1 - 1 + 0 - 0) / 2 = 0. Question 1: own 1 - 1 = 0, other
    # 0 - 1 = -1. Question 2 has no answer of the judge's family, question 3 no label of it.
    data = judged([0, 0, 0, 1, 1, 2, 3, 3], [1, 1, 0, 1, 0, 1, 1, 0], [0, 1, 0, 1, 1, 0, NONE, 0])
    own = np.array([1, 0, 0, 1, 0, 0, 1, 0], dtype=bool)
    nothing = np.zeros(8, dtype=bool)
    bias = favour_bias("own_family_bias", data, own, nothing)
    assert (bias.estimate, bias.n, bias.n_items) == (pytest.approx(1.0), 5, 2)
    # Of the scores alone question 3 counts, too: (1 - 0.5 + 1 - 0 + 1 - 0) / 3.
    difference = favour_difference("own_family_difference", data, own, nothing)
    assert (difference.estimate, difference.n_items) == (pytest.approx(2.5 / 3), 3)


def test_a_judge_that_is_right_of_better_systems_has_a_difference_and_no_bias():
    rng = np.random.default_rng(2)
    question, own = np.repeat(np.arange(100), 2), np.tile([True, False], 100)
    people = np.where(own, rng.random(200) < 0.9, rng.random(200) < 0.4).astype(float)
    right = judged(question, people, people)
    nothing = np.zeros(200, dtype=bool)
    assert favour_bias("b", right, own, nothing).estimate == 0.0
    assert favour_difference("d", right, own, nothing).lower > 0.2


def test_no_favour_is_taken_for_some_in_one_of_twenty_trials():
    rng, found = np.random.default_rng(6), 0
    question, own = np.repeat(np.arange(60), 4), np.tile([True, False, False, True], 60)
    for _ in range(300):
        people = rng.integers(0, 2, 240).astype(float)
        # A hard question is hard for all four: errors come together.
        wrong = rng.random(240) < np.repeat(rng.beta(1, 4, 60), 4)
        data = judged(question, np.where(wrong, 1 - people, people), people)
        bias = favour_bias("b", data, own, np.zeros(240, dtype=bool))
        found += not bias.lower <= 0 <= bias.upper
    assert found <= 25  # 15 of 300 expected, at most 25 with 99%


def test_answers_are_longer_than_those_to_their_question():
    chosen, left = longer(np.array([10, 20, 30, 500, 400, 7]), np.array([0, 0, 0, 1, 1, 2]))
    assert chosen.tolist() == [False, False, True, True, False, False]
    assert left.tolist() == [False, True, False, False, False, True]


def test_systems_that_share_no_question_cannot_be_compared():
    data = judged([0, 1], [1, 0], [1, 1])
    found = favour_bias("b", data, np.array([True, False]), np.zeros(2, dtype=bool))
    assert found.because == "no question has answers of both kinds"
