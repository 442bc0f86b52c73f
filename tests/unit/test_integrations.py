"""Judges as components of other tools, as far as that needs no other tool."""

import pytest

from judge_gym.integrations import NotScoredError, scoring_function
from judge_gym.records.items import LONGEST_TEXT
from judge_gym.shipped import DEPLOYMENTS


@pytest.mark.parametrize(
    ("text", "context", "why"),
    [
        ("", "", "the text is empty"),
        ("x" * (LONGEST_TEXT + 1), "", "the text has"),
        ("x", "x" * (LONGEST_TEXT + 1), "the context has"),
    ],
)
def test_a_text_that_no_judge_reads_has_no_score(text: str, context: str, why: str) -> None:
    score = scoring_function(DEPLOYMENTS / "judges" / "notes.yaml")
    with pytest.raises(NotScoredError, match=why):
        score(text, context)
