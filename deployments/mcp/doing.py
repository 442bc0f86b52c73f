"""Tools that write or spend; each is the command of the same name, run as a process."""

import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from deployments.mcp.answers import below_here, bounded, told
from judge_gym.design.workflow_names import Part, Workflow
from judge_gym.errors import ConfigError, JudgeGymError

LONGEST_S = 600.0
LAST_LINES = 40
_PROGRAM = (sys.executable, "-c", "from deployments.cli.app import main; main()")


class CommandError(JudgeGymError):
    """A command ended with an error; the message is what it said."""


@told
def create_windows(file: str) -> str:
    """Store the windows of a sweep file; collects nothing."""
    return _said("evidence", "create", "--", str(below_here(file)))


@told
def create_experiments(file: str) -> str:
    """Store the experiments of a sweep file and give their tags; asks no model."""
    return _said("sweep", "create", "--", str(below_here(file)))


@told
def analyse(sweep: str) -> str:
    """Compute the figures of a sweep again and write its report; asks no model."""
    return _said("analyse", "figures", "--", sweep)


@told
def export(sweep: str, folder: str) -> str:
    """Write a sweep with all that belongs to it into a new folder, as CSV and Parquet."""
    return _said("data", "export", "--to", str(below_here(folder)), "--", sweep)


@told
def retry(
    name: str,
    workflow: Workflow | None = None,
    failure: str | None = None,
    confirm: bool = False,
) -> str:
    """Have what is kept as failed asked again by the next run, which pays for it.

    `name` is a sweep or an experiment's tag. Without `confirm` it only says what would be done.
    """
    return _confirmed("retry", name, workflow, failure, confirm=confirm)


@told
def cancel(name: str, workflow: Workflow | None = None, confirm: bool = False) -> str:
    """Cancel flow runs of deployments, batches, and calls without an answer.

    `name` is a sweep or an experiment's tag. Without `confirm` it only says what would be done.
    """
    return _confirmed("cancel", name, workflow, None, confirm=confirm)


def run_sweep(
    file: str, only: list[Part] | None = None, confirm_calls: int | None = None
) -> dict[str, Any]:
    """Start a sweep, or `only` some of its parts, and return at once; follow it with `status`.

    Real models cost money: either the file has a budget with max_cost_usd or max_calls, or
    `confirm_calls` says how many calls a person has agreed to, at least those `plan_sweep` counts
    as to do. A sweep that was run before goes on where it ended.
    """
    return _started(file, only, confirm_calls)


def list_runs() -> list[dict[str, Any]]:
    """List the runs that this server has started: whether they run, and what they said last."""
    return [one.described() for one in _runs]


ADDING = (create_windows, create_experiments, analyse, export)
SPENDING = (run_sweep,)
CHANGING = (retry, cancel)


@dataclass
class _Run:
    """A run in a process of its own, which outlives the server."""

    file: Path
    process: "subprocess.Popen[bytes]"
    log: Path

    def described(self) -> dict[str, Any]:
        code = self.process.poll()
        lines = self.log.read_text(errors="replace").splitlines()
        return {
            "file": str(self.file),
            "process": self.process.pid,
            "log": str(self.log),
            "state": "running" if code is None else f"ended with code {code}",
            "said": bounded("\n".join(lines[-LAST_LINES:])),
        }


_runs: list[_Run] = []


@told
def _started(file: str, only: list[Part] | None, confirm_calls: int | None) -> dict[str, Any]:
    path = below_here(file)
    _check_spending(path, confirm_calls)
    parts = [word for part in only or () for word in ("--only", part)]
    log = _new_log(path.stem)
    with log.open("wb") as output:
        process = _start(output, "sweep", "run", *parts, "--", str(path))
    _runs.append(_Run(path, process, log))
    return _runs[-1].described()


def _check_spending(file: Path, confirm_calls: int | None) -> None:
    """Raise `ConfigError` when a sweep could spend without a bound that a person has set."""
    from deployments.cli.sweep import providers_of
    from deployments.mcp.reading import plan_sweep
    from judge_gym.design.sweep import load_sweep

    sweep = load_sweep(file)
    if all(provider.name == "sim" for provider in providers_of(sweep)):
        return
    if sweep.budget and (sweep.budget.max_cost_usd or sweep.budget.max_calls):
        return
    to_do = plan_sweep(str(file))["to_do"]
    if confirm_calls is None or confirm_calls < to_do:
        raise ConfigError(
            f"{file}: it asks real models up to {to_do} times, and has no budget.",
            "Write budget: {max_cost_usd: ...} into the file, or ask a person and pass "
            f"confirm_calls={to_do}.",
        )


def _new_log(name: str) -> Path:
    from judge_gym.settings import settings

    folder = settings().data_dir / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.log"


def _start(output: IO[bytes], *words: str) -> "subprocess.Popen[bytes]":
    # A session of its own: it goes on when the server, or whoever started that, is killed.
    return subprocess.Popen(
        [*_PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _confirmed(
    verb: str, name: str, workflow: str | None, failure: str | None, *, confirm: bool
) -> str:
    words = ["sweep", verb]
    words += ["--workflow", workflow] if workflow else []
    words += ["--failure", failure] if failure else []
    if confirm:
        return _said(*words, "--yes", "--", name)
    ended = _ended(*words, "--", name)
    # Without a terminal and without a yes the command shows what it would do, and refuses.
    return f"{ended.stdout}{ended.stderr}"[-4_000:]


def _said(*words: str) -> str:
    ended = _ended(*words)
    if ended.returncode:
        raise CommandError(ended.stderr.strip() or f"It ended with code {ended.returncode}.")
    said: str = bounded(ended.stdout)
    return said


def _ended(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*_PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )
