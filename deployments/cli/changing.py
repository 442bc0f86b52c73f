"""`judge-gym sweep retry`, `cancel` and `batches`: change what is stored or in flight."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from deployments.cli.environment import check_api, database, database_engine, prepare_environment
from deployments.cli.json_output import print_json
from deployments.cli.options import AsJson, Name, OfFailure, OfWorkflow, Yes, name_of
from deployments.cli.output import (
    command,
    confirmed,
    console,
    show_table,
)
from judge_gym.counting import counted
from judge_gym.design.names import WORKFLOWS
from judge_gym.shipped import own_or_shipped

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient
    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from judge_gym.store.cleaning import EmptyAnswers, StoredFailures
    from judge_gym.store.selecting import ChosenExperiments, LedgerLine, Selection


def choose(session: "Session", name: str) -> "ChosenExperiments":
    """Return the sweep or experiment of a name, tag or file; raises `StoreError` if unknown."""
    from judge_gym.store.selecting import chosen

    return chosen(session, name_of(name))


@contextmanager
def locked_calls(
    name: str, workflow: str | None, failure: str | None
) -> "Iterator[tuple[Session, str, Selection]]":
    """Select calls of a sweep or experiment, in a transaction that keeps its runs locked.

    Yields the session, the title and the selection. Raises `StoreError` if the name is unknown,
    no call can have the failure class, or a run holds the locks.
    """
    from sqlalchemy.orm import Session

    from judge_gym.store.cleaning import check_failure
    from judge_gym.store.locks import exclusive

    with database_engine() as engine, Session(engine) as session, session.begin():
        chosen = choose(session, name)
        selection = chosen.selection(workflow or "", failure or "")
        check_failure(session, selection)
        with exclusive(engine, chosen.locks):
            yield session, chosen.title, selection


def show_calls(title: str, lines: "Iterable[LedgerLine]") -> None:
    """Print the number and cost of calls by workflow, status and failure class."""
    columns = ("workflow", "status", "failure", "calls", "cost (USD)", "without price")
    rows = (
        (
            line.workflow,
            line.status,
            line.failure,
            line.calls,
            f"{line.cost_usd:.4g}",
            line.unpriced,
        )
        for line in lines
    )
    show_table(title, columns, rows)


def retry(
    name: Name,
    workflow: OfWorkflow = None,
    failure: OfFailure = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Mark failed calls and empty answers so that the next run makes them again.

    Empty answers stay in the ledger. Shows the calls first and asks for confirmation. Makes no
    calls itself. With --json, nothing is asked: without --yes, nothing is changed.
    """
    from judge_gym.store.cleaning import empty_answers, forget_failures, kept_failures

    with locked_calls(name, workflow, failure) as (session, title, selection):
        kept = kept_failures(session, selection)
        empty = empty_answers(session, selection)
        count = sum(failures.count for failures in kept)
        if as_json:
            will = bool(count and yes)
            if will:
                forget_failures(session, selection)
            print_json(
                of=title,
                failed=list(map(asdict, kept)),
                empty_answers=list(map(asdict, empty)),
                calls=count,
                retried=will,
            )
            return
        if not count:
            console.print(f"{title}: no failed calls.", markup=False)
            raise typer.Exit
        _show_failures(title, kept, empty)
        if not confirmed(f"Retry {counted(count, 'call')} in the next run?", yes=yes):
            console.print("Nothing was changed.")
            raise typer.Exit
        forget_failures(session, selection)
    console.print(
        f"{counted(count, 'call')} will be made again, and paid for, by the next "
        f"`{command()} sweep run FILE`.",
        markup=False,
    )


def _show_failures(
    title: str, kept: "Sequence[StoredFailures]", empty: "Iterable[EmptyAnswers]"
) -> None:
    show_table(
        f"{title}: failed calls to retry",
        ("workflow", "class", "calls"),
        ((failures.workflow, failures.failure, failures.count) for failures in kept),
    )
    for answers in empty:
        unknown = f", and {answers.unpriced:,} of unknown price" if answers.unpriced else ""
        console.print(
            f"{counted(answers.count, 'empty answer')} of {answers.judge} cost "
            f"{answers.cost_usd:.4g} USD{unknown}. Making them again may cost as much.",
            markup=False,
        )
    if cut := sum(failures.count for failures in kept if failures.failure == "output_limit"):
        console.plain(
            f"{counted(cut, 'call')} had no room for an answer (output_limit) and "
            f"{'is' if cut == 1 else 'are'} not sent again at the same limit: raise max_tokens "
            "in the sweep, or thinking_tokens of the model in the providers file, first."
        )


PATIENCE_S = 60.0
"""Seconds to wait for workers, which poll for cancelled runs every ten seconds."""


def cancel(
    name: Name, workflow: OfWorkflow = None, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Cancel flow runs, batches and calls that have no answer.

    Shows them first and asks for confirmation. Answers are kept; a later run makes the cancelled
    calls again. Stop a run that was started in a terminal there, with Ctrl-C. With --json, nothing
    is asked: without --yes, nothing is cancelled.
    """
    from sqlalchemy.orm import Session

    from judge_gym.store.cleaning import without_answer
    from judge_gym.store.selecting import calls, ledger_lines, waiting_in_batches

    prepare_environment(calls=False)
    with database_engine() as engine:
        with Session(engine) as session:
            chosen = choose(session, name)
            selection = chosen.selection(workflow or "")
            lines = ledger_lines(session, without_answer(selection))
            batches = waiting_in_batches(session, calls(selection))
        runs = asyncio.run(unfinished_runs(chosen, name_of(name)))
        deployed = [run for run in runs if run.deployed]
        count = sum(line.calls for line in lines)
        to_do = bool(deployed or batches or count)
        if not as_json:
            if to_do or runs:
                _show_work(chosen.title, runs, batches)
                show_calls("Calls without an answer", lines)
            if not to_do:
                console.print(f"{chosen.title}: there is nothing to cancel.", markup=False)
                raise typer.Exit
        will = to_do and (yes if as_json else confirmed("Cancel them?", yes=yes))
        if will:
            count = _cancel(engine, chosen, selection, deployed, batches)
    if as_json:
        print_json(
            of=chosen.title,
            flow_runs=list(map(asdict, runs)),
            batches=batches,
            calls_without_answer=count,
            cancelled=will,
        )
    elif will:
        console.print(
            f"Cancelled {counted(len(deployed), 'flow run')} and {counted(count, 'call')}; "
            f"batches: {len(batches)}, see `judge-gym sweep batches list`.",
            markup=False,
        )
    else:
        console.print("Nothing was cancelled.")


def _cancel(
    engine: "Engine",
    chosen: "ChosenExperiments",
    selection: "Selection",
    runs: "Sequence[FoundRun]",
    batches: Iterable[int],
) -> int:
    """Cancel runs of deployments, batches and calls; returns how many calls."""
    from sqlalchemy.orm import Session

    from judge_gym.store.cleaning import cancel_calls
    from judge_gym.store.locks import exclusive

    asyncio.run(_cancel_all(runs, batches))
    with (
        exclusive(engine, chosen.locks, PATIENCE_S if runs else 0),
        Session(engine) as session,
        session.begin(),
    ):
        return cancel_calls(session, selection)


def _show_work(title: str, runs: "Iterable[FoundRun]", batches: Mapping[int, int]) -> None:
    show_table(
        f"{title}: flow runs",
        ("flow run", "state", "cancelled by"),
        (
            (run.name, run.state, "this command" if run.deployed else "Ctrl-C in its terminal")
            for run in runs
        ),
    )
    show_table("Batches", ("batch", "calls"), batches.items())


async def _cancel_all(runs: "Sequence[FoundRun]", batches: Iterable[int]) -> None:
    from judge_gym.asking.engine import cancel_batch
    from tasks.runtime import runtime

    if runs:
        console.print("Waiting for the workers to stop them ...")
    # Calls that a run makes while it stops would otherwise keep no answer.
    await cancel_runs(runs, PATIENCE_S)
    if not batches:
        return
    async with runtime() as current:
        for batch in batches:
            console.print(f"Batch {batch} is {await cancel_batch(current, batch)}.")


FLOWS = ("sweep", "study", *WORKFLOWS)
PAGE = 200
POLL_S = 1.0


@dataclass(frozen=True)
class FoundRun:
    """A flow run that has not ended."""

    id: UUID
    name: str
    state: str
    deployed: bool
    """Whether a worker runs it. A run in a terminal can only be stopped there."""


async def unfinished_runs(chosen: "ChosenExperiments", sweep: str) -> list[FoundRun]:
    """Return the unfinished flow runs of a selection; none without a Prefect server."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas import filters as f
    from prefect.client.schemas.objects import StateType
    from prefect.settings import get_current_settings

    url = get_current_settings().api.url
    if not url:
        return []
    await check_api(url)
    going = [StateType.SCHEDULED, StateType.PENDING, StateType.RUNNING, StateType.PAUSED]
    async with get_client() as client:
        runs: list[Any] = []
        while len(runs) % PAGE == 0:
            page = await client.read_flow_runs(
                flow_filter=f.FlowFilter(name=f.FlowFilterName(any_=list(FLOWS))),
                flow_run_filter=f.FlowRunFilter(
                    state=f.FlowRunFilterState(type=f.FlowRunFilterStateType(any_=going)),
                ),
                limit=PAGE,
                offset=len(runs),
            )
            runs += page
            if not page:
                break
    return [
        FoundRun(run.id, run.name, run.state_name or "", run.deployment_id is not None)
        for run in runs
        # A subflow in the process of its parent ends with the parent.
        if (run.deployment_id or not run.parent_task_run_id)
        and works_on(run.parameters, chosen, sweep, run.expected_start_time)
    ]


def works_on(
    parameters: dict[str, Any],
    chosen: "ChosenExperiments",
    sweep: str,
    meant_for: datetime | None = None,
) -> bool:
    """Whether a run with these parameters belongs to the selection.

    A study belongs to the sweeps of all periods that its run makes up for: it runs one of them.
    """
    from judge_gym.design.sweep import name_in

    tags = set(chosen.experiments.values())
    if tags & set(_strings(parameters.get("experiments"))):
        return True
    if {str(window) for window in chosen.windows} & set(_strings(parameters.get("windows"))):
        return True
    if definition := parameters.get("definition"):
        return bool(sweep == definition.get("name"))
    if (file := parameters.get("file")) is None:
        return False
    path = own_or_shipped(Path(str(file)))
    return sweep == name_in(path) or sweep in _sweeps_of_study(path, parameters, meant_for)


def _sweeps_of_study(
    file: Path, parameters: Mapping[str, Any], meant_for: datetime | None
) -> list[str]:
    """Return the sweeps of the periods of a study's run; none for a file of another kind."""
    from judge_gym.design.study_file import due_periods, load_study, name_of_period
    from judge_gym.design.window_files import day_of
    from judge_gym.errors import ConfigError

    try:
        study = load_study(file)
    except ConfigError:
        return []
    given = parameters.get("day")
    day = (
        date.fromisoformat(str(given))
        if given
        else day_of(meant_for or datetime.now(UTC), study.time_zone)
    )
    due = due_periods(study, day, int(parameters.get("catch_up", 0)))
    return [name_of_period(study, period) for period in due]


def _strings(values: Any) -> Iterable[str]:
    return map(str, values) if isinstance(values, list) else ()


async def cancel_runs(runs: Sequence[FoundRun], patience_s: float) -> None:
    """Cancel these flow runs and wait at most `patience_s` seconds until they have ended.

    Workers kill the ones that run; the others never start.
    """
    from prefect.client.orchestration import get_client
    from prefect.states import Cancelling

    async with get_client() as client:
        for run in runs:
            await client.set_flow_run_state(run.id, Cancelling())
        with suppress(TimeoutError):  # a run that has not stopped keeps its locks
            async with asyncio.timeout(patience_s):
                for run in runs:
                    while not await _has_ended(client, run.id):
                        await asyncio.sleep(POLL_S)


async def _has_ended(client: "PrefectClient", run: UUID) -> bool:
    state = (await client.read_flow_run(run)).state
    return state is not None and state.is_final()


def list_batches(
    ended: Annotated[bool, typer.Option("--all", help="Include batches that have ended.")] = False,
) -> None:
    """List open batches at providers, as of the last run."""
    from judge_gym.store.batches import batches

    now = datetime.now(UTC)
    with database() as session:
        rows = [
            (
                batch.id,
                batch.model,
                batch.status,
                batch.calls,
                batch.answered,
                batch.failed,
                _age(now - batch.created_at),
                batch.error or "",
            )
            for batch in batches(session, ended=ended)
        ]
    columns = ("batch", "model", "status", "calls", "answered", "failed", "age", "error")
    show_table(counted(len(rows), "batch" if ended else "open batch"), columns, rows)


def cancel_one_batch(
    batch: Annotated[int, typer.Argument(help="The batch's number.", show_default=False)],
) -> None:
    """Cancel a batch at its provider.

    The next run stores the answers that arrived before, and makes the other calls directly.
    """

    prepare_environment(calls=False)
    from judge_gym.asking.engine import cancel_batch
    from tasks.runtime import runtime

    async def status() -> str:
        async with runtime() as current:
            return await cancel_batch(current, batch)

    console.print(f"Batch {batch} is {asyncio.run(status())}.")


def _age(age: object) -> str:
    """Return days, hours and minutes, without seconds."""
    return str(age).rpartition(":")[0] + " h"
