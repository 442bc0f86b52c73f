"""Printing and confirmation for all commands: console, errors, tables."""

import os
import re
import shutil
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from judge_gym.calibration.checks import Check
    from judge_gym.report.table import TerminalTable

WIDTH_WITHOUT_TERMINAL = 120
"""Width in columns of output to a file or a pipe; rich would use 80."""

console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
errors = Console(stderr=True, highlight=False)


def command() -> str:
    """Return how this program is called: its name, or its path if it is not on PATH."""
    called = Path(sys.argv[0])
    on_path = shutil.which(called.name)
    if on_path or not called.is_file():
        return called.name if on_path else "judge-gym"
    return os.path.relpath(called)


def fail(message: str, remedy: str = "", code: int = 1) -> NoReturn:
    """Print an error and exit with `code`."""
    errors.print(f"[bold red]Error:[/] {escape(in_options(message))}", soft_wrap=True)
    if remedy:
        errors.print(escape(in_options(remedy)), soft_wrap=True)
    sys.exit(code)


def in_options(message: str) -> str:
    """Return a message of a flow with its parameters written as command-line options."""
    return re.sub(r"\b(?:retry_failed|allow_unreadable)\b", _as_option, message)


def _as_option(parameter: re.Match[str]) -> str:
    return f"--{parameter[0].replace('_', '-')}"


def show_table(
    title: str,
    columns: Iterable[str],
    rows: Iterable[Iterable[object]],
    unbroken: Collection[str] = (),
) -> None:
    """Print a table; cells are plain text, not markup. `unbroken` columns are never wrapped."""
    from judge_gym.report.table import TerminalTable, plain_table

    console.print(TerminalTable(plain_table(title, columns, rows), unbroken=unbroken))


def show_checks(title: str, checks: "Iterable[Check]") -> None:
    """Print the checks of a judge with their results and actions."""
    rows = [
        (check.question, check.result, check.reason, in_options(check.action)) for check in checks
    ]
    show_table(title, ("check", "result", "figure", "what to do"), rows)


def marked(name: str, *, simulated: bool) -> str:
    """Return a name or title, marked if its data are simulated."""
    return f"{name} (SIMULATED)" if simulated else name


def say_simulated() -> None:
    """Print the caveat of simulated data."""
    console.print("SIMULATED DATA: not evidence about real models.")


def as_table(
    title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]
) -> "TerminalTable":
    """Return a table to print; cells are plain text, not markup."""
    from judge_gym.report.table import TerminalTable, plain_table

    return TerminalTable(plain_table(title, columns, rows))


def confirmed(question: str, *, yes: bool) -> bool:
    """Ask for confirmation, unless `yes`; raises `ConfigError` without a terminal."""
    from judge_gym.errors import ConfigError

    if yes:
        return True
    if not sys.stdin.isatty():
        raise ConfigError(
            "This needs confirmation, and there is no terminal; nothing was changed.",
            "Read the output above, then add --yes to confirm.",
        )
    return typer.confirm(question)
