"""Resume: runs a flow run again whose process was lost, a bounded number of times.

The automation of deployments/automations/resume.yaml starts it when a flow run has crashed. Prefect
passes an event late to its automations, or never, when its server was restarted after the state
before; `resume_crashed`, which has a schedule, finds such runs. Work that is done is in the
database, so a run that begins again does what is missing.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

from prefect import flow
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterParentFlowRunId,
    FlowRunFilterState,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments import arun_deployment
from prefect.events.filters import (
    EventFilter,
    EventNameFilter,
    EventOccurredFilter,
    EventResourceFilter,
)
from prefect.exceptions import ObjectNotFound
from prefect.states import Completed, Crashed, Failed, Scheduled
from pydantic import Field

from judge_gym.counting import counted
from judge_gym.llm.providers import load_providers
from judge_gym.settings import settings
from tasks.events import emit_failure
from tasks.policy import LAUNCHED, limits_of
from tasks.slots import DEPLOYED, free_stale_slots, limits_of_deployments

CRASHES = 3
AFTER = timedelta(seconds=30)
"""How long after that a run begins again. A worker with `--limit` ends when it is given a run whose
slot it still holds, which it does until the hooks of the crash have run; and it takes runs ten
seconds early."""
RESUME = "resume/default"
"""The deployment that resumes crashed runs."""
OF_RESUMING = "resume"
"""The tag of runs that resume others: they are not resumed."""
BY_THE_AUTOMATION = timedelta(minutes=1)
"""How long after its crash the automation has begun to resume a run."""
TO_BEGIN, TO_BEGIN_ELSEWHERE = timedelta(minutes=3), timedelta(minutes=20)
"""How long after it was taken a run has begun, as a process beside its worker and anywhere else:
longer than the automations of deployments/automations/lost-runs.yaml wait."""
SILENT = timedelta(minutes=5)
"""How long a run at work has sent no heartbeat when it is looked at again. It sends one every 30 s,
and the automation of deployments/automations/lost-runs.yaml waits for three."""
LISTEN = timedelta(seconds=100)
"""How long it is listened to then: a server that was away has heard of nobody."""
NOT_LONG_AGO = timedelta(days=1)
ABANDONED = "Abandoned"
"""The name of the state of a run that crashed too often. It is no `Crashed`, which would start this
flow once more."""


@flow(name="resume", flow_run_name="resume flow run {flow_run}", on_failure=[emit_failure])
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


@flow(
    name="resume-crashed",
    flow_run_name="look for crashed flow runs",
    on_failure=[emit_failure],
)
async def resume_crashed() -> State[None]:
    """Resume runs that crashed and that no automation has resumed; free slots that no run holds.

    Only runs that crashed within the last day, so that old ones are left alone. `resume/default`
    resumes them, with its bound. A run that was taken and never began has crashed, and so has one
    that is at work and sends no heartbeat.
    """
    configured = settings()
    providers = load_providers(configured.providers_file)
    async with get_client() as client:
        names = {*limits_of(providers), *await limits_of_deployments(client)}
        await _end_never_begun(client)
        await _end_silent(client)
        lost = await _left_crashed(client)
    freed = await free_stale_slots(configured.chunk_timeout_s, names)
    for run in lost:
        assert run.state is not None
        await arun_deployment(
            RESUME,
            parameters={"flow_run": str(run.id)},
            idempotency_key=f"resume-{run.state.id}",
            timeout=0,
            as_subflow=False,
        )
    resuming = f"Resuming {', '.join(run.name for run in lost)}." if lost else "No run to resume."
    return Completed(message=" ".join([resuming, *(f"Freed: {one}." for one in freed)]))


async def _deployed(client: PrefectClient, state: StateType) -> list[FlowRun]:
    """Return the runs of deployments in a state, those that ended last first."""
    return await client.read_flow_runs(
        flow_run_filter=FlowRunFilter(
            tags=FlowRunFilterTags(all_=[DEPLOYED]),
            state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[state])),
        ),
        sort=FlowRunSort.END_TIME_DESC,
    )


async def _end_never_begun(client: PrefectClient) -> None:
    """End runs that a worker took before it was lost, when no automation has noticed that.

    Prefect's automation does not look at a run that is taken again until it has deleted its record
    of the first time, which it does late when its server or database was restarted in between.
    """
    now = datetime.now(UTC)
    for run in await _deployed(client, StateType.PENDING):
        pool = await client.read_work_pool(run.work_pool_name) if run.work_pool_name else None
        longest = TO_BEGIN if pool is None or pool.type == "process" else TO_BEGIN_ELSEWHERE
        if run.state is not None and now - run.state.timestamp > longest:
            message = "It was taken and never began: its worker is gone."
            await client.set_flow_run_state(run.id, Crashed(message=message), force=True)


async def _end_silent(client: PrefectClient) -> None:
    """End runs at work whose process is gone, when no automation has noticed that.

    As of a run that is killed in the second in which it begins again, after the server restarted.
    """
    since = datetime.now(UTC) - SILENT
    silent = [
        (run, run.state)
        for run in await _deployed(client, StateType.RUNNING)
        if run.state and run.state.timestamp < since and not await _heard(client, run, since)
    ]
    if not silent:
        return
    since = datetime.now(UTC)
    await _listen()
    for run, state in silent:
        now = (await client.read_flow_run(run.id)).state
        if now and now.id == state.id and not await _heard(client, run, since):
            message = "It sends no heartbeat: its process is gone."
            await client.set_flow_run_state(run.id, Crashed(message=message), force=True)


async def _listen() -> None:
    await asyncio.sleep(LISTEN.total_seconds())


async def _heard(client: PrefectClient, run: FlowRun, since: datetime) -> bool:
    """Return whether a run has sent a heartbeat since then."""
    heartbeats = EventFilter(
        occurred=EventOccurredFilter(since=since),
        event=EventNameFilter(name=["prefect.flow-run.heartbeat"]),
        resource=EventResourceFilter(id=[f"prefect.flow-run.{run.id}"]),
    )
    return (await client.read_events(heartbeats, limit=1)).total > 0


async def _left_crashed(client: PrefectClient) -> list[FlowRun]:
    """Return the runs of deployments that crashed within a day, and a while ago."""
    now = datetime.now(UTC)
    return [
        run
        for run in await _deployed(client, StateType.CRASHED)
        if run.state is not None
        and run.state.name != ABANDONED
        and BY_THE_AUTOMATION < now - run.state.timestamp < NOT_LONG_AGO
        and run.deployment_id is not None
        and not {LAUNCHED, OF_RESUMING} & set(run.tags)
    ]


async def _resumed(client: PrefectClient, run: FlowRun, at_most: int) -> str:
    """Schedule a crashed run again unless it crashed too often; returns what was done."""
    if LAUNCHED in run.tags:
        return f"{run.name} is left to the sweep that launched it."
    if run.deployment_id is None:
        return f"{run.name} has no deployment: rerun its command to resume."
    states = await client.read_flow_run_states(run.id)
    lost = [state for state in states if state.is_crashed() and state.name != ABANDONED]
    crashes = len(lost)
    if crashes > at_most:
        latest = max(lost, key=lambda state: state.timestamp).message
        last = f" The last time: {latest}" if latest else ""
        message = (
            f"Crashed {counted(crashes, 'time')}, so it is not resumed again. Read the run's and "
            f"its worker's logs, then run it again: it does what is still missing.{last}"
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
