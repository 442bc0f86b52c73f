"""Reasons beside other scores and verdicts: what the rule finds and what it leaves alone."""

import pytest

from judge_gym.answers.contradiction import contradicted_mark, contradicted_verdict


@pytest.mark.parametrize(
    ("reason", "named"),
    [
        ("No source at all, so a score of 2.", "2"),
        ("I give it 2/5.", "2"),
        ("2 out of 5: no source.", "2"),
        ("Rating: 1. Later, 2/5.", "1, 2"),
        ("A score of 5 is right.", ""),
        ("Clarity has a mark of 2, evidence a mark of 5.", ""),
        ("It does not merit a score of 2.", ""),
        ("Better than a score of 2.", ""),
        ("It would get 2/5 without its sources.", ""),
        ("Of 2/3 of the visitors nothing is said.", ""),
        ("The pupils are in grade 2.", ""),
        ("A score of 40 in the match.", ""),
        ("A score of 2% is reported.", ""),
        ("4.6 out of 5.", ""),
        ("", ""),
    ],
)
def test_marks(reason: str, named: str) -> None:
    assert contradicted_mark(reason, (5.0, 5.0), (1, 5)) == named


@pytest.mark.parametrize(
    ("reason", "other"),
    [
        ("It lacks a source. Therefore, fail.", "Fail"),
        ("The verdict is FAIL.", "Fail"),
        ("Therefore it does not fail.", ""),
        ("The engine may fail.", ""),
        ("Thus fail. On reflection, the verdict is pass.", ""),
        ("Hence pass with merit.", "Pass with merit"),
        ("", ""),
    ],
)
def test_verdicts(reason: str, other: str) -> None:
    assert contradicted_verdict(reason, "pass", ("Fail", "pass", "Pass with merit")) == other
