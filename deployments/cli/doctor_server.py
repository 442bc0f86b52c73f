"""What `judge-gym doctor` checks on a Prefect server: automations, workers, runs, schedules."""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from deployments.cli.doctor_lines import DoctorLine, State
from deployments.operation import OURS
from judge_gym.counting import counted

if TYPE_CHECKING:
    from uuid import UUID

    from prefect.client.orchestration import PrefectClient
    from prefect.client.schemas.objects import Worker
    from prefect.events import Automation

NOT_LONG_AGO = timedelta(hours=1)
"""How long a worker that is gone is a finding: it may have been stopped on purpose."""
AHEAD = timedelta(days=7)
"""How long before a change of the clock a schedule that it moves is a finding."""
_DELETE = "prefect automation delete --id {}"
_PAGE = 200
_START = "Start it again: prefect worker start --pool {} --name '{}'."


async def server_lines() -> AsyncIterator[DoctorLine]:
    """Yield the findings of the configured server, which answers."""
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound

    from deployments.bootstrap import WORK_POOL

    async with get_client() as client:
        for line in await _automations(client):
            yield line
        try:
            pool = await client.read_work_pool(WORK_POOL)
        except ObjectNotFound:
            return  # nothing is deployed
        if pool.is_paused:
            remedy = f"Resume it: prefect work-pool resume {WORK_POOL}."
            yield DoctorLine(f"work pool {WORK_POOL}", "is paused", remedy, State.BROKEN)
        workers = await client.read_workers_for_work_pool(WORK_POOL)
        late = await _late(client)
        for line in worker_lines(workers, WORK_POOL, late, datetime.now(UTC)):
            yield line
        async for line in _schedules(client):
            yield line


async def _automations(client: "PrefectClient") -> list[DoctorLine]:
    """Return our automations that call a block which does not exist, and those made twice."""
    ours: list[Automation] = []
    offset = 0
    while page := await client.read_automations(limit=_PAGE, offset=offset):
        ours += [one for one in page if one.name.startswith(OURS) and one.enabled]
        offset += len(page)
    needed = {block for one in ours for block in blocks_of(one)}
    missing = {block for block in needed if not await _is_block(client, block)}
    return automation_lines(ours, missing)


def blocks_of(automation: "Automation") -> "list[UUID]":
    """Return the ids of the blocks that its actions call."""
    blocks = [getattr(action, "block_document_id", None) for action in automation.actions]
    return [block for block in blocks if block is not None]


async def _is_block(client: "PrefectClient", block: "UUID") -> bool:
    from prefect.exceptions import ObjectNotFound

    try:
        await client.read_block_document(block, include_secrets=False)
    except ObjectNotFound:
        return False
    return True


def automation_lines(
    automations: "Sequence[Automation]", missing: "Collection[UUID]"
) -> list[DoctorLine]:
    """Return the automations that call one of the `missing` blocks, and those of the same name."""
    lines = []
    by_name: dict[str, list[Automation]] = {}
    for one in automations:
        by_name.setdefault(one.name, []).append(one)
        for block in blocks_of(one):
            if block in missing:
                detail = f"calls the block {block}, which does not exist: it reaches nobody"
                remedy = (
                    "Create the block and put its id into the automation's file; "
                    f"{_DELETE.format(one.id)}; create the automation again."
                )
                lines.append(DoctorLine(f"automation {one.name}", detail, remedy, State.BROKEN))
    for name, made in by_name.items():
        if len(made) > 1:
            detail = f"exists {len(made)} times, and acts as often"
            remedy = f"Keep one: {'; '.join(_DELETE.format(one.id) for one in made[1:])}."
            lines.append(DoctorLine(f"automation {name}", detail, remedy, State.MISSING))
    return lines


def worker_lines(workers: "list[Worker]", pool: str, late: int, now: datetime) -> list[DoctorLine]:
    """Return whether workers are there, and whether runs wait for them."""
    lines = []
    for worker in sorted(workers, key=lambda one: one.name):
        seen = worker.last_heartbeat_time
        shown = f"last heartbeat {seen:%Y-%m-%d %H:%M:%S} UTC" if seen else "no heartbeat yet"
        if worker.status == "ONLINE":
            lines.append(DoctorLine(f"worker {worker.name}", f"online, {shown}"))
        elif seen and now - seen < NOT_LONG_AGO:
            remedy = _START.format(pool, worker.name)
            detail = f"is gone, {shown}"
            lines.append(DoctorLine(f"worker {worker.name}", detail, remedy, State.MISSING))
    if late:
        detail = f"{counted(late, 'run')} of deployments late"
        nobody = all(worker.status != "ONLINE" for worker in workers)
        remedy = (
            f"No worker is online: prefect worker start --pool {pool}."
            if nobody
            else "They begin when a worker has room; start more workers, or raise their --limit."
        )
        lines.append(DoctorLine("runs", detail, remedy, State.BROKEN if nobody else State.MISSING))
    return lines


async def _late(client: "PrefectClient") -> int:
    """Return how many runs of judge-gym's deployments should have begun."""
    from prefect.client.schemas import filters as f

    from tasks.slots import DEPLOYED

    runs = await client.read_flow_runs(
        flow_run_filter=f.FlowRunFilter(
            tags=f.FlowRunFilterTags(all_=[DEPLOYED]),
            state=f.FlowRunFilterState(name=f.FlowRunFilterStateName(any_=["Late"])),
        )
    )
    return len(runs)


async def _schedules(client: "PrefectClient") -> AsyncIterator[DoctorLine]:
    """Yield the cron schedules whose runs a change of the clock moves or leaves out soon."""
    from prefect.client.schemas import filters as f
    from prefect.client.schemas.schedules import CronSchedule

    from tasks.slots import DEPLOYED

    ours = f.DeploymentFilter(tags=f.DeploymentFilterTags(all_=[DEPLOYED]))
    for deployment in await client.read_deployments(deployment_filter=ours, limit=200):
        flow = await client.read_flow(deployment.flow_id)
        for made in deployment.schedules:
            cron = made.schedule
            if made.active and isinstance(cron, CronSchedule) and cron.timezone:
                name = f"schedule of {flow.name}/{deployment.name}"
                if line := await clock_line(name, cron.cron, cron.timezone, datetime.now(UTC)):
                    yield line


async def clock_line(name: str, cron: str, timezone: str, now: datetime) -> DoctorLine | None:
    """Return what a change of the clock within `AHEAD` does to a cron schedule; None if nothing."""
    from prefect.server.schemas.schedules import CronSchedule

    zone = ZoneInfo(timezone)
    change = next_change(zone, now, now + AHEAD)
    if change is None:
        return None
    before, after = (at.astimezone(zone).utcoffset() for at in (change - _STEP, change))
    assert before is not None
    assert after is not None
    first, last = sorted(
        [change.replace(tzinfo=None) + before, change.replace(tzinfo=None) + after]
    )
    # On a clock without changes, the schedule has runs at the times that are missing or doubled.
    there = await CronSchedule(cron=cron, timezone="UTC").get_dates(
        n=1, start=first.replace(tzinfo=UTC), end=last.replace(tzinfo=UTC) - _STEP
    )
    if not there:
        return None
    times = f"between {first:%H:%M} and {last:%H:%M}"
    when = f"on {change:%Y-%m-%d} at {change:%H:%M} UTC the clock of {timezone} goes"
    if after > before:
        detail = f"{when} forward: runs {times} have another local time that day"
    else:
        detail = f"{when} back: times {times} come twice, runs are made in the first round only"
    remedy = "Use the time zone UTC, or another hour; an interval is not moved."
    return DoctorLine(name, f"`{cron}`: {detail}", remedy, State.MISSING)


_STEP = timedelta(seconds=1)


def next_change(zone: tzinfo, start: datetime, end: datetime) -> datetime | None:
    """Return the first moment between these at which a zone's offset changes, to the second."""

    def offset(at: datetime) -> timedelta | None:
        return at.astimezone(zone).utcoffset()

    step, at = timedelta(minutes=1), start.replace(microsecond=0)
    while at < end:
        if offset(at) != offset(at + step):
            low, high = at, at + step
            while high - low > _STEP:
                middle = low + (high - low) // 2
                middle = middle.replace(microsecond=0)
                low, high = (middle, high) if offset(middle) == offset(low) else (low, middle)
            return high
        at += step
    return None
