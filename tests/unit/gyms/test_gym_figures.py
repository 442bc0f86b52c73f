"""Comparisons, fusion, likeness, precision and recall against figures worked out by hand."""

import numpy as np
import pytest

from judge_gym.gyms.comparing import comparisons, means
from judge_gym.gyms.evaluating import spots
from judge_gym.gyms.extract import against_labels, claims_in
from judge_gym.gyms.searching import fused
from judge_gym.gyms.similarity import matched, trigram_similarity, word_overlap
from judge_gym.report.gym import conclusion

RNG = np.random.default_rng(0)
NO = np.nan


def test_two_candidates_are_compared_on_the_cases_that_both_have() -> None:
    values = np.array([[10, 12], [20, 24], [30, 36], [NO, 40], [50, NO], [NO, NO]])
    level = np.array([[50, 50]] * 6)
    one, other = comparisons({"score": values, "recall": level}, ["a", "b"], RNG)
    assert (one.candidate, one.less, one.measure) == ("b", "a", "score")
    assert (one.candidate_only, one.less_only, one.neither, one.left_out) == (1, 1, 1, 3)
    # differences 2, 4, 6: mean 4, standard deviation 2, t(2) = 4.3027
    found = one.difference
    assert (found.estimate, found.n_items) == (4.0, 3)
    assert found.upper == pytest.approx(4 + 4.302653 * 2 / 3**0.5, abs=1e-5)
    # 2 of 2³ signs are as extreme; Holm over two doubles the smaller p
    assert found.p == pytest.approx(2 * 0.25)
    assert (other.difference.estimate, other.difference.p, other.left_out) == (0.0, 1.0, 0)


def test_every_candidate_is_set_against_those_before_it() -> None:
    found = comparisons({"score": np.eye(3) * 9}, ["a", "b", "c"], RNG)
    assert [(one.candidate, one.less) for one in found] == [("b", "a"), ("c", "a"), ("c", "b")]


def test_a_mean_leaves_out_what_has_no_value_and_says_so() -> None:
    first, second = means(np.array([[40, NO], [60, NO], [NO, NO]]), "score")
    assert (first.estimate, first.n_items) == (50.0, 2)
    assert (second.estimate, second.n_items) == (None, 0)
    assert second.reason


def test_a_share_of_cases_has_wilsons_interval() -> None:
    # 4 of 4: from 4/(4 + 1.96²); a t interval of (100, 100, 100, 0) would be cut at 100
    every, most = means(np.array([[100, 100], [100, 100], [100, 100], [100, 0]]), "right by label")
    assert (every.estimate, every.upper) == (100, 100)
    assert every.lower == pytest.approx(100 * 4 / (4 + 1.959964**2))
    assert most.upper is not None
    assert most.upper < 100
    assert "Wilson" in most.method


def test_rankings_are_fused_by_the_sum_of_reciprocal_ranks() -> None:
    # 0: 1/61 + 1/62 = 0.0325; 2: 1/63 + 1/61 = 0.0323; 1: 1/62 = 0.0161
    assert fused([[0, 1, 2], [2, 0]]) == [0, 2, 1]
    # 7: 1/61 = 0.0164 alone at the top; 5: 2/63 = 0.0317 third in both
    assert fused([[7, 8, 5], [9, 6, 5]])[0] == 5
    assert fused([[4], [3]]) == [3, 4]
    assert fused([[2, 0, 1]]) == [2, 0, 1]


def test_trigrams_are_those_of_postgresql() -> None:
    # the example of its manual: 4 of 11 trigrams
    assert trigram_similarity("word", "two words") == pytest.approx(4 / 11)
    assert trigram_similarity("", "...") == 0.0


def test_words_overlap_by_long_words_and_figures() -> None:
    # ferry, carried, 120 and ferry, carried, 12
    assert word_overlap("The ferry carried 120.", "A ferry carried 12!") == pytest.approx(4 / 6)
    assert word_overlap("a an", "to of") == 0.0


def test_claims_are_matched_one_to_one_for_the_most_in_all() -> None:
    found = ["alpha beta gamma delta", "gamma omega"]
    labelled = ["alpha beta", "alpha beta gamma"]
    # the best single pair (0, 1), 6/7, would leave (1, 0) with nothing: 4/6 + 2/5 is more
    assert matched(found, labelled, 0.4) == [(0, 0), (1, 1)]
    assert matched(found, labelled, 0.5) == [(0, 1)]
    assert matched([], labelled, 0.5) == []


def test_precision_and_recall_count_each_claim_once() -> None:
    labels = ["The ferry carried 120 people.", "The pier at Lind is closed.", "Tickets cost 5."]
    found = ["The ferry carried 120 people", "The ferry carried 120 people", "Boats are nice"]
    told = against_labels(found, labels, 0.5)
    assert told == pytest.approx({"precision": 100 / 3, "recall": 100 / 3, "F1": 200 / 6})
    assert against_labels([], labels, 0.5) == {"recall": 0.0, "F1": 0.0}
    assert against_labels(found, [], 0.5) == {"precision": 0.0, "F1": 0.0}
    assert against_labels([], [], 0.5) == {}


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        ("- One.\n* Two.\n\n3) Three.\n 4. Four.", ["One.", "Two.", "Three.", "Four."]),
        ("NONE", []),
        ("None.", []),
        ("3.5% more came.", ["3.5% more came."]),
    ],
)
def test_claims_stand_one_a_line(answer: str, claims: list[str]) -> None:
    assert claims_in(answer) == claims


def test_the_cases_to_look_at_are_gaps_differences_and_both_ends() -> None:
    scores = np.full((30, 3), 50.0)
    scores[:, 2] = NO  # a candidate that never has a score makes no gap
    scores[3, 0] = NO
    scores[7] = (90, 10, NO)
    scores[11] = (1, 1, NO)
    scores[13] = (99, 99, NO)
    found = spots(scores)
    assert (found[0].place, found[0].why) == (3, "without a score")
    assert (found[1].place, found[1].why) == (7, "80 points apart")
    told = {one.place: one.why for one in found}
    assert told[11] == "lowest: 1 points"
    assert told[13] == "highest: 99 points"
    assert len(found) == len(told) <= 20


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([50, 50, 50], "Cannot tell: no candidate is shown to score higher than another."),
        ([40, 60, 80], "c scores higher than every other candidate."),
        ([40, 80, 80], "b scores higher than a. A difference from c is not shown."),
    ],
)
def test_a_gym_concludes_what_its_comparisons_show(points: list[int], said: str) -> None:
    # Equal differences on 12 cases: 2 of 2^12 signs are as extreme.
    values = np.array([points] * 12, dtype=float)
    assert conclusion("abc", comparisons({"score": values}, list("abc"), RNG)) == said
