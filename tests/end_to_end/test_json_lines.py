"""With `log_format = "json"`, standard error is a log from its first line to the last."""

import json
from pathlib import Path

import pytest

from support.command_line import CommandLine

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("by_file", [False, True], ids=["variable", "settings file"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("evidence", "list"), "Created a new database", id="a new database"),
        pytest.param(("sweep", "run", "missing.yaml"), "missing.yaml", id="an error"),
    ],
)
def test_every_line_on_standard_error_is_json(
    arguments: tuple[str, ...], said: str, by_file: bool, tmp_path: Path
) -> None:
    given = {} if by_file else {"JUDGE_GYM_LOG_FORMAT": "json"}
    if by_file:
        (tmp_path / "judge-gym.toml").write_text('log_format = "json"\n')
    lines = CommandLine(tmp_path)(*arguments, **given).errors.splitlines()
    assert any(said in json.loads(line)["message"] for line in lines)
