"""Flow runs that ended with the installation they ran in: scheduled again, so that they go on.

Only for a work pool whose runs are processes of this machine. What a run has done is in the
database, so it asks only what it had left.
"""

from collections.abc import Iterable
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterId,
    FlowRunFilterState,
    FlowRunFilterStateType,
    WorkPoolFilter,
    WorkPoolFilterName,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.states import Scheduled

from deployments import lost_runs
from deployments.bootstrap import WORK_POOL
from judge_gym import processes

MESSAGE = "Its process ended with `judge-gym up`; the next one goes on from what is missing."


async def unfinished() -> list[UUID]:
    """Return the runs that a worker of ours has taken and not finished."""
    return [run.id for run in await _in_state(StateType.RUNNING, StateType.PENDING)]


async def put_back(stopped: Iterable[UUID]) -> None:
    """Schedule those of these runs again that were cut off; those that ended by themselves stay."""
    found = await _in_state(StateType.RUNNING, StateType.PENDING, StateType.CRASHED, of=stopped)
    await _schedule(found)


async def put_back_lost() -> int:
    """Schedule the runs again that count as running while their process is gone; returns how many.

    That is what a kill leaves behind. The server may have noticed before we ask.
    """
    going = await _in_state(StateType.RUNNING, StateType.PENDING)
    noticed = [
        run
        for run in await _in_state(StateType.CRASHED)
        if run.state is not None and run.state.message == lost_runs.message()
    ]
    return await _schedule([run for run in going if not _has_process(run)] + noticed)


async def _in_state(*states: StateType, of: Iterable[UUID] | None = None) -> list[FlowRun]:
    async with get_client() as client:
        return await client.read_flow_runs(
            flow_run_filter=FlowRunFilter(
                state=FlowRunFilterState(type=FlowRunFilterStateType(any_=list(states))),
                id=FlowRunFilterId(any_=list(of)) if of is not None else None,
            ),
            work_pool_filter=WorkPoolFilter(name=WorkPoolFilterName(any_=[WORK_POOL])),
        )


async def _schedule(runs: list[FlowRun]) -> int:
    async with get_client() as client:
        for run in runs:
            await client.set_flow_run_state(run.id, Scheduled(message=MESSAGE), force=True)
    return len(runs)


def _has_process(run: FlowRun) -> bool:
    number = (run.infrastructure_pid or "").rpartition(":")[2]
    return number.isdigit() and processes.exists(int(number))
