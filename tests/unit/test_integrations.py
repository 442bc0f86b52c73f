"""Judges as components of other tools and of tests, as far as that needs no other tool."""

from pathlib import Path

import pytest

from judge_gym.errors import ConfigError
from judge_gym.integrations import NotScoredError, scoring_function
from judge_gym.judges.certifying.checking import CertificateError
from judge_gym.records.items import LONGEST_TEXT
from judge_gym.shipped import DEPLOYMENTS
from judge_gym.testing import gate_of


@pytest.mark.parametrize(
    ("text", "context", "why"),
    [
        ("", "", "the text is empty"),
        ("x" * (LONGEST_TEXT + 1), "", "the text has"),
        ("x", "x" * (LONGEST_TEXT + 1), "the context has"),
        ("x\x00", "", "the text has a NUL"),
    ],
)
def test_a_text_that_no_judge_reads_has_no_score(text: str, context: str, why: str) -> None:
    score = scoring_function(DEPLOYMENTS / "judges" / "notes.yaml")
    with pytest.raises(NotScoredError, match=why):
        score(text, context)


def test_a_gate_without_the_certificate_that_it_asks_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match="Judge 'good' is refused: there is no certificate"):
        gate_of(DEPLOYMENTS / "calibrations" / "good.yaml", certificate=tmp_path / "none.json")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"agremeent": 0.5}, "no 'agremeent'.*Did you mean agreement"),
        ({"agreement": 1.5}, "agreement is 1.5"),
    ],
)
def test_a_gate_that_cannot_be_is_one_clear_error(changes: dict[str, float], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        gate_of(DEPLOYMENTS / "calibrations" / "good.yaml", **changes)
