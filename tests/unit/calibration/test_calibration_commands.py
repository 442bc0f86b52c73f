"""What `judge-gym judge compare` says before anything is asked."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from judge_gym.errors import ConfigError

EXAMPLES = Path(__file__).parents[3] / "deployments" / "calibrations"


def invoked(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})


def test_a_function_that_is_not_there_is_found_by_check(tmp_path, monkeypatch):
    # The module is beside the file, and the command runs in another folder.
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "checked_judges.py").write_text("def hashed(item):\n    return 1\n")
    file = tmp_path / "h.yaml"
    for function, fits in (("hsahed", False), ("hashed", True)):
        file.write_text(f"kind: callable\nname: h\nfunction: checked_judges:{function}\n")
        ended = invoked("judge", "check", file)
        assert (ended.exit_code == 0) == fits
        assert isinstance(ended.exception, ConfigError) != fits
        if not fits:
            assert "checked_judges:hsahed cannot be loaded" in str(ended.exception)


@pytest.mark.parametrize("option", ["--items", "--corpus"])
def test_the_same_judge_is_not_compared_with_itself(option):
    good = EXAMPLES / "good.yaml"
    ended = invoked("judge", "compare", good, good, option, EXAMPLES / "notes.jsonl")
    assert isinstance(ended.exception, ConfigError)
    assert "are the same judge" in str(ended.exception)
