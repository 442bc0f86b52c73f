"""The installation as its operator sees it: the database, Prefect's server, workers, backlog.

The pages of `judge-gym up` and `judge-gym database status` both read it here. Prefect is imported
when it is asked: it reads the environment then.
"""

import asyncio
import os
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import httpx
from sqlalchemy import Engine

from judge_gym.errors import REFUSED_LOGIN, JudgeGymError, first_line, masked
from judge_gym.lab.operating import (
    FAILURES_WITHIN,
    MOST_RUNS,
    Backlog,
    Installation,
    PartHealth,
    RunFailure,
    UnfinishedRun,
    WorkerHealth,
    read_records,
)
from judge_gym.store.operating import OpenBatches

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient
    from prefect.client.schemas.objects import FlowRun

OURS = "judge-gym"
"""How the names of our work pools begin, and the tag of our runs."""
GRACE = timedelta(seconds=30)
"""How long a run may be due without counting as waiting: a worker looks every few seconds."""
ANSWER_S = 20.0
"""How long Prefect's server may take to answer."""
_PAGE = 200
_CRASHED = "Its process or machine is gone. It is resumed up to three times; else run it again."


@dataclass
class _PrefectServer:
    """What Prefect's server says."""

    health: PartHealth
    workers: list[WorkerHealth] = field(default_factory=list)
    due: "list[FlowRun]" = field(default_factory=list)
    running: int = 0
    suspended: int = 0
    runs: list[UnfinishedRun] = field(default_factory=list)
    failed: list[RunFailure] = field(default_factory=list)


def read_installation(
    engine: Engine | None, *, lost: PartHealth | None = None, prefect: bool = True
) -> Installation:
    """Return the installation now; without `engine`, `lost` is why there is no database.

    `prefect` is whether there is a Prefect server to ask. A part that does not answer is one of its
    `parts`, and no error.
    """
    now = datetime.now(UTC)
    records = None
    if engine is not None:
        lost, records = read_records(engine, now)
    server = asyncio.run(_prefect(now)) if prefect else None
    parts = [lost, server.health if server else None, _workers(server), _simulator()]
    batches = records.batches if records else OpenBatches(0, 0, None)
    backlog = _backlog(server, batches, now) if server and server.health.healthy else None
    runs = server.runs if server and backlog else []
    unfinished = backlog.running + backlog.suspended + backlog.waiting if backlog else 0
    return Installation(
        at=now,
        version=version("judge-gym"),
        parts=[part for part in parts if part],
        workers=server.workers if server else [],
        backlog=backlog,
        runs=runs,
        # Runs begin between two requests.
        more_runs=max(0, unfinished - len(runs)),
        failed_runs=server.failed if server else [],
        records=records,
    )


def as_json(found: Installation) -> dict[str, Any]:
    """Return an installation as plain values; times are ISO 8601 in UTC."""
    values = asdict(found) | {"healthy": found.healthy}
    for part, values_of in zip(found.parts, values["parts"], strict=True):
        values_of["healthy"] = part.healthy
    for study, values_of in zip(
        found.records.studies if found.records else [],
        values["records"]["studies"] if found.records else [],
        strict=True,
    ):
        values_of |= {"left_usd": study.left_usd, "left_calls": study.left_calls}
        values_of["budget"] = study.budget.model_dump(mode="json")
    plain: dict[str, Any] = _plain(values)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.isoformat() if isinstance(value, datetime) else value


async def _prefect(now: datetime) -> _PrefectServer:
    from prefect.client.orchestration import get_client

    try:
        async with asyncio.timeout(ANSWER_S), get_client() as client:
            name = f"version {await client.api_version()}"
            server = _PrefectServer(PartHealth("Prefect's server", "up", name))
            server.workers = await _read_workers(client)
            await _read_runs(client, server, now)
            server.failed = await _failed(client, now)
            return server
    except (TimeoutError, httpx.HTTPError, JudgeGymError) as error:
        if is_refusal(error):
            remedy = "Correct PREFECT_API_AUTH_STRING (user:password)."
            return _PrefectServer(PartHealth("Prefect's server", "refused", REFUSED_LOGIN, remedy))
        detail = masked(first_line(error)) or f"no answer within {ANSWER_S:.0f} s"
        remedy = "Start it, and check PREFECT_API_URL and PREFECT_API_AUTH_STRING."
        return _PrefectServer(PartHealth("Prefect's server", "down", detail, remedy))


def is_refusal(error: BaseException) -> bool:
    """Return whether Prefect's server, or a proxy before it, refuses the user or the password."""
    return (
        isinstance(error, httpx.HTTPStatusError)
        and error.response.status_code == httpx.codes.UNAUTHORIZED
    )


async def _read_workers(client: "PrefectClient") -> list[WorkerHealth]:
    """Return the workers of our work pools; one that is offline for a day is forgotten."""
    workers = []
    long_ago = datetime.now(UTC) - timedelta(days=1)
    for pool in await client.read_work_pools(limit=_PAGE):
        if not pool.name.startswith(OURS):
            continue
        for worker in await client.read_workers_for_work_pool(pool.name, limit=_PAGE):
            online, last = worker.status.value == "ONLINE", worker.last_heartbeat_time
            if online or (last and last > long_ago):
                workers.append(WorkerHealth(worker.name, pool.name, online, last))
    return sorted(workers, key=lambda worker: (worker.pool, worker.name))


async def _read_runs(client: "PrefectClient", server: _PrefectServer, now: datetime) -> None:
    """Read our flow runs that run, are due and wait, or wait for a person."""
    from prefect.client.schemas import filters as f
    from prefect.client.schemas.objects import StateType
    from prefect.client.schemas.sorting import FlowRunSort

    ours = f.FlowRunFilterTags(all_=[OURS])

    def state(*types: StateType) -> f.FlowRunFilterState:
        return f.FlowRunFilterState(type=f.FlowRunFilterStateType(any_=list(types)))

    running = f.FlowRunFilter(tags=ours, state=state(StateType.RUNNING))
    suspended = f.FlowRunFilter(tags=ours, state=state(StateType.PAUSED))
    server.running = await client.count_flow_runs(flow_run_filter=running)
    server.suspended = await client.count_flow_runs(flow_run_filter=suspended)
    due = f.FlowRunFilter(
        tags=ours,
        state=state(StateType.SCHEDULED, StateType.PENDING),
        expected_start_time=f.FlowRunFilterExpectedStartTime(before_=now - GRACE),
    )
    oldest = FlowRunSort.EXPECTED_START_TIME_ASC
    while page := await client.read_flow_runs(
        flow_run_filter=due, sort=oldest, limit=_PAGE, offset=len(server.due)
    ):
        server.due += page
    begun = [
        await client.read_flow_runs(flow_run_filter=one, sort=oldest, limit=MOST_RUNS)
        for one in (running, suspended)
    ]
    server.runs = await _named(client, [*begun[0], *begun[1], *server.due][:MOST_RUNS])


async def _named(client: "PrefectClient", runs: "list[FlowRun]") -> list[UnfinishedRun]:
    """Return these runs with the names of their flows and the addresses of their pages."""
    from prefect.client.schemas import filters as f
    from prefect.utilities.urls import url_for

    ids = f.FlowFilterId(any_=list({run.flow_id for run in runs}))
    flows = await client.read_flows(flow_filter=f.FlowFilter(id=ids)) if runs else []
    names = {flow.id: flow.name for flow in flows}
    named = []
    for run in runs:
        assert run.state is not None  # they were chosen by it
        waits = run.state.is_scheduled() or run.state.is_pending()
        since = run.expected_start_time if waits else None
        named.append(
            UnfinishedRun(
                flow=names.get(run.flow_id, ""),
                run=run.name,
                id=str(run.id),
                state=run.state.name or run.state.type.value,
                since=since or run.state.timestamp,
                link=masked(url_for(run) or ""),
            )
        )
    return named


async def _failed(client: "PrefectClient", now: datetime) -> list[RunFailure]:
    """Return the runs that failed or crashed lately, the newest first."""
    from prefect.client.schemas import filters as f
    from prefect.client.schemas.objects import StateType

    from tasks.events import BUDGET_STOPPED, RUN_FAILED

    since = now - FAILURES_WITHIN
    asked = {
        "filter": {
            "event": {"name": [RUN_FAILED, BUDGET_STOPPED]},
            "occurred": {"since": since.isoformat(), "until": now.isoformat()},
        },
        "limit": 50,
    }
    answer = await client.request("POST", "/events/filter", json=asked)
    failed = [_of_event(one) for one in answer.json()["events"]]
    crashed = await client.read_flow_runs(
        flow_run_filter=f.FlowRunFilter(
            tags=f.FlowRunFilterTags(all_=[OURS]),
            state=f.FlowRunFilterState(type=f.FlowRunFilterStateType(any_=[StateType.CRASHED])),
            end_time=f.FlowRunFilterEndTime(after_=since),
        ),
        limit=50,
    )
    failed += [
        RunFailure(
            run.state.timestamp, str(run.id), run.name, run.state.name or "Crashed", "", _CRASHED
        )
        for run in crashed
        if run.state
    ]
    return sorted(failed, key=lambda one: one.at, reverse=True)


def _of_event(event: dict[str, Any]) -> RunFailure:
    payload = event["payload"]
    return RunFailure(
        datetime.fromisoformat(event["occurred"]),
        str(payload.get("flow_run_id", "")),
        event["resource"].get("prefect.resource.name", ""),
        "budget used up" if event["event"].endswith("budget.stopped") else "failed",
        masked(str(payload.get("message", ""))),
        masked(str(payload.get("remedy", ""))),
    )


def _backlog(server: _PrefectServer, batches: OpenBatches, now: datetime) -> Backlog:
    began = [run.expected_start_time for run in server.due if run.expected_start_time]
    return Backlog(
        running=server.running,
        waiting=len(server.due),
        late=sum(run.state_name == "Late" for run in server.due),
        suspended=server.suspended,
        oldest_wait_s=max(((now - at).total_seconds() for at in began), default=0.0),
        batches=batches,
    )


def _workers(server: _PrefectServer | None) -> PartHealth | None:
    """Return whether a worker takes runs; None where no server can say."""
    if server is None or not server.health.healthy:
        return None
    online = sum(worker.online for worker in server.workers)
    remedy = "" if online else "Start one: prefect worker start --pool judge-gym."
    return PartHealth("Workers", "up" if online else "down", f"{online} online", remedy)


def _simulator() -> PartHealth | None:
    """Return whether the simulator answers; None where none is named."""
    address = os.environ.get("JUDGE_GYM_SIMULATOR_URL")
    if not address:
        return None
    try:
        httpx.get(address, timeout=5, trust_env=False)
    except httpx.HTTPError as error:
        remedy = "Start it with `judge-gym simulator`."
        return PartHealth("Simulator", "down", masked(first_line(error)), remedy)
    return PartHealth("Simulator", "up", "answers")
