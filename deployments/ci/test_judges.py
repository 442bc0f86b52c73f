"""An example: a judge's gate, and one text, as tests of pytest.

Its judge is simulated: start `judge-gym simulator` first. Judgements are stored, so the next run of
`pytest deployments/ci/test_judges.py` makes no calls.
"""

from pathlib import Path

from judge_gym import Judge
from judge_gym.testing import RunGate, assert_gate

pytest_plugins = ["judge_gym.testing"]
JUDGE = Path(__file__).parents[1] / "calibrations" / "good.yaml"


def test_the_judge_agrees_with_people(judge_gate: RunGate) -> None:
    assert_gate(judge_gate(JUDGE, agreement=0.5))


def test_the_judge_rejects_an_empty_note() -> None:
    result = Judge.from_file(JUDGE).score(
        "Some trams were often late. Various things can go wrong."
    )
    assert result.score is not None, result.failure
    assert result.score < 50
