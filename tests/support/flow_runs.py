"""Running flows in this process, and reading what Prefect recorded about them."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId, TaskRunFilter
from prefect.client.schemas.objects import Artifact, FlowRun, State, TaskRun
from prefect.exceptions import Pause
from prefect.flow_engine import run_flow_async
from prefect.states import Scheduled

from judge_gym.design.sweep import load_sweep
from judge_gym.lab.sweeps import RegisteredSweep, prepare
from judge_gym.runtime import runtime
from judge_gym.settings import settings
from judge_gym.store import tables as t
from support.misbehaving import Step, misbehaving
from support.prefect_server import PrefectServer
from support.prefect_settings import prefect_at
from support.waiting import until

RECORDED_S = 120.0
HOURLY = """
[sim]
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
[rehearsed]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
[bounds]
calls_per_hour = 1
"""
"""The simulator under another name, which a bound counts: one call per hour."""


@contextmanager
def flows_at(server: PrefectServer, home: Path) -> Iterator[None]:
    """Flows of this process are recorded by this server."""
    with prefect_at(server.url, str(home)):
        yield


@contextmanager
def configured(folder: Path, **values: str) -> Iterator[pytest.MonkeyPatch]:
    """Environment variables for flows in this process, away from any settings file.

    Further changes made with the patch that is given are undone at the end too.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("JUDGE_GYM_DATA_DIR", str(folder / "data"))
        for name, value in values.items():
            patch.setenv(name, value)
        settings.cache_clear()
        try:
            yield patch
        finally:
            settings.cache_clear()


def prepared(sweep_file: Path) -> RegisteredSweep:
    """Store a sweep, as the sweep flow does first; what its flows work on."""

    async def run() -> RegisteredSweep:
        async with runtime() as current:
            return prepare(current, load_sweep(sweep_file))

    return asyncio.run(run())


def run_flow(flow: Flow[..., Any], *arguments: Any, **more: Any) -> State[Any]:
    """Run a flow to its end in an event loop of its own; its final state."""
    state: State[Any] = asyncio.run(flow(*arguments, **more, return_state=True))
    return state


def run_beside(
    script: Sequence[Step], flow: Flow[..., Any], *arguments: Any, **more: Any
) -> tuple[State[Any], int]:
    """Run a flow with this script at LOCAL_BASE_URL; its end, and the requests that arrived."""

    async def run() -> tuple[State[Any], int]:
        async with misbehaving(*script) as provider:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("LOCAL_BASE_URL", provider.base_url)
                state = await flow(*arguments, **more, return_state=True)
                return state, len(provider.requests)

    return asyncio.run(run())


def run_scheduled(flow: Flow[..., Any], scheduled: str, **parameters: Any) -> State[Any]:
    """The end of a run that was scheduled for this time, as a worker runs it: later."""

    async def run() -> State[Any]:
        meant_for = Scheduled(scheduled_time=datetime.fromisoformat(scheduled))
        async with get_client() as client:
            planned = await client.create_flow_run(flow, parameters=parameters, state=meant_for)
        return await run_flow_async(flow, planned, parameters, return_type="state")

    return asyncio.run(run())


def error_of(state: State[Any]) -> BaseException:
    """The exception a failed state carries."""
    result = asyncio.run(state.aresult(raise_on_failure=False))
    assert isinstance(result, BaseException), f"{state}: {result!r}"
    return result


def flow_run(state: State[Any]) -> FlowRun:
    """Prefect's record of the run that ended in this state."""

    async def read() -> FlowRun:
        async with get_client() as client:
            return await client.read_flow_run(_run_id(state))

    return asyncio.run(read())


def task_runs(state: State[Any], count: int) -> Sequence[TaskRun]:
    """Prefect's records of a flow run's `count` task runs; it writes them a little later."""

    async def read() -> list[TaskRun]:
        async with get_client() as client:
            chosen = FlowRunFilter(id=FlowRunFilterId(any_=[_run_id(state)]))
            return await client.read_task_runs(
                flow_run_filter=chosen, task_run_filter=TaskRunFilter()
            )

    def finished() -> list[TaskRun]:
        found = asyncio.run(read())
        ended = [one for one in found if one.state and one.state.is_final()]
        return ended if len(ended) == count == len(found) else []

    return until(finished, f"{count} task runs in Prefect's records", RECORDED_S, every=0.2)


def _run_id(state: State[Any]) -> Any:
    return state.state_details.flow_run_id


def rows_of(url: str, *, without: Callable[[str], bool] = lambda _: False) -> dict[str, list[Any]]:
    """Every row of every table as the database holds it, sorted by content.

    `without` leaves tables out by name.
    """
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        names = [name for name in sa.inspect(connection).get_table_names() if not without(name)]
        return {
            name: sorted(
                connection.scalars(sa.text(f'SELECT t::text FROM "{name}" t')).all()  # noqa: S608
            )
            for name in names
        }


def sample_counts(url: str) -> dict[str, dict[str, int]]:
    """Judge → sample status → count."""
    query = (
        sa.select(t.Experiment.model, t.Sample.status, sa.func.count())
        .join(t.Arm, t.Arm.experiment_id == t.Experiment.id)
        .join(t.Sample, t.Sample.arm_id == t.Arm.id)
        .group_by(t.Experiment.model, t.Sample.status)
    )
    counts: dict[str, dict[str, int]] = {}
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        for model, status, count in connection.execute(query):
            counts.setdefault(model, {})[status] = count
    return counts


def artifacts(state: State[Any]) -> Sequence[Artifact]:
    """The artifacts that a flow run and its tasks have shown, the oldest first."""

    async def read() -> list[Artifact]:
        async with get_client() as client:
            chosen = FlowRunFilter(id=FlowRunFilterId(any_=[_run_id(state)]))
            found = await client.read_artifacts(flow_run_filter=chosen)
        # Prefect keeps results of states as artifacts without a key.
        return sorted((one for one in found if one.key), key=lambda one: one.created)

    return asyncio.run(read())


class Deployed:
    """A deployment of a flow, and its runs, which go on in this process."""

    def __init__(self, flow: Flow[..., Any], *tags: str, **parameters: Any) -> None:
        self.flow, self.parameters = flow, parameters

        async def make() -> FlowRun:
            async with get_client() as client:
                deployment = await client.create_deployment(
                    await client.create_flow(flow), "approved"
                )
                return await client.create_flow_run_from_deployment(
                    deployment, parameters=parameters, tags=tags
                )

        self.id: UUID = asyncio.run(make()).id

    def work(self) -> State[Any]:
        """Run it as a worker does; the state that it is in then."""

        async def work() -> State[Any]:
            async with get_client() as client:
                run = await client.read_flow_run(self.id)
                with suppress(Pause):  # the process of a worker ends by it
                    await run_flow_async(self.flow, run, self.parameters, return_type="state")
                state = (await client.read_flow_run(self.id)).state
                assert state is not None
                return state

        return asyncio.run(work())

    def answer(self, **given: Any) -> str:
        """Submit the form as Prefect's page does; the server's answer to it."""

        async def send() -> str:
            async with get_client() as client:
                return str((await client.resume_flow_run(self.id, run_input=given)).status.value)

        return asyncio.run(send())

    def form(self, key: str) -> str:
        """What the page shows above the form."""

        async def read() -> str:
            async with get_client() as client:
                return str(json.loads(await client.read_flow_run_input(self.id, key)))

        return asyncio.run(read())


def events(prefix: str, **resource: list[str]) -> list[dict[str, Any]]:
    """The events of ours with this prefix and resource that Prefect keeps; it writes them later."""

    async def read() -> list[dict[str, Any]]:
        async with get_client() as client:
            chosen = {"event": {"prefix": [prefix]}, "any_resource": resource}
            answer = await client.request("POST", "/events/filter", json={"filter": chosen})
            return list(answer.json()["events"])

    return until(lambda: asyncio.run(read()), f"{prefix} events", every=0.3)
