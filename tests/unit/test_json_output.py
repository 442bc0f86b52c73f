"""`--json`: one JSON value on standard output, JSON lines on standard error, also of failures."""

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from deployments.cli.json_output import JsonOutput, PartDone, json_output
from deployments.cli.output import console
from judge_gym.lab.status import Status
from support.command_line import REPOSITORY, CommandLine, Ended


@pytest.fixture
def command(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path, in_process=True)


def lines_of(ended: Ended) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.errors.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("sweep", "run", "gone.yaml", "--json"), "gone.yaml"),
        (("sweep", "run", "--jsno", "--json"), "--jsno"),
        (("sweep", "run", "--json"), "file"),
        (("judge", "calibrate", "gone.yaml", "--json"), "gone.yaml"),
        (("judge", "review", "gone.yaml", "--json"), "gone.yaml"),
        (("audit", "gone.jsonl", "--json"), "gone.jsonl"),
    ],
)
def test_bad_input_is_an_object_and_the_last_line_is_an_error(
    command: CommandLine, arguments: tuple[str, ...], named: str
) -> None:
    ended = command(*arguments)
    assert ended.code == 2
    error = json.loads(ended.output)["error"]
    assert error["code"] == 2
    assert named in error["message"]
    last = lines_of(ended)[-1]
    assert (last["level"], last["exit_code"]) == ("error", 2)
    assert named in last["message"]


def test_settings_that_cannot_be_read_are_an_error_in_json_too(command: CommandLine) -> None:
    ended = command("evidence", "list", JUDGE_GYM_WORKERS="many")
    assert ended.code == 2
    assert not ended.output
    ended = command("sweep", "status", "--json", JUDGE_GYM_WORKERS="0")
    assert "JUDGE_GYM_WORKERS" in json.loads(ended.output)["error"]["message"]
    assert [line["level"] for line in lines_of(ended)] == ["error"]


def test_a_command_after_one_with_json_prints_text(command: CommandLine) -> None:
    command("sweep", "run", "gone.yaml", "--json")
    ended = command("sweep", "run", "gone.yaml")
    assert not ended.output
    assert ended.errors.startswith("Error: ")


def test_a_warning_is_a_line_of_that_level(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(console, "stderr", True)
    monkeypatch.setattr(json_output, "wanted", True)
    with caplog.at_level(logging.INFO):
        console.print("Warning: words alone do not make one.")
        console.warn("The text is cut.")
    assert [(one.levelname, one.message) for one in caplog.records] == [
        ("INFO", "Warning: words alone do not make one."),
        ("WARNING", "Warning: The text is cut."),
    ]


def test_what_follows_two_dashes_is_no_option(command: CommandLine) -> None:
    ended = command("sweep", "run", "--", "--json")
    assert (ended.code, ended.output) == (2, "")


def test_an_error_joins_the_value_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    output = JsonOutput()
    output.begin(wanted=True)
    output.parts = lambda: [PartDone("good", 3, 2), PartDone("other", 1, 4)]
    output.give({"judges": ["good"]})
    output.failed(4, "The budget is used up.", "Raise it.")
    output.end()
    told = json.loads(capsys.readouterr().out)
    assert told["judges"] == ["good"]
    assert told["error"] == {
        "code": 4,
        "message": "The budget is used up.",
        "remedy": "Raise it.",
        "done": 4,
        "left": 6,
        "parts": [
            {"name": "good", "done": 3, "left": 2},
            {"name": "other", "done": 1, "left": 4},
        ],
    }


def test_what_is_left_is_unknown_where_a_part_is(capsys: pytest.CaptureFixture[str]) -> None:
    output = JsonOutput()
    output.begin(wanted=True)
    output.parts = lambda: [PartDone("w1-evidence", 5, 0), PartDone("w3-scoring", 0, None)]
    output.failed(1, "The provider is down.")
    output.end()
    assert json.loads(capsys.readouterr().out)["error"]["left"] is None


def keys_of(kind: type) -> Iterator[str]:
    """Every key of a value of this type as JSON, those of its parts included."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        yield field.name
        for part in (hints[field.name], *get_args(hints[field.name])):
            if is_dataclass(part):
                yield from keys_of(part)


def test_every_key_of_a_status_is_documented() -> None:
    page = (REPOSITORY / "docs" / "reference" / "json-output.md").read_text()
    table = page.partition("## sweep status")[2]
    assert {"state", "finished", *keys_of(Status)} <= set(re.findall(r"`(\w+)`", table))
