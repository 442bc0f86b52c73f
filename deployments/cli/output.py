"""What every command prints with: one console, one shape of error, one way to ask."""

import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from judge_gym.calibration.checks import Check
    from judge_gym.report.table import TerminalTable

WIDTH_WITHOUT_TERMINAL = 120
"""Columns when the output goes to a file or a pipe, where rich would take 80."""

console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
errors = Console(stderr=True, highlight=False)


def command() -> str:
    """Return how this program is called here: by its name, or by its path when it is on none."""
    called = Path(sys.argv[0])
    on_path = shutil.which(called.name)
    if on_path or not called.is_file():
        return called.name if on_path else "judge-gym"
    return os.path.relpath(called)


def fail(message: str, remedy: str = "", code: int = 1) -> NoReturn:
    """Print an error and leave with `code`."""
    errors.print(f"[bold red]Error:[/] {escape(in_options(message))}", soft_wrap=True)
    if remedy:
        errors.print(escape(in_options(remedy)), soft_wrap=True)
    sys.exit(code)


def in_options(said: str) -> str:
    """Return what flows say of their parameters in the words of the command line."""
    return re.sub(r"\b(?:retry_failed|allow_unreadable)\b", _as_option, said)


def _as_option(parameter: re.Match[str]) -> str:
    return f"--{parameter[0].replace('_', '-')}"


def show_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table; numbers and names as they are, nothing read as markup."""
    console.print(as_table(title, columns, rows))


def show_checks(title: str, checks: "Iterable[Check]") -> None:
    """Print what was asked of a judge, what came out, and what to do about it."""
    rows = [
        (check.question, check.result, check.reason, in_options(check.action)) for check in checks
    ]
    show_table(title, ("check", "result", "figure", "what to do"), rows)


def marked(name: str, *, simulated: bool) -> str:
    """Return a name or title, marked where a simulator made what it stands for."""
    return f"{name} (SIMULATED)" if simulated else name


def say_simulated() -> None:
    """Say it where a person reads figures of simulated judges."""
    console.print("SIMULATED: these figures show judge-gym at work, and nothing else.")


def as_table(
    title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]
) -> "TerminalTable":
    """Return a table to be printed; numbers and names as they are, nothing read as markup."""
    from judge_gym.report.table import TerminalTable, plain_table

    return TerminalTable(plain_table(title, columns, rows))


def confirmed(question: str, *, yes: bool) -> bool:
    """Ask a person; raises `ConfigError` when there is nobody to ask. `yes` answers beforehand."""
    from judge_gym.errors import ConfigError

    if yes:
        return True
    if not sys.stdin.isatty():
        raise ConfigError(
            "This needs a yes, and there is no terminal to ask; nothing was changed.",
            "Read above what would be done, and add --yes to do it.",
        )
    return typer.confirm(question)
