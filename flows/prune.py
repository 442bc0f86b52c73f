"""Prune: empties the prompts of old, finished work, on a schedule."""

from typing import Annotated

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed
from pydantic import Field

from flows.endings import resumable
from tasks.events import emit_failure
from tasks.retention import prune_records


@flow(
    name="prune",
    flow_run_name="prune what is older than {older_than_days} days",
    on_failure=[emit_failure],
)
@resumable
async def prune(
    older_than_days: Annotated[int, Field(ge=1, le=36500)] = 180, dry_run: bool = True
) -> State[None]:
    """Empty the prompts of old calls of finished work; answers, costs and figures stay.

    Args:
        older_than_days: how many days ago calls ended whose prompts are emptied.
        dry_run: only count what would go.
    """
    words = await prune_records(older_than_days, dry_run=dry_run)
    return Completed(message=f"{'Would prune' if dry_run else 'Pruned'}: {words}.")
