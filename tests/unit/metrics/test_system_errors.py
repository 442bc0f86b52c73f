"""Errors of a judge's figures of systems, raw and with one correction: by hand and coverage."""

import numpy as np
import pytest

from judge_gym.metrics.system_errors import system_errors
from judge_gym.metrics.system_scores import OneCorrection, SystemScores


def scores(judge, people, n_systems):
    """Answers of systems (rows) to questions (columns)."""
    judge, people = np.array(judge, float), np.array(people, float)
    system, question = np.indices(judge.shape)
    return SystemScores(
        system.ravel(), question.ravel(), judge.ravel(), people.ravel(), n_systems, binary=True
    )


def test_errors_are_mean_distances_over_systems() -> None:
    # Judged 0.75 and 0.5, by people 0.5 and 0.75: 0.25 each.
    given = scores([[1, 1, 1, 0], [1, 1, 0, 0]], [[1, 1, 0, 0], [1, 1, 1, 0]], 2)
    raw, corrected = system_errors(given)
    assert (raw.metric, raw.estimate, raw.n, raw.n_items) == (
        "system_error", pytest.approx(0.25), 8, 2,
    )  # fmt: skip
    # Se = 4/5, Sp = 2/3, J = 7/15: (0.75 - 1/3)·15/7 = 0.8929 and (0.5 - 1/3)·15/7 = 0.3571.
    apart = (abs(0.75 - 1 / 3) * 15 / 7 - 0.5, 0.75 - abs(0.5 - 1 / 3) * 15 / 7)
    assert corrected.estimate == pytest.approx(sum(apart) / 2)
    assert 0 <= raw.lower <= raw.estimate <= raw.upper <= 1


def test_without_a_label_there_is_no_error() -> None:
    assert list(system_errors(scores([[1, 0]], [[np.nan, np.nan]], 1))) == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("labelled", [[0.5, np.nan, np.nan], [0.5, 0.5, 0.5]])
def test_labels_of_one_question_give_an_error_without_an_interval(labelled: list[float]) -> None:
    # Two systems of one question, on a scale: the judge is 0.5 above people on the first answer.
    judge = np.array([[1.0, 0.5, 0.5], [0.5, 0.5, 0.5]])
    people = np.array([labelled, [0.5, np.nan, np.nan]])
    system, question = np.indices(judge.shape)
    given = SystemScores(
        *(system.ravel(), np.where(np.isfinite(people), 0, question).ravel()),
        *(judge.ravel(), people.ravel(), 2),
        binary=False,
    )
    for estimate in system_errors(given):
        assert estimate.estimate is not None
        assert estimate.lower is None


@pytest.mark.slow
def test_intervals_hold_the_true_error_where_the_judge_errs() -> None:
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(200):
        # Questions are hard for all systems alike; the judge passes a tenth of the wrong answers.
        hard = rng.beta(2, 1, 150)
        people = rng.random((6, 150)) < hard
        judge = people | (rng.random((6, 150)) < 0.2)
        raw, _ = system_errors(scores(judge, people, 6))
        # 0.2 of what people fail, of which there is a third.
        held += raw.lower <= 0.2 / 3 <= raw.upper
    assert 0.9 * 200 <= held <= 0.995 * 200


@pytest.mark.parametrize(
    ("p", "power", "words"),
    [
        (0.01, 0.99, "errs more on some systems, so do not rely on it alone"),
        (0.3, 0.14, "may err more on some, so do not rely on it alone"),
        (0.23, 0.93, "is not shown to err more on some: errors 0.2 of the scale apart"),
    ],
)
def test_what_is_said_of_errors_is_no_more_than_was_tested(p: float, power: float, words: str):
    # Errors that differ by less may be there: a planted 0.1 has a power of 0.42 here.
    found = OneCorrection(p, power)
    assert found.errs.startswith(words)
    assert ("power of 0.93" in found.errs) is found.serves
