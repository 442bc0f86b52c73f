"""Reschedules flow runs that were cut off when their installation ended.

Only for a work pool whose runs are processes of this machine. Completed work is in the database,
so a rescheduled run resumes with what is missing.
"""

from collections.abc import Iterable
from uuid import UUID

import psutil
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

from deployments.bootstrap import WORK_POOL, lost_run_message

MESSAGE = "The process ended with `judge-gym up`. The next installation resumes the run."


async def unfinished_runs() -> list[UUID]:
    """Return the runs of our work pool that a worker has started and not finished."""
    return [run.id for run in await _in_state(StateType.RUNNING, StateType.PENDING)]


async def reschedule(stopped: Iterable[UUID]) -> None:
    """Schedule those of these runs again that were cut off; finished runs keep their state."""
    runs = await _in_state(StateType.RUNNING, StateType.PENDING, StateType.CRASHED, of=stopped)
    await _schedule(runs)


async def reschedule_lost() -> int:
    """Schedule the unfinished runs again whose process no longer exists; returns their number.

    A kill leaves such runs behind. The server may have marked some of them as crashed already.
    """
    unfinished = await _in_state(StateType.RUNNING, StateType.PENDING)
    marked = [
        run
        for run in await _in_state(StateType.CRASHED)
        if run.state is not None and run.state.message == lost_run_message()
    ]
    return await _schedule([run for run in unfinished if not _has_process(run)] + marked)


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
    return number.isdigit() and psutil.pid_exists(int(number))
