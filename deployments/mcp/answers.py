"""What tools give back: plain values of bounded size, and errors in the words of the commands."""

import functools
import json
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from judge_gym.errors import ConfigError, JudgeGymError

LONGEST_TEXT = 4_000
"""Characters of one text: answers of models and texts of the web are data, and can be long."""
MOST_ENTRIES = 500
P = ParamSpec("P")
R = TypeVar("R")


def told(tool: Callable[P, R]) -> Callable[P, R]:
    """Have an error that the user can mend reach the program with its remedy."""

    @functools.wraps(tool)
    def telling(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return tool(*arguments, **named)
        except JudgeGymError as error:
            raise ToolError(f"{error.message} {error.remedy}".strip()) from None

    return telling


def bounded(value: Any) -> Any:
    """Return a value as JSON has it, its texts and lists cut with a word about it."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(name): bounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        kept = [bounded(one) for one in value[:MOST_ENTRIES]]
        more = len(value) - len(kept)
        return [*kept, f"... and {more} more"] if more else kept
    if isinstance(value, str):
        more = len(value) - LONGEST_TEXT
        return f"{value[:LONGEST_TEXT]} ... and {more} more characters" if more > 0 else value
    return value if value is None or isinstance(value, bool | int | float) else json_text(value)


def json_text(value: object) -> str:
    """Return a moment, a path or a decimal as text."""
    text: str = json.loads(json.dumps(value, default=str))
    return text


def below_here(path: str) -> Path:
    """Return a path below the folder the server was started in; raises `ConfigError` otherwise."""
    found = Path(path).resolve()
    if not found.is_relative_to(Path.cwd()):
        raise ConfigError(
            f"{path} is outside {Path.cwd()}, where this server was started.",
            "Use a path below it, or start the server elsewhere.",
        )
    return found
