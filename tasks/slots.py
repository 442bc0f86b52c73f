"""Slots of limits on Prefect's server: who holds them, and freeing those that nobody holds.

A slot is taken by a task run, for the tag of its provider, or by a flow run, for the limit of its
deployment. The server frees the slots of a killed process when its lease expires. If the lease was
lost, because the server kept it in memory and was restarted, the slot stays taken for ever.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas import filters as f
from prefect.client.schemas.objects import FlowRun, StateType, TaskRun
from prefect.client.schemas.responses import GlobalConcurrencyLimitResponse
from prefect.exceptions import ObjectNotFound
from prefect.logging import get_run_logger
from prefect.runtime import flow_run as this_run

from judge_gym.errors import first_line
from tasks.artifacts import PROGRESS

DEPLOYED = "judge-gym"
"""The tag of judge-gym's deployments and of their flow runs."""
LOOK_S = 30.0
"""How often a run looks whether it waits for slots."""
LOOKS, BETWEEN_S = 3, 0.5
"""How often, and after how many seconds, slots are looked at that seem to be held by no run."""
_TAG, _DEPLOYMENT = "tag:", "deployment:"
_AT_WORK = [StateType.PENDING, StateType.RUNNING, StateType.CANCELLING]
_PAGE = 200


@dataclass(frozen=True)
class Holder:
    """A run that holds a slot: a flow run, or a task run with the flow run that it is part of."""

    id: UUID
    flow_run: UUID | None
    name: str
    since: datetime | None

    def __str__(self) -> str:
        since = f", since {self.since:%Y-%m-%d %H:%M:%S} UTC" if self.since else ""
        return f"{self.name}{since}"


@dataclass(frozen=True)
class Taken:
    """A limit of which slots are taken."""

    name: str
    """As the server names it: tag:provider:NAME, or deployment:ID."""
    slots: int
    most: int
    holders: tuple[Holder, ...]

    @property
    def stale(self) -> int:
        """Slots that are taken and that no run holds."""
        return max(0, self.slots - len(self.holders))

    def __str__(self) -> str:
        return f"{self.stale} of {self.slots} taken slots of {self.name} had no run that holds them"


async def limits_of_deployments(client: PrefectClient) -> set[str]:
    """Return the names of the limits of judge-gym's deployments."""
    ours = f.DeploymentFilter(tags=f.DeploymentFilterTags(all_=[DEPLOYED]))
    deployments = await client.read_deployments(deployment_filter=ours)
    return {f"{_DEPLOYMENT}{deployment.id}" for deployment in deployments}


async def taken_slots(
    client: PrefectClient, task_timeout_s: float, names: Collection[str]
) -> list[Taken]:
    """Return those of these limits of which slots are taken.

    A task run without a lease counts as a holder while it may be at work: for `task_timeout_s`
    seconds, as long as its flow run is.
    """
    limits = [
        limit for limit in await _limits(client) if limit.active_slots and limit.name in names
    ]
    looked = [await _looked_at(client, limit.name, task_timeout_s) for limit in limits]
    return [one for one in looked if one is not None]


async def _looked_at(client: PrefectClient, name: str, task_timeout_s: float) -> Taken | None:
    """Return a limit as it is; None if it was deleted meanwhile, with its deployment."""
    seen = None
    for look in range(LOOKS):
        # The server counts a slot a moment before it writes its lease, and after it deletes it.
        await asyncio.sleep(BETWEEN_S if look else 0)
        # A slot that is taken or given back between these requests has its holder in one of both.
        before = await _holders(client, name, task_timeout_s)
        try:
            now = await client.read_global_concurrency_limit_by_name(name)
        except ObjectNotFound:
            return None
        after = await _holders(client, name, task_timeout_s)
        one = Taken(name, now.active_slots, now.limit, tuple((before | after).values()))
        seen = one if seen is None or one.stale < seen.stale else seen
        if not seen.stale:
            break
    return seen


async def free_stale_slots(task_timeout_s: float, names: Collection[str]) -> list[Taken]:
    """Free slots that no run holds; returns the limits as they were before."""
    async with get_client() as client:
        stale = [one for one in await taken_slots(client, task_timeout_s, names) if one.stale]
        for one in stale:
            # Relative: runs may take and give back others meanwhile.
            await client.release_concurrency_slots([one.name], one.stale, 1.0)
    return stale


@asynccontextmanager
async def slots_awaited(tags: Iterable[str], task_timeout_s: float) -> AsyncIterator[None]:
    """Say during the block when tasks of this run wait for slots, and for whom.

    `tags` are those of the tasks. Slots that nobody holds are freed. Nothing is said while a task
    of this flow run has a slot.
    """
    names, over = {f"{_TAG}{tag}" for tag in tags}, asyncio.Event()

    async def look() -> None:
        said = ""
        while names:
            try:
                await asyncio.wait_for(over.wait(), LOOK_S)
                return
            except TimeoutError:
                said = await _say_who_has_the_slots(names, task_timeout_s, said)

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        over.set()
        await looking


async def _say_who_has_the_slots(names: set[str], task_timeout_s: float, said: str) -> str:
    """Free stale slots, and log who holds those that are awaited; returns what was logged last."""
    try:
        for one in await free_stale_slots(task_timeout_s, names):
            get_run_logger().warning("Freed slots: %s.", one)
        async with get_client() as client:
            taken = await taken_slots(client, task_timeout_s, names)
    except Exception as error:  # no run ends for want of this
        get_run_logger().debug("Slots cannot be read: %s", first_line(error))
        return said
    own = UUID(str(this_run.id)) if this_run.id else None
    waited_for = [
        f"all {one.slots} slots of {one.name} are taken: {'; '.join(map(str, one.holders))}"
        for one in taken
        if one.slots >= one.most
        and all(holder.flow_run not in (own, None) for holder in one.holders)
    ]
    saying = ". ".join(waited_for)
    if saying and saying != said:
        get_run_logger().warning("Waiting for slots: %s.", saying)
        told = {"work": this_run.name}
        PROGRESS.info("%s: waiting for slots: %s", this_run.name, saying, extra=told)
    return saying


async def _limits(client: PrefectClient) -> list[GlobalConcurrencyLimitResponse]:
    limits: list[GlobalConcurrencyLimitResponse] = []
    while page := await client.read_global_concurrency_limits(limit=_PAGE, offset=len(limits)):
        limits += page
        if len(page) < _PAGE:
            break
    return limits


async def _holders(client: PrefectClient, limit: str, task_timeout_s: float) -> dict[UUID, Holder]:
    if limit.startswith(_DEPLOYMENT):
        return await _flow_runs_of(client, UUID(limit.removeprefix(_DEPLOYMENT)))
    return await _task_runs_of(client, limit.removeprefix(_TAG), task_timeout_s)


async def _flow_runs_of(client: PrefectClient, deployment: UUID) -> dict[UUID, Holder]:
    runs = await client.read_flow_runs(
        deployment_filter=f.DeploymentFilter(id=f.DeploymentFilterId(any_=[deployment])),
        flow_run_filter=f.FlowRunFilter(
            state=f.FlowRunFilterState(type=f.FlowRunFilterStateType(any_=_AT_WORK))
        ),
    )
    return {run.id: Holder(run.id, run.id, run.name, run.start_time) for run in runs}


async def _task_runs_of(
    client: PrefectClient, tag: str, task_timeout_s: float
) -> dict[UUID, Holder]:
    try:
        leased = set((await client.read_concurrency_limit_by_tag(tag)).active_slots)
    except ObjectNotFound:
        leased = set()
    recent = datetime.now(UTC) - timedelta(seconds=task_timeout_s)
    running = await client.read_task_runs(
        task_run_filter=f.TaskRunFilter(
            tags=f.TaskRunFilterTags(all_=[tag]),
            state=f.TaskRunFilterState(type=f.TaskRunFilterStateType(any_=[StateType.RUNNING])),
            start_time=f.TaskRunFilterStartTime(after_=recent),
        ),
    )
    # The records of tasks come late: one that has just taken its slot is found by its lease alone.
    tasks = {task.id: task for task in running}
    flows = await _flow_runs(client, {task.flow_run_id for task in running if task.flow_run_id})
    holders = {id: Holder(id, None, f"task run {id}", None) for id in leased}
    for task in tasks.values():
        run = flows.get(task.flow_run_id) if task.flow_run_id else None
        if task.id in leased or (run is not None and _is_of_this_start(task, run)):
            name = f"{run.name} ({task.name})" if run else task.name
            holders[task.id] = Holder(task.id, task.flow_run_id, name, task.start_time)
    return holders


async def _flow_runs(client: PrefectClient, ids: set[UUID]) -> dict[UUID, FlowRun]:
    if not ids:
        return {}
    runs = await client.read_flow_runs(
        flow_run_filter=f.FlowRunFilter(id=f.FlowRunFilterId(any_=list(ids)))
    )
    return {run.id: run for run in runs}


def _is_of_this_start(task: TaskRun, run: FlowRun) -> bool:
    """Whether a task is of the flow run's present process; a killed one leaves tasks running."""
    state = run.state
    if state is None or not state.is_running() or task.start_time is None:
        return False
    return task.start_time >= state.timestamp
