"""Resume: runs a flow run again whose process was lost, a bounded number of times.

The automation of deployments/automations/resume.yaml starts it when a flow run has crashed. Work
that is done is in the database, so a run that begins again does what is missing.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

from prefect import flow
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterParentFlowRunId
from prefect.client.schemas.objects import FlowRun, State
from prefect.exceptions import ObjectNotFound
from prefect.states import Completed, Crashed, Failed, Scheduled
from pydantic import Field

from judge_gym.counting import counted
from tasks.policy import LAUNCHED

CRASHES = 3
AFTER = timedelta(seconds=30)
"""How long after that a run begins again. A worker with `--limit` ends when it is given a run whose
slot it still holds, which it does until the hooks of the crash have run; and it takes runs ten
seconds early."""
ABANDONED = "Abandoned"
"""The name of the state of a run that crashed too often. It is no `Crashed`, which would start this
flow once more."""


@flow(name="resume", flow_run_name="resume flow run {flow_run}")
async def resume(
    flow_run: UUID, at_most: Annotated[int, Field(ge=0, le=100)] = CRASHES
) -> State[None]:
    """Run a crashed flow run again, and end the flow runs that ran inside its lost process.

    Runs that a sweep launched are left to the sweep, and runs without a deployment to whoever
    started them.

    Args:
        flow_run: the id of the flow run that has crashed.
        at_most: how often a run is resumed. A run that crashes once more stays crashed, with a
            message that says so.
    """
    async with get_client() as client:
        try:
            run = await client.read_flow_run(flow_run)
        except ObjectNotFound:
            return Failed(message=f"There is no flow run {flow_run}.")
        if run.state is None or not run.state.is_crashed():
            return Completed(message=f"{run.name} is {run.state_name}: there is nothing to resume.")
        ended = await _end_subflows(client, run)
        return Completed(message=f"{await _resumed(client, run, at_most)}{ended}")


async def _resumed(client: PrefectClient, run: FlowRun, at_most: int) -> str:
    """Schedule a crashed run again unless it crashed too often; returns what was done."""
    if LAUNCHED in run.tags:
        return f"{run.name} is left to the sweep that launched it."
    if run.deployment_id is None:
        return f"{run.name} has no deployment: rerun its command to resume."
    states = await client.read_flow_run_states(run.id)
    crashes = sum(state.is_crashed() and state.name != ABANDONED for state in states)
    if crashes > at_most:
        message = (
            f"Crashed {counted(crashes, 'time')}, so it is not resumed again. Read the run's and "
            "its worker's logs, then run it again: it does what is still missing."
        )
        await client.set_flow_run_state(
            run.id, Crashed(name=ABANDONED, message=message), force=True
        )
        return f"{run.name}: {message}"
    message = f"Resumed after a crash, {crashes} of at most {at_most}."
    begins: State[None] = Scheduled(scheduled_time=datetime.now(UTC) + AFTER, message=message)
    await client.set_flow_run_state(run.id, begins, force=True)
    return f"{run.name}: {message}"


async def _end_subflows(client: PrefectClient, run: FlowRun) -> str:
    """End the unfinished runs that ran inside the lost process of `run`; returns what was done."""
    within = FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[run.id]))
    lost = [
        child
        for child in await client.read_flow_runs(flow_run_filter=within)
        # Launched runs have processes of their own.
        if child.deployment_id is None and child.state is not None and not child.state.is_final()
    ]
    for child in lost:
        message = f"The process of {run.name}, in which it ran, is gone."
        await client.set_flow_run_state(child.id, Crashed(message=message), force=True)
    return f" Ended {counted(len(lost), 'flow run')} inside it." if lost else ""
