"""Flow runs of a sweep at the user's Prefect server: which there are, and telling them to end."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from deployments.cli.prefect_api import check_api
from judge_gym.design.sweep import name_in
from judge_gym.settings import REPOSITORY

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient

    from judge_gym.store.selecting import Chosen

FLOWS = ("sweep", "w1-evidence", "w2-rubric", "w3-scoring", "w4-swap", "w5-probe")
PAGE = 200
POLL_S = 1.0


@dataclass(frozen=True)
class FoundRun:
    """A flow run that has not ended."""

    id: UUID
    name: str
    state: str
    deployed: bool
    """Whether a worker runs it; one typed in a terminal ends there."""


async def unfinished_runs(chosen: "Chosen", sweep: str) -> list[FoundRun]:
    """Return the flow runs that work on what is chosen; none without a Prefect server."""
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
        # What a run has begun in its own process ends with it.
        if (run.deployment_id or not run.parent_task_run_id)
        and works_on(run.parameters, chosen, sweep)
    ]


def works_on(parameters: dict[str, Any], chosen: "Chosen", sweep: str) -> bool:
    """Whether a run with these parameters works on what is chosen."""
    tags = set(chosen.experiments.values())
    if tags & set(_strings(parameters.get("experiments"))):
        return True
    if {str(one) for one in chosen.windows} & set(_strings(parameters.get("windows"))):
        return True
    file = parameters.get("file")
    # Runs of deployments find their files from the checkout of their worker.
    places = [] if file is None else [Path(str(file)), REPOSITORY / str(file)]
    return sweep in map(name_in, places)


def _strings(values: Any) -> Iterable[str]:
    return map(str, values) if isinstance(values, list) else ()


async def end(runs: Sequence[FoundRun], patience_s: float) -> None:
    """Tell these runs to end, and wait so long at most until they have.

    Workers kill what runs, and what has not begun never does.
    """
    from prefect.client.orchestration import get_client
    from prefect.states import Cancelling

    async with get_client() as client:
        for run in runs:
            await client.set_flow_run_state(run.id, Cancelling())
        with suppress(TimeoutError):  # one still at work holds its claims
            async with asyncio.timeout(patience_s):
                for run in runs:
                    while not await _has_ended(client, run.id):
                        await asyncio.sleep(POLL_S)


async def _has_ended(client: "PrefectClient", run: UUID) -> bool:
    state = (await client.read_flow_run(run)).state
    return state is not None and state.is_final()
