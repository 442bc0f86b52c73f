"""What `judge-gym judge compare` says before anything is asked."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from judge_gym.errors import ConfigError

EXAMPLES = Path(__file__).parents[3] / "deployments" / "calibrations"


def invoked(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})


@pytest.mark.parametrize("option", ["--items", "--corpus"])
def test_the_same_judge_is_not_compared_with_itself(option):
    good = EXAMPLES / "good.yaml"
    ended = invoked("judge", "compare", good, good, option, EXAMPLES / "notes.jsonl")
    assert isinstance(ended.exception, ConfigError)
    assert "are the same judge" in str(ended.exception)
