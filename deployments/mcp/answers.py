"""Results of tools: JSON values of bounded size, and errors with their remedy."""

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from judge_gym.design.sweep import Sweep, load_sweep
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.evidence.given_rows import rows_file

LONGEST_TEXT = 4_000
"""Maximum number of characters of a text; answers and documents can be long."""
MOST_ENTRIES = 500
P = ParamSpec("P")
R = TypeVar("R")


def as_tool(tool: Callable[P, R]) -> Callable[P, R]:
    """Turn known errors of a tool into tool errors with their remedy."""

    @functools.wraps(tool)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return tool(*arguments, **named)
        except JudgeGymError as error:
            raise ToolError(f"{error.message} {error.remedy}".strip()) from None

    return call


def bounded(value: Any) -> Any:
    """Return a value as JSON, with long texts and lists cut and the cut noted."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(name): bounded(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        kept = [bounded(entry) for entry in value[:MOST_ENTRIES]]
        more = len(value) - len(kept)
        return [*kept, f"... and {more} more"] if more else kept
    if isinstance(value, str):
        more = len(value) - LONGEST_TEXT
        return f"{value[:LONGEST_TEXT]} ... and {more} more characters" if more > 0 else value
    return value if value is None or isinstance(value, bool | int | float) else json_text(value)


def json_text(value: object) -> str:
    """Return a time, a path or a decimal as text."""
    text: str = json.loads(json.dumps(value, default=str))
    return text


def slug(name: str) -> str:
    """Return a name as a part of a file's name: letters, digits and hyphens, 60 at most."""
    return re.sub("[^A-Za-z0-9]+", "-", name).strip("-")[:60] or "unnamed"


def file_of(
    kind: str, given: str | Sequence[Mapping[str, Any]], folder: Path | None = None
) -> Path:
    """Return the file that a path names, or one that rows are written to: an object a line.

    It is in `folder`, or the server's. Equal rows are the same file. Raises `ConfigError` for a
    path that is not below the server's folder, and for no row.
    """
    if isinstance(given, str):
        return below_here(given)
    return rows_file(kind, given, folder or Path.cwd())


def below_here(path: str) -> Path:
    """Return a path below the server's folder; raises `ConfigError` for any other path.

    Hidden files and folders are refused too: programs find what they run in some, such as .git.
    """
    resolved = Path(path).resolve()
    if not resolved.is_relative_to(Path.cwd()):
        raise ConfigError(
            f"{path} is outside {Path.cwd()}, where this server was started.",
            "Use a path below it, or start the server in another folder.",
        )
    if any(part.startswith(".") for part in resolved.relative_to(Path.cwd()).parts):
        raise ConfigError(f"{path} is hidden.", "Use a path whose parts do not begin with a dot.")
    return resolved


def sweep_of(path: str) -> Sweep:
    """Return the sweep of a file below the server's folder; raises as `evidence_below_here`."""
    sweep = load_sweep(below_here(path))
    evidence_below_here(sweep)
    return sweep


def evidence_below_here(sweep: Sweep) -> None:
    """Raise `ConfigError` where a sweep reads evidence that is not below the server's folder.

    Evidence is sent to models and returned by tools.
    """
    for window in sweep.windows.values():
        if path := getattr(window.source, "path", None):
            below_here(str(path))
