"""JSON lines: what a line has, and what it never has."""

import io
import json
import logging
import sys
from typing import Any

import pytest

from judge_gym.logs import LONGEST, JsonLines, of_run


def line(message: str, *arguments: object, error: Exception | None = None, **extra: Any) -> Any:
    """The line that a record becomes."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger = logging.Logger("judge_gym.test")
    logger.addHandler(handler)
    info = (type(error), error, error.__traceback__) if error else None
    logger.warning(message, *arguments, extra=extra, exc_info=info)
    [written] = stream.getvalue().splitlines()
    return json.loads(written)


def test_a_line_names_run_experiment_and_call_where_they_are_known() -> None:
    with of_run("r-1"):
        written = line("A call %s.", "failed", call_id=812, experiment_id=3, failure="timeout")
    assert written.pop("at").endswith("+00:00")
    assert written == {
        "level": "warning",
        "logger": "judge_gym.test",
        "message": "A call failed.",
        "run": "r-1",
        "experiment_id": 3,
        "call_id": 812,
        "failure": "timeout",
    }
    assert "run" not in line("no run")


@pytest.mark.parametrize("name", ["prompt", "messages", "answer", "api_key", "headers"])
def test_a_line_has_no_field_but_those_it_may_have(name: str) -> None:
    assert "secret-words" not in json.dumps(line("m", **{name: "secret-words"}))


def test_an_error_is_told_by_its_type_and_first_line_and_the_trace_by_places() -> None:
    try:
        secret_words = "secret-words"
        raise ValueError(f"a row does not fit\nDETAIL: Failing row contains ({secret_words}).")
    except ValueError as error:
        written = line("Encountered %r", error, error=error)
    assert written["error"] == "ValueError: a row does not fit"
    assert written["message"] == "Encountered ValueError('a row does not fit"
    assert written["trace"][0].startswith(f"{__file__}:")
    assert "secret-words" not in json.dumps(written)


def test_a_long_message_is_cut_and_lines_stay_lines() -> None:
    assert len(line("x" * 10_000)["message"]) == LONGEST
    assert line("one\rtwo\u2028three")["message"] == "one"


def test_prefect_leaves_the_lines_as_they_are() -> None:
    """Its own loggers write through the same handler, and call nothing else."""
    import subprocess

    program = (
        "import sys, logging\n"
        "from judge_gym.logs import use_json_lines\n"
        "use_json_lines(sys.stderr)\n"
        "from prefect.logging import get_logger\n"
        "get_logger('flow_runs').error('from prefect', extra={'flow_run_id': 'f-1'})\n"
        "logging.getLogger('judge_gym.x').info('from judge-gym')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    lines = [json.loads(one) for one in done.stderr.splitlines()]
    assert [one["message"] for one in lines] == ["from prefect", "from judge-gym"]
    assert lines[0]["flow_run_id"] == "f-1"
