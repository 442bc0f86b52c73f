"""`judge-gym sweep status`: how far sweeps are, what they cost, and when they will be done."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from deployments.cli.options import AsJson
from deployments.cli.output import as_table, command, console, fail
from judge_gym.counting import counted

if TYPE_CHECKING:
    from judge_gym.lab.status import Expected, Status

WATCH_S = 2.0
_DASH = "—"


def status(
    sweep: Annotated[
        str | None,
        typer.Argument(help="The sweep's name or file; without one, all.", show_default=False),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Refresh until no run is in progress.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show progress, cost, failures and the expected end of sweeps."""
    from judge_gym.errors import ConfigError

    name = None if sweep is None else name_of(sweep)
    if watch and (as_json or name is None):
        raise ConfigError("--watch follows one sweep on a screen.", "Name it, without --json.")
    if name is None:
        _show_all(as_json=as_json)
    elif watch:
        _watch(name)
    elif as_json:
        typer.echo(json.dumps(plain(_read(name)), indent=2))
    else:
        console.print(_shown(_read(name)))


def name_of(sweep: str) -> str:
    """Return a sweep's name, which may be given as its file."""
    from judge_gym.design.sweep import load_sweep

    return load_sweep(Path(sweep)).name if sweep.endswith((".yaml", ".yml")) else sweep


def plain(status: "Status") -> dict[str, Any]:
    """Return a status as JSON has it; moments in ISO 8601."""
    whole = {**asdict(status), "state": status.state, "finished": status.finished}
    read: dict[str, Any] = json.loads(json.dumps(whole, default=str))
    return read


def _read(sweep: str) -> "Status":
    from deployments.cli.environment import database
    from judge_gym.lab.status import sweep_status

    with database() as session:
        return sweep_status(session, sweep)


def _show_all(*, as_json: bool) -> None:
    from deployments.cli.environment import database
    from judge_gym.lab.status import sweep_status
    from judge_gym.store.experiments import sweep_names

    with database() as session:
        found = [sweep_status(session, name) for name in sweep_names(session)]
    if as_json:
        typer.echo(json.dumps([plain(one) for one in found], indent=2))
        return
    columns = ("sweep", "experiments", "state", "left", "failed", "calls", "cost", "expected end")
    console.print(as_table("Sweeps", columns, (_line(one) for one in found)))


def _line(one: "Status") -> tuple[object, ...]:
    failed = sum(part.failed for part in one.workflows)
    unfinished = [part.workflow for part in one.workflows if part.state in ("running", "pending")]
    return (
        one.sweep,
        one.experiments,
        f"in {unfinished[0]}" if one.in_progress and unfinished else one.state,
        _left(one.expected),
        failed,
        one.spent.calls,
        _cost(one),
        _end(one.expected),
    )


def _watch(sweep: str) -> None:
    """Show the status anew while a run is in progress, or until Ctrl-C.

    Exit code 1 says that no run is in progress and work is left, 75 that it waits for batches.
    """
    from sqlalchemy.orm import Session

    from deployments.cli.sweep import TRY_AGAIN_LATER
    from judge_gym.lab.status import sweep_status
    from judge_gym.settings import settings
    from judge_gym.store.engine import connect

    engine = connect(settings())

    def read() -> "Status":
        with Session(engine) as session:
            return sweep_status(session, sweep)

    try:
        with Live(console=console, auto_refresh=False) as live:
            last = follow(read, lambda one: live.update(_shown(one), refresh=True))
    except KeyboardInterrupt:
        return  # what was shown last stays
    finally:
        engine.dispose()
    if not last.finished:
        fail(
            f"Sweep {sweep} is {last.state}: no run is in progress.",
            f"Resume it with `{command()} sweep run FILE`.",
            TRY_AGAIN_LATER if last.state == "waiting for batches" else 1,
        )


def follow(read: Callable[[], "Status"], show: Callable[["Status"], None]) -> "Status":
    """Read and show until everything is finished or no run is in progress; the last status."""
    while True:
        one = read()
        show(one)
        if one.finished or not one.in_progress:
            return one
        time.sleep(WATCH_S)


def _shown(one: "Status") -> RenderableType:
    return Group(*_parts(one))


def _parts(one: "Status") -> Iterator[RenderableType]:
    # A screen that is too short for all of it keeps the beginning.
    yield as_table(
        f"Sweep {one.sweep}: {counted(one.experiments, 'experiment')}, {one.state}",
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
            for part in one.workflows
        ),
    )
    yield Text()
    yield Text(f"Calls: {one.spent.calls}. Cost so far: {_cost(one)}.")
    yield Text(f"Left: {_left(one.expected)}. {_sentence(one.expected)}")
    yield Text()
    if one.failures or one.refusals:
        yield as_table(
            "Failures",
            ("workflow", "class", "failed", "asked again by"),
            [
                *((f.workflow, f.failure, f.count, "judge-gym sweep retry") for f in one.failures),
                *((f.workflow, f.failure, f.calls, "the next run") for f in one.refusals),
            ],
        )
        yield Text()
    if one.providers:
        yield as_table(
            "Lately",
            ("provider", "calls ended", "a minute", "in flight"),
            (
                (part.provider, part.ended, f"{part.per_minute:.0f}", part.in_flight)
                for part in one.providers
            ),
        )
        yield Text()
    for lowered in one.lowered_limits:
        yield Text(
            f"{lowered.provider}: at most {counted(lowered.in_flight, 'request')} in flight in "
            f"process {lowered.process} since {lowered.at:%H:%M:%S} UTC ({lowered.reason})."
        )
    yield as_table(
        "Windows",
        ("id", "name", "documents", "kept out"),
        ((part.id, part.name, part.documents, part.dropped) for part in one.windows),
    )


def _cost(one: "Status") -> str:
    if one.simulated:
        return "0 (simulated)"
    unknown = f" and the unknown price of {one.spent.unpriced}" if one.spent.unpriced else ""
    return f"{one.spent.cost_usd:.4g} USD{unknown}"


def _left(expected: "Expected") -> str:
    return f"{expected.left} or more" if expected.at_least else str(expected.left)


def _end(expected: "Expected") -> str:
    return _DASH if expected.at is None else f"{expected.at:%Y-%m-%d %H:%M} UTC"


def _sentence(expected: "Expected") -> str:
    if expected.at is None:
        return f"Expected end: {_DASH} ({expected.why})."
    soonest = ", or later" if expected.at_least else ""
    return f"Expected end: {_end(expected)}{soonest} ({expected.why})."
