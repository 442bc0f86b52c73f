"""What a page says that a judge is asked, for every kind of judge file."""

import pytest

from judge_gym.judges import load_judge
from judge_gym.report.criteria import criteria_of
from judge_gym.shipped import DEPLOYMENTS

SCALE = {"lowest": 1, "highest": 5}


def said(source: object) -> tuple[str, list[str]]:
    """Return the sentence about a judge, and the first column of its table."""
    judge = load_judge(source)
    found = criteria_of(judge.name, judge.record.config)
    return found.says, [row.cells[0] for row in found.table.rows] if found.table else []


@pytest.mark.parametrize(
    ("file", "words", "rows"),
    [
        ("notes", "", ["evidence", "accuracy", "clarity", "concision", "actionable"]),
        ("admission", "", ["link", "create"]),
        ("answers", "reads both texts in both orders", []),
        ("panel", "its score is the arbiter's", []),
    ],
)
def test_a_shipped_judge_is_described_by_its_kind(file: str, words: str, rows: list[str]) -> None:
    says, first = said(DEPLOYMENTS / "judges" / f"{file}.yaml")
    assert words in says
    assert "function" not in says
    assert first == rows


def test_an_own_judge_is_called_that() -> None:
    http = {"kind": "http", "name": "own", "url": "http://127.0.0.1:9/score", "scale": SCALE}
    says, _ = said(http)
    assert says.startswith("A function or an endpoint of your own, which scores from 1 to 5")


def test_a_kind_that_the_page_does_not_know_is_no_function() -> None:
    found = criteria_of("letters", {"kind": "letter", "task": "Give a letter."})
    assert (found.task, found.says, found.table) == ("Give a letter.", "", None)
