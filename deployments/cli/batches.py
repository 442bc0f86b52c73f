"""`judge-gym batches`: what providers work on, and ending it."""

import asyncio
from datetime import UTC, datetime
from typing import Annotated

import typer

from deployments.cli.output import console, show_table
from judge_gym.counting import counted

app = typer.Typer(help="See the batches at providers, and cancel them.", no_args_is_help=True)


@app.command("list")
def list_batches(
    ended: Annotated[bool, typer.Option("--all", help="Those that have ended, too.")] = False,
) -> None:
    """List the batches that are open, with what is known since the last run."""
    from deployments.cli.database import database
    from judge_gym.store.batches import batches

    now = datetime.now(UTC)
    with database() as session:
        rows = [
            (
                one.id,
                one.model,
                one.status,
                one.calls,
                one.answered,
                one.failed,
                _age(now - one.created_at),
                one.error or "",
            )
            for one in batches(session, ended=ended)
        ]
    columns = ("batch", "model", "status", "calls", "answered", "failed", "age", "error")
    show_table(counted(len(rows), "batch" if ended else "open batch"), columns, rows)


@app.command()
def cancel(
    batch: Annotated[int, typer.Argument(help="The batch's number.", show_default=False)],
) -> None:
    """Have a provider end a batch; what it answered until then is taken in by the next run.

    Its other calls count as cancelled, and are asked directly when a run is started again.
    """
    from deployments.cli.environment import prepare_environment
    from judge_gym.settings import settings

    prepare_environment(settings().data_dir, verbose=False)
    from judge_gym.asking.batching import cancel as cancel_batch
    from tasks.runtime import runtime

    async def ask() -> str:
        async with runtime() as current:
            return await cancel_batch(current, batch)

    console.print(f"Batch {batch} is {asyncio.run(ask())}.")


def _age(age: object) -> str:
    """Return days, hours and minutes, without the seconds."""
    return str(age).rpartition(":")[0] + " h"
