"""What `--json` prints: one JSON value on standard output, when the command has ended.

A command gives its value with `give`. One that fails adds an `error` to it, so that a program
reads what happened from the same place, whichever command it was.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import typer

FORMAT = "--json"
"""The option of every command that can print JSON."""


@dataclass(frozen=True)
class PartDone:
    """How far one part of a command's work is, in calls or judgements."""

    name: str
    done: int
    left: int | None
    """None where it cannot be told yet."""


class JsonOutput:
    """The value of one command; it is printed at once where no command runs to its end."""

    def __init__(self) -> None:
        self.begin(wanted=False)

    def begin(self, *, wanted: bool) -> None:
        """Note whether the command that begins prints JSON; forget what was given before."""
        self.wanted = wanted
        self.parts: Callable[[], Iterable[PartDone]] | None = None
        """Reads how far the work of the command is; used when it fails."""
        self._value: Any = None
        self._tables: list[dict[str, Any]] = []
        self._error: dict[str, Any] | None = None

    def give(self, value: Any) -> None:
        """Print a value at the end of the command."""
        if self.wanted:
            self._value = value
        else:
            _print(value)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
        """Note a table that is shown; a command that gives no value prints its tables."""
        if self.wanted:
            cells = [dict(zip(columns, row, strict=True)) for row in rows]
            self._tables.append({"title": title, "rows": cells})

    def failed(self, code: int, message: str, remedy: str = "") -> None:
        """Note how the command failed."""
        if self.wanted:
            self._error = {"code": code, "message": message, "remedy": remedy, **self._progress()}

    def end(self) -> None:
        """Print the value of the command that ends, with its error if it failed."""
        value = self._value
        if value is None and self._tables:
            value = {"tables": self._tables}
        if self._error is not None and (value is None or isinstance(value, dict)):
            value = {**(value or {}), "error": self._error}
        if value is not None:
            _print(value)
        self.begin(wanted=False)

    def _progress(self) -> dict[str, Any]:
        """Return what is done and left; nothing where the database does not answer."""
        if self.parts is None:
            return {}
        from sqlalchemy.exc import OperationalError

        from judge_gym.errors import JudgeGymError

        parts: list[PartDone] = []
        with suppress(JudgeGymError, OperationalError):
            parts = list(self.parts())
        if not parts:
            return {}
        left = [part.left for part in parts]
        return {
            "done": sum(part.done for part in parts),
            "left": None if None in left else sum(one or 0 for one in left),
            "parts": [asdict(part) for part in parts],
        }


json_output = JsonOutput()


def print_json(**found: Any) -> None:
    """Print an object as JSON, for programs."""
    json_output.give(found)


def _print(value: Mapping[str, Any] | Sequence[Any]) -> None:
    typer.echo(json.dumps(value, indent=2, default=str))
