"""`judge-gym sweep status`: progress, cost, failures and expected end of sweeps."""

import json
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from deployments.cli.environment import database, database_engine
from deployments.cli.flow_runs import SweepFlowRun, lost_run, resumes, waiting_run
from deployments.cli.json_output import json_output
from deployments.cli.options import AsJson, name_of
from deployments.cli.output import as_table, command, console, fail, kept
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from judge_gym.lab.status import Expected, Status, UnknownOutcomes

WATCH_S = 2.0
RESUMED_S = 5.0
"""How often a run that is being resumed is looked for."""
_DASH = "—"


def status(
    sweep: Annotated[
        str | None,
        typer.Argument(help="The sweep's name or file. Default: all sweeps.", show_default=False),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Refresh until no run is in progress.")
    ] = False,
    as_json: AsJson = False,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Print gauges as Prometheus reads them.")
    ] = False,
) -> None:
    """Show progress, cost, failures and the expected end of sweeps."""
    name = None if sweep is None else name_of(sweep)
    if watch and (as_json or metrics or name is None):
        raise ConfigError(
            "--watch shows one sweep on a screen.",
            "Name the sweep, without --json and --metrics.",
        )
    if metrics and as_json:
        raise ConfigError("--metrics and --json are two formats.", "Choose one.")
    if metrics:
        _print_metrics(name)
    elif name is None:
        _show_all(as_json=as_json)
    elif watch:
        _watch(name)
    else:
        _show_one(name, as_json=as_json)


def _show_one(name: str, *, as_json: bool) -> None:
    """Print the status of one sweep; of one that is not stored yet, which run will store it."""
    from judge_gym.lab.status import sweep_status

    with database() as session:
        try:
            found = sweep_status(session, name)
        except StoreError as error:
            _show_waiting(name, _run_that_stores(name, error), as_json=as_json)
            return
    run = lost_run(name) if found.lost else None
    if as_json:
        json_output.give(plain(found) | {"flow_run": run and asdict(run)})
    else:
        console.print(_view(found, run))


def _run_that_stores(name: str, error: StoreError) -> SweepFlowRun:
    """Return the flow run that will store a sweep; raises the error of an unknown one."""
    if run := waiting_run(name):
        return run
    just_now = "A run that has just started may not be stored yet: try again."
    raise StoreError(error.message, (*error.remedies, just_now)) from None


def _show_waiting(name: str, run: SweepFlowRun, *, as_json: bool) -> None:
    if as_json:
        json_output.give(
            {
                "sweep": name,
                "at": datetime.now(UTC).isoformat(),
                "state": "waiting to begin",
                "finished": False,
                "in_progress": False,
                "flow_run": asdict(run),
            }
        )
        return
    console.plain(
        f"Sweep {name} is not stored yet. Its flow run {run.name} is {run.state}. {run.then}"
    )


def check_failed_work(sweep: str, parts: Sequence[str] | None = None) -> None:
    """Raise `JudgeGymError` with the remedy if work of a sweep is stored as failed."""
    from judge_gym.errors import JudgeGymError
    from judge_gym.lab.status import failed_work

    with database() as session:
        failed = failed_work(session, sweep, parts)
    if failed:
        raise JudgeGymError(
            f"Sweep {sweep} finished with failures: {failed}.",
            f"Run `{command()} sweep retry {shlex.quote(sweep)}`, then rerun the command.",
        )


def plain(status: "Status") -> dict[str, Any]:
    """Return a status as JSON values, with times in ISO 8601."""
    fields = {**asdict(status), "state": status.state, "finished": status.finished}
    values: dict[str, Any] = json.loads(json.dumps(fields, default=str))
    return values


def _show_all(*, as_json: bool) -> None:
    from judge_gym.lab.status import sweep_status
    from judge_gym.store.experiments import sweep_names

    with database() as session:
        statuses = [sweep_status(session, name) for name in sweep_names(session)]
    if as_json:
        json_output.give([plain(status) for status in statuses])
        return
    columns = ("sweep", "experiments", "state", "left", "failed", "calls", "cost", "expected end")
    console.print(as_table("Sweeps", columns, map(_row, statuses)))


def _print_metrics(sweep: str | None) -> None:
    from deployments.cli.metrics import metrics_text
    from judge_gym.lab.status import sweep_status
    from judge_gym.store.experiments import sweep_names

    with database() as session:
        names = sweep_names(session) if sweep is None else [sweep]
        statuses = [sweep_status(session, name) for name in names]
        typer.echo(metrics_text(statuses), nl=False)


def _row(status: "Status") -> tuple[object, ...]:
    failed = sum(part.failed for part in status.workflows)
    open_parts = [
        part.workflow for part in status.workflows if part.state in ("running", "pending")
    ]
    return (
        status.sweep,
        status.experiments,
        f"in {open_parts[0]}" if status.in_progress and open_parts else status.state,
        _left(status.expected),
        failed,
        status.spent.calls,
        status.cost_in_words,
        _end(status.expected),
    )


def _watch(sweep: str) -> None:
    """Refresh the status until no run is in progress or resumed, or until Ctrl-C.

    Exits with 1 if work is left or has failed, and with 75 if it waits in batches.
    """
    from sqlalchemy.orm import Session

    from deployments.cli.output import TRY_AGAIN_LATER
    from judge_gym.lab.status import sweep_status

    with database_engine() as engine:

        def read() -> "Status":
            with Session(engine) as session:
                return sweep_status(session, sweep)

        try:
            _wait_until_stored(sweep, read)
            while True:
                with Live(console=console, auto_refresh=False) as live:
                    last = follow(read, lambda status: live.update(_view(status), refresh=True))
                if last.state == "waiting for batches" or not resumes(sweep):
                    break
                time.sleep(RESUMED_S)
        except KeyboardInterrupt:
            return  # the last status stays on the screen
    if not last.finished:
        fail(
            f"Sweep {sweep} is {last.state}: no run is in progress. {_why_it_ended(last)}".strip(),
            f"Resume it with `{command()} sweep run FILE`.",
            TRY_AGAIN_LATER if last.state == "waiting for batches" else 1,
        )
    check_failed_work(sweep)


def _wait_until_stored(sweep: str, read: Callable[[], object]) -> None:
    """Wait while a flow run is there that will store the sweep; raises for an unknown sweep."""
    said = ""
    while True:
        try:
            read()
        except StoreError as error:
            run = _run_that_stores(sweep, error)
        else:
            return
        if run.state != said:
            _show_waiting(sweep, run, as_json=False)
            said = run.state
        time.sleep(RESUMED_S)


def follow(read: Callable[[], "Status"], show: Callable[["Status"], None]) -> "Status":
    """Read and show the status until no run is in progress; return the last one."""
    while True:
        status = read()
        show(status)
        if status.state == "finished" or not status.in_progress:
            return status
        time.sleep(WATCH_S)


def _view(status: "Status", lost: SweepFlowRun | None = None) -> RenderableType:
    return Group(*_parts(status, lost))


def running_view(status: "Status") -> RenderableType:
    """Return what a run of a sweep shows on a terminal: each workflow, and one line for all."""
    from judge_gym.formats import duration

    table = as_table(
        f"Sweep {status.sweep}: {status.experiments_text}",
        ("workflow", "done", "of", "failed"),
        (
            (part.workflow, part.done, "?" if part.total is None else part.total, part.failed)
            for part in status.workflows
            if part.total != 0
        ),
    )
    per_minute = sum(part.per_minute for part in status.providers)
    left = _DASH
    if status.expected.at is not None:
        seconds = max(0.0, (status.expected.at - status.at).total_seconds())
        left = f"{duration(seconds)}{' or more' if status.expected.at_least else ''}"
    line = (
        f"{counted(status.spent.calls, 'call')}, {per_minute:.0f} per minute. "
        f"Cost so far: {status.cost_in_words}. Time left: {left}."
    )
    return Group(table, Text(line))


def _parts(status: "Status", lost: SweepFlowRun | None) -> Iterator[RenderableType]:
    # A short screen shows the beginning only: the most important parts come first.
    yield from _how_far(status, lost)
    yield Text()
    yield from _without_result(status)
    yield from _providers(status)
    yield as_table(
        "Windows",
        ("number", "name", "documents", "dropped"),
        ((part.id, part.name, kept(part), part.dropped) for part in status.windows),
    )


def _how_far(status: "Status", lost: SweepFlowRun | None) -> Iterator[RenderableType]:
    """Yield what is done, what it cost, what is left, and why it does not go on."""
    yield as_table(
        f"Sweep {status.sweep}: {status.experiments_text}, {status.state}",
        ("workflow", "state", "done", "of", "failed", "wait in batches"),
        (
            (
                part.workflow,
                part.state,
                part.done,
                "?" if part.total is None else part.total,
                part.failed,
                part.wait_in_batches,
            )
            for part in status.workflows
        ),
    )
    yield Text(f"Calls: {status.spent.calls}. Cost so far: {status.cost_in_words}.")
    yield Text(f"Left: {_left(status.expected)}. {_sentence(status.expected)}")
    if why := _why_it_ended(status, lost):
        yield Text(why, style="bold")
    if status.state == "analysis pending":
        sweep = shlex.quote(status.sweep)
        yield Text(f"Analysis pending: run {command()} analyse figures {sweep}", style="bold")


def _without_result(status: "Status") -> Iterator[RenderableType]:
    """Yield what failed, was refused, came back empty or cut, or has an unknown outcome."""
    if status.failures or status.refusals:
        yield as_table(
            "Failures", ("workflow", "class", "failed", "retried by"), _failure_rows(status)
        )
    if refused := [
        f"{part.refused} in {part.workflow}" for part in status.workflows if part.refused
    ]:
        yield Text(
            f"Refused: {', '.join(refused)}. A refusal, by the model or by its provider's content "
            "policy, is an outcome: no retry asks again."
        )
    for rubric in status.refused_rubrics:
        why = f": {rubric.reason}" if rubric.reason else ""
        yield Text(
            f"Rubric of {rubric.owner}: refused by {rubric.person}{why}. "
            f"{counted(len(rubric.experiments), 'experiment')} with it "
            f"{'is' if len(rubric.experiments) == 1 else 'are'} not scored."
        )
    for empty in status.empty:
        yield Text(
            f"{counted(empty.count, 'empty answer')} of {empty.judge}: {command()} sweep retry "
            f"{shlex.quote(status.sweep)}"
        )
    for unread in status.unread:
        yield Text(str(unread))
    if status.unknown.calls:
        yield Text(_unknown(status.unknown))


def _providers(status: "Status") -> Iterator[RenderableType]:
    """Yield how fast each provider answers, and which limits were lowered."""
    if status.providers:
        from judge_gym.report.operating import PER_MINUTE

        yield as_table(
            "Last 5 minutes",
            ("provider", "calls ended", "per minute", "in flight"),
            (
                (part.provider, part.ended, f"{part.per_minute:.0f}", part.in_flight)
                for part in status.providers
            ),
        )
        yield Text(PER_MINUTE)
    for lowered in status.lowered_limits:
        yield Text(
            f"{lowered.provider}: at most {counted(lowered.in_flight, 'request')} in flight in "
            f"process {lowered.process} since {lowered.at:%H:%M:%S} UTC ({lowered.reason})."
        )


def _why_it_ended(status: "Status", lost: SweepFlowRun | None = None) -> str:
    """Return why the last run of an unfinished sweep ended; empty while one runs."""
    run = status.last_run
    if run is None or status.in_progress or status.state == "finished":
        return ""
    if run.ended_at is None:
        why = (
            f"The run that began at {run.began_at:%Y-%m-%d %H:%M} UTC is lost: it ended without a "
            "message, so its process was killed, or its machine stopped."
        )
        then = lost.then if lost else ""
        if lost is None or not lost.is_resumed:
            then = f"{then} Resume it with `{command()} sweep run FILE`.".strip()
        return f"{why} {then}"
    return f"The last run ended at {run.ended_at:%Y-%m-%d %H:%M} UTC: {run.message or ''}"


def _failure_rows(status: "Status") -> Iterator[tuple[object, ...]]:
    for failed in status.failures:
        yield failed.workflow, failed.failure, failed.count, "judge-gym sweep retry"
    for refused in status.refusals:
        yield refused.workflow, refused.failure, refused.calls, "the next run"


def _unknown(unknown: "UnknownOutcomes") -> str:
    from judge_gym.records.attempts import STOPPED_BEFORE

    calls = counted(unknown.calls, "call")
    prices = f", and {unknown.unpriced} of unknown price" if unknown.unpriced else ""
    left = unknown.calls - unknown.sent_again
    if not left:
        then = "They have been sent again."
    elif unknown.sent_again:
        then = f"The next run sends {left:,} again; the others have been."
    else:
        then = "The next run sends them again."
    return (
        f"Unknown outcome: {calls}, {STOPPED_BEFORE}. Their cost, at most "
        f"{unknown.cost_usd:.4g} USD{prices}, is not in the known cost. {then}"
    )


def _left(expected: "Expected") -> str:
    return f"{expected.left} or more" if expected.at_least else str(expected.left)


def _end(expected: "Expected") -> str:
    return _DASH if expected.at is None else f"{expected.at:%Y-%m-%d %H:%M} UTC"


def _sentence(expected: "Expected") -> str:
    if expected.at is None:
        return f"Expected end: {_DASH} ({expected.why})."
    soonest = ", or later" if expected.at_least else ""
    return f"Expected end: {_end(expected)}{soonest} ({expected.why})."
