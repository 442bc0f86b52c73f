"""Printing and confirmation for all commands: console, errors, tables."""

import logging
import os
import shutil
import sys
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    RenderableType,
    RenderHook,
    RenderResult,
)
from rich.markup import escape
from rich.measure import Measurement
from rich.status import Status
from rich.text import Text

from deployments.cli.json_output import FORMAT, json_output
from judge_gym.counting import counted, said_once
from judge_gym.errors import JudgeGymError
from judge_gym.formats import visible
from judge_gym.logs import OF_COMMANDS, use_json_lines
from judge_gym.shipped import documented

if TYPE_CHECKING:
    from judge_gym.calibration.checks import Check
    from judge_gym.model_names import Answered
    from judge_gym.report.table import TerminalTable
    from judge_gym.store.windows import WindowLine

WIDTH_WITHOUT_TERMINAL = 120
"""Width in columns of output to a file or a pipe; rich would use 80."""

BAD_INPUT = 2
"""The exit code when a file, a setting, an option or an argument cannot be used."""
BUDGET_USED_UP = 4
"""The exit code when a budget stopped the work."""
CANNOT_TELL = 3
"""The exit code when no threshold is missed, but the data cannot tell whether all are met."""
TRY_AGAIN_LATER = 75
"""The exit code while calls wait, in batches or for a bound per hour: EX_TEMPFAIL of sysexits.h."""
EXIT_CODES = (
    f"Exit codes: 0 success, 1 an error or failed calls, {BAD_INPUT} bad input, "
    f"{CANNOT_TELL} cannot tell, {BUDGET_USED_UP} budget used up, "
    f"{TRY_AGAIN_LATER} rerun later (batches, bounds per hour), 130 Ctrl-C, 143 SIGTERM. "
    f"{documented('reference/exit-codes.md')} explains them."
)


class _Visible:
    """What is printed, without characters of others that turn text or drive the terminal."""

    def __init__(self, printed: RenderableType) -> None:
        self._printed = printed

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in console.render(self._printed, options):
            yield part if part.control else part._replace(text=visible(part.text))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self._printed)


class _ShowVisibly(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Visible(one) for one in renderables]


LOGGER = logging.getLogger(OF_COMMANDS)


class _Output(Console):
    """A console; what it prints to standard error is a line of the log where logs are JSON.

    Such a log has sentences only: tables are in the JSON of the command.
    """

    level = logging.INFO

    def print(self, *objects: Any, level: int | None = None, **options: Any) -> None:
        if not (self.stderr and log_is_json()):
            super().print(*objects, **options)
            return
        if not all(isinstance(one, str | Text) for one in objects):
            return
        with self.capture() as written:
            super().print(*objects, **options)
        if line := " ".join(written.get().split()):
            LOGGER.log(level or self.level, line)

    def plain(self, text: object) -> None:
        """Print text as it is: without markup, and its lines as long as they are."""
        self.print(text, markup=False, soft_wrap=True)

    def warn(self, text: object, **options: Any) -> None:
        """Print a warning, which has its level in a log of JSON lines."""
        self.print(f"Warning: {text}", markup=False, level=logging.WARNING, **options)

    def status(self, status: RenderableType, **options: Any) -> Status:
        if not (self.stderr and log_is_json()):
            return super().status(status, **options)
        LOGGER.info(str(status))
        return Status(status, console=Console(quiet=True))


class _Errors(_Output):
    level = logging.WARNING


console = _Output(highlight=False, width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
errors = _Errors(stderr=True, highlight=False)
for _output in (console, errors):
    _output.push_render_hook(_ShowVisibly())


def command() -> str:
    """Return how this program is called: its name, or its path if it is not on PATH."""
    called = Path(sys.argv[0])
    on_path = shutil.which(called.name)
    if on_path or not called.is_file():
        return called.name if on_path else "judge-gym"
    return os.path.relpath(called)


def begin_output() -> None:
    """Decide by the command's words what standard output and standard error are for.

    With `--json`, standard output is for one JSON value and standard error for JSON lines.
    """
    words = sys.argv[1:]
    typed = words[: words.index("--")] if "--" in words else words
    json_output.begin(wanted=FORMAT in typed)
    console.stderr = json_output.wanted
    # Before the embedded database starts, which logs too. Reading the settings takes a while.
    may_be_set = "JUDGE_GYM_LOG_FORMAT" in os.environ or Path("judge-gym.toml").exists()
    if json_output.wanted or (may_be_set and log_is_json()):
        use_json_lines(sys.stderr)


def log_is_json() -> bool:
    """Whether standard error is a log of JSON lines; not where the settings cannot be read."""
    if json_output.wanted:
        return True
    from judge_gym.settings import settings

    try:
        return settings().log_format == "json"
    except JudgeGymError:
        return False


PROGRESS_S = 15.0
"""Least seconds between two lines of progress, but for the last."""


def say_progress(line: str) -> None:
    """Write a line of progress to standard error, as JSON if logs are."""
    if log_is_json():
        logging.getLogger("judge_gym.progress").info(line)
    else:
        errors.plain(line)


SILENT_S = 5.0
"""Seconds that a command waits without a word."""


@contextmanager
def waiting_for(what: str, longest_s: float) -> Iterator[None]:
    """Say once what the block waits for, and how long at most, if it takes `SILENT_S` seconds."""
    line = f"Waiting for {what}, at most {longest_s:.0f} s ..."
    timer = threading.Timer(SILENT_S, say_progress, [line])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _ProgressLines(logging.Handler):
    """Says how far work is, unless that was said just now; a warning at once."""

    def __init__(self, work: str) -> None:
        super().__init__()
        self._work = work
        self._at = monotonic()
        self._said = self._newest = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            say_progress(record.getMessage())
        elif self._work in ("", getattr(record, "work", "")):
            self._newest = record.getMessage()
            if monotonic() - self._at >= PROGRESS_S:
                self._say()

    def end(self) -> None:
        """Say how far the work came, if any line was said of it."""
        if self._said:
            self._say()

    def _say(self) -> None:
        if self._newest != self._said:
            self._at, self._said = monotonic(), self._newest
            say_progress(self._newest)


@contextmanager
def progress_lines(work: str = "") -> Iterator[None]:
    """Say at times how far the flows of this process are, until the block ends; or one `work`."""
    from tasks.artifacts import PROGRESS

    handler = _ProgressLines(work)
    PROGRESS.addHandler(handler)
    PROGRESS.setLevel(logging.INFO)
    try:
        yield
    finally:
        PROGRESS.removeHandler(handler)
    handler.end()


def fail(message: str, remedy: str = "", code: int = 1) -> NoReturn:
    """Print an error and exit with `code`."""
    if log_is_json():
        LOGGER.error(message, extra={"remedy": remedy or None, "exit_code": code})
    else:
        errors.print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True)
        if remedy:
            errors.print(escape(remedy), soft_wrap=True)
    json_output.failed(code, message, remedy)
    sys.exit(code)


def exit_code_of(error: Exception) -> int:
    """Return the exit code of a known error; docs/reference/exit-codes.md lists them."""
    from judge_gym.errors import ConfigError, DataFileError

    if isinstance(error, ConfigError | DataFileError):
        return BAD_INPUT  # before what takes long to import
    from judge_gym.asking.budgeting import BudgetExceededError
    from judge_gym.judges.judging import JudgementsWaitError
    from judge_gym.llm.hourly import HourlyBoundError

    if isinstance(error, BudgetExceededError):
        return BUDGET_USED_UP
    if isinstance(error, HourlyBoundError | JudgementsWaitError):
        return TRY_AGAIN_LATER
    return 1


def say_stopped(code: int) -> None:
    """Print what is true of a command that a signal stopped."""
    if log_is_json():
        LOGGER.error(stopping.sentence, extra={"exit_code": code})
    else:
        errors.print(stopping.sentence, soft_wrap=True)
    json_output.failed(code, stopping.sentence)


def rerun_later(sentence: str) -> NoReturn:
    """Print why the command is to be run again later, and exit with `TRY_AGAIN_LATER`."""
    console.plain(sentence)
    json_output.failed(TRY_AGAIN_LATER, sentence)
    raise typer.Exit(TRY_AGAIN_LATER)


def show_note(answered: "Answered", output: _Output = console) -> None:
    """Print a caution if other models answered than the one asked for."""
    if note := answered.note():
        output.plain(f"Note: {note}.")


def show_table(
    title: str,
    columns: Iterable[str],
    rows: Iterable[Iterable[object]],
    unbroken: Collection[str] = (),
) -> None:
    """Print a table; cells are plain text, not markup. `unbroken` columns are never wrapped."""
    from judge_gym.report.table import TerminalTable, plain_table

    columns, rows = list(columns), [list(row) for row in rows]
    json_output.table(title, columns, rows)
    console.print(TerminalTable(plain_table(title, columns, rows), unbroken=unbroken))


def show_checks(title: str, checks: "Iterable[Check]") -> None:
    """Print the checks of a judge with their results and actions."""
    rows = [(check.question, check.result, check.reason, check.action) for check in checks]
    show_table(title, ("check", "result", "figure", "what to do"), rows)


def show_labels(said: "Iterable[tuple[str, str]]", output: _Output = console) -> None:
    """Print which labels were read, each (name of a judge, sentences); the same ones once."""
    for sentences in said_once(said):
        output.plain(sentences)


def kept(window: "WindowLine") -> int | str:
    """Return how many documents a window has, or that it is not collected."""
    return "not collected" if window.documents is None else window.documents


def marked(name: str, *, simulated: bool) -> str:
    """Return a name or title, marked if its data are simulated."""
    return f"{name} (SIMULATED)" if simulated else name


def simulated_caveat(simulated: bool) -> str:
    """Return the caveat of simulated data as a sentence that follows another; else nothing."""
    return " Simulated data: not evidence about real models." if simulated else ""


def say_simulated() -> None:
    """Print the caveat of simulated data."""
    console.print("SIMULATED DATA: not evidence about real models.")


def as_table(
    title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]
) -> "TerminalTable":
    """Return a table to print; cells are plain text, not markup."""
    from judge_gym.report.table import TerminalTable, plain_table

    return TerminalTable(plain_table(title, columns, rows))


class Stopping:
    """What the command line prints after Ctrl-C or SIGTERM: only what is true of the command."""

    def __init__(self) -> None:
        self.sentence = "Stopped. Rerun the command to start again."

    def calls_begin(self) -> None:
        """Note that answers are stored as they arrive from here on."""
        self.sentence = "Stopped. Progress is saved. Rerun the command to resume."

    def with_calls(self, answered: int, in_flight: int) -> None:
        """Note how many calls of a run were answered, and how many had no answer yet."""
        kept = (
            f"Progress is saved: {counted(answered, 'call')} of this run ended."
            if answered
            else "No call of this run was answered yet."
        )
        again = (
            f" {counted(in_flight, 'call')} had no answer yet: rerunning the command sends "
            f"{'it' if in_flight == 1 else 'them'} again, and the provider may bill both."
            if in_flight
            else ""
        )
        self.sentence = f"Stopped. {kept}{again} Rerun the command to resume."


stopping = Stopping()


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
    return typer.confirm(question, err=True)  # standard output may be JSON
