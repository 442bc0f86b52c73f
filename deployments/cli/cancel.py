"""`judge-gym cancel`: end the runs of a sweep, its batches and its calls without an answer."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from deployments.cli.choosing import (
    Name,
    OfWorkflow,
    Yes,
    choose,
    engine_of_settings,
    show_calls,
)
from deployments.cli.output import confirmed, console, show_table
from judge_gym.counting import counted

if TYPE_CHECKING:
    from deployments.cli.flow_runs import FoundRun

PATIENCE_S = 60.0
"""A worker looks for runs to be cancelled every ten seconds."""


def cancel(name: Name, workflow: OfWorkflow = None, yes: Yes = False) -> None:
    """Cancel flow runs of deployments, batches at providers, and calls that have no answer.

    What would be cancelled is shown first. Answers stay; a run that is started again asks for
    what was cancelled. A run typed in a terminal is ended there, with Ctrl-C.
    """
    from sqlalchemy.orm import Session

    from deployments.cli.environment import prepare_environment
    from deployments.cli.status import name_of
    from judge_gym.settings import settings
    from judge_gym.store.cancelling import cancel_calls, without_answer
    from judge_gym.store.claims import idle
    from judge_gym.store.selecting import calls, ledger_lines, waiting_in_batches

    prepare_environment(settings().data_dir, verbose=False)
    with engine_of_settings() as engine:
        with Session(engine) as session:
            chosen = choose(session, name)
            selection = chosen.selection(workflow or "")
            lines = ledger_lines(session, without_answer(selection))
            batches = waiting_in_batches(session, calls(selection))
        from deployments.cli.flow_runs import unfinished_runs

        runs = asyncio.run(unfinished_runs(chosen, name_of(name)))
        deployed = [run for run in runs if run.deployed]
        _show(chosen.title, runs, batches)
        show_calls("Calls without an answer", lines)
        count = sum(one.calls for one in lines)
        if not (deployed or batches or count):
            console.print("There is nothing to cancel.")
            raise typer.Exit
        if not confirmed("Cancel them?", yes=yes):
            console.print("Nothing was cancelled.")
            raise typer.Exit
        asyncio.run(_end(deployed, batches))
        with (
            idle(engine, chosen.claims, PATIENCE_S if deployed else 0),
            Session(engine) as session,
            session.begin(),
        ):
            count = cancel_calls(session, selection)
    console.print(
        f"Cancelled {counted(len(deployed), 'flow run')} and {counted(count, 'call')}; batches: "
        f"{len(batches)}, see `judge-gym batches list`.",
        markup=False,
    )


def _show(title: str, runs: "Iterable[FoundRun]", batches: Mapping[int, int]) -> None:
    show_table(
        f"{title}: flow runs",
        ("flow run", "state", "ended by"),
        ((run.name, run.state, "this" if run.deployed else "Ctrl-C where it runs") for run in runs),
    )
    show_table("Batches", ("batch", "calls of it"), batches.items())


async def _end(runs: "Sequence[FoundRun]", batches: Iterable[int]) -> None:
    from deployments.cli.flow_runs import end
    from judge_gym.asking.batching import cancel as cancel_batch
    from tasks.runtime import runtime

    if runs:
        console.print("Waiting for the workers to end them ...")
    # What a run still does while it ends would be left as calls without an answer.
    await end(runs, PATIENCE_S)
    if not batches:
        return
    async with runtime() as current:
        for batch in batches:
            console.print(f"Batch {batch} is {await cancel_batch(current, batch)}.")
