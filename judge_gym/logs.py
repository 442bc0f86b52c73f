"""Logs: one JSON object a line, for programs, when the setting `log_format` says so.

A line has what is known of run, experiment and call. It never has a prompt, an answer or a key:
only the fields below are written, an error is told by its type and first line, and a trace by
its places in the code.
"""

import json
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

LONGEST = 300
"""Characters of a message that are kept."""
OF_COMMANDS = "judge_gym.command"
"""The logger of what commands print: it is written whole, as on a terminal."""
ABOUT = (
    "run",
    "flow_run_id",
    "task_run_id",
    "experiment_id",
    "call_id",
    "call_key",
    "workflow",
    "agent",
    "provider",
    "model",
    "status",
    "failure",
    "attempts",
    "remedy",
    "exit_code",
)
"""Fields that a line may have beside time, level, logger and message."""
_run: ContextVar[str | None] = ContextVar("run", default=None)


class JsonLines(logging.Formatter):
    """Writes a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message if record.name == OF_COMMANDS else brief(message),
        }
        about = {"run": _run.get(), **{name: getattr(record, name, None) for name in ABOUT[1:]}}
        line |= {name: value for name, value in about.items() if value is not None}
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line["error"] = f"{type(error).__name__}: {brief(str(error))}"
            frames = traceback.extract_tb(error.__traceback__)
            line["trace"] = [f"{one.filename}:{one.lineno} {one.name}" for one in frames]
        return json.dumps(line, default=str)


def brief(text: str) -> str:
    """Return a text's first line, cut: what follows often quotes the row or the request."""
    # A message may hold the representation of an error, in which the line break is written out.
    return text.splitlines()[0].split("\\n")[0][:LONGEST] if text.strip() else ""


def use_json_lines(stream: TextIO) -> None:
    """Have every logger of this process, Prefect's too, write JSON lines to `stream`.

    Before Prefect is imported: it leaves a root logger alone that has a handler.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("judge_gym").setLevel(logging.INFO)
    logging.captureWarnings(True)


@contextmanager
def of_run(run: str | None) -> Iterator[None]:
    """Have the lines that this task and its children write in the block name the run."""
    token = _run.set(run)
    try:
        yield
    finally:
        _run.reset(token)
