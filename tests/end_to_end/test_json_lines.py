"""Where logs are JSON, or with `--json`, every line on standard error is JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.command_line import REPOSITORY, CommandLine, Ended, small_sweep

EXAMPLES = REPOSITORY / "deployments" / "calibrations"


@pytest.mark.slow
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


def failed(ended: Ended) -> dict[str, Any]:
    """The error of a command with --json, when every line on standard error is JSON."""
    lines = [json.loads(line) for line in ended.errors.splitlines()]
    assert lines[-1]["level"] == "error"
    assert lines[-1]["exit_code"] == ended.code
    return dict(json.loads(ended.output)["error"])


def test_a_stopped_sweep_prints_what_is_done_and_left(command: CommandLine) -> None:
    file = command.folder / "small.yaml"
    file.write_text(small_sweep("bounded", "sim/calm-1") + "budget: {max_calls: 2}\n")
    error = failed(command("sweep", "run", file, "--json"))
    assert error["code"] == 4
    assert "max_calls is 2" in error["message"]
    assert "budget" in error["remedy"]
    by_part = {part["name"]: (part["done"], part["left"]) for part in error["parts"]}
    assert by_part["w3-scoring"] == (2, 2)

    # A budget that is used up is refused before a server is started or asked.
    again = command("sweep", "run", file, "--json", PREFECT_API_URL="http://127.0.0.1:9/api")
    assert failed(again)["message"] == error["message"]


def with_a_budget(folder: Path, calls: int) -> None:
    judge = (EXAMPLES / "good.yaml").read_text()
    assert "max_calls: 20000" in judge
    judge = judge.replace("max_calls: 20000", f"max_calls: {calls}").partition("gate:")[0]
    (folder / "good.yaml").write_text(judge)
    lines = (EXAMPLES / "notes.jsonl").read_text().splitlines()[:4]
    (folder / "items.jsonl").write_text("\n".join(lines))


def test_a_stopped_calibration_prints_its_findings_and_what_is_left(command: CommandLine) -> None:
    with_a_budget(command.folder, 3)
    file = command.folder / "small.yaml"
    file.write_text(
        "name: stopped\njudges: [good.yaml]\nitems: items.jsonl\nrepeats: 1\n"
        "perturbations: [injection_line]\nseverities: [1.0]\n"
    )
    ended = command("judge", "calibrate", file, "--json")
    error = failed(ended)
    assert (error["code"], error["done"], error["left"]) == (4, 3, 5)
    assert [judge["judge"] for judge in json.loads(ended.output)["judges"]] == ["good"]


def test_a_stopped_review_prints_what_is_left(command: CommandLine) -> None:
    with_a_budget(command.folder, 3)
    file = command.folder / "review.yaml"
    file.write_text(
        "name: stopped\ntime_zone: Europe/Lisbon\nrepeats: 1\nreviews:\n"
        "  - {judge: good.yaml, items: items.jsonl, decision: It sees errors.}\n"
    )
    error = failed(command("judge", "review", file, "--json"))
    assert (error["code"], error["done"], error["left"]) == (4, 3, 1)
    assert error["parts"] == [{"name": "good", "done": 3, "left": 1}]
