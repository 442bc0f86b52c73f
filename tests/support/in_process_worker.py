"""A worker without processes: it runs flow runs of deployments in this event loop.

What workers as processes do to a sweep is tested in tests/slow; here a test decides how a run ends.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from prefect import Flow
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.flow_engine import run_flow_async

POLL_S = 0.2


@dataclass
class Worker:
    """Runs the flow runs of its deployments."""

    client: PrefectClient
    deployments: dict[UUID, Flow[..., Any]]
    fate: Callable[[FlowRun], State[Any] | None]
    """The state that a run is put into instead of being run; None has it run."""
    pairs: asyncio.Barrier | None = None
    """Has a run wait for the next one, so that two are sure to run at once."""
    taken: dict[UUID, FlowRun] = field(default_factory=dict)
    """Every run it has met, in order."""
    most_at_once: int = 0
    _running: set[UUID] = field(default_factory=set)

    async def work(self) -> None:
        """Take what is scheduled, until cancelled."""
        scheduled = FlowRunFilterStateType(any_=[StateType.SCHEDULED])
        async with asyncio.TaskGroup() as group:
            while True:
                found = await self.client.read_flow_runs(
                    deployment_filter=DeploymentFilter(
                        id=DeploymentFilterId(any_=list(self.deployments))
                    ),
                    flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=scheduled)),
                )
                for run in found:
                    if run.id not in self.taken:
                        self.taken[run.id] = run
                        group.create_task(self._run(run))
                await asyncio.sleep(POLL_S)

    def id_of(self, workflow: str) -> UUID:
        """The deployment of a workflow."""
        return next(key for key, flow in self.deployments.items() if flow.name == workflow)

    def of(self, workflow: str) -> list[FlowRun]:
        """The runs of a workflow that it has met."""
        return [one for one in self.taken.values() if one.deployment_id == self.id_of(workflow)]

    async def _run(self, run: FlowRun) -> None:
        assert run.deployment_id is not None
        if (state := self.fate(run)) is not None:
            await self.client.set_flow_run_state(run.id, state, force=True)
            return
        self._running.add(run.id)
        self.most_at_once = max(self.most_at_once, len(self._running))
        if self.pairs is not None:
            async with asyncio.timeout(300):
                await self.pairs.wait()
        flow = self.deployments[run.deployment_id]
        await run_flow_async(flow, run, run.parameters, return_type="state")
        self._running.discard(run.id)


@asynccontextmanager
async def worker_for(
    *flows: Flow[..., Any],
    fate: Callable[[FlowRun], State[Any] | None] = lambda run: None,
    pairs: asyncio.Barrier | None = None,
) -> AsyncIterator[Worker]:
    """Have these flows deployed as `default`, and a worker for them, in the block."""
    async with get_client() as client:
        deployments = {
            await client.create_deployment(await client.create_flow(flow), "default"): flow
            for flow in flows
        }
        worker = Worker(client, deployments, fate, pairs)
        working = asyncio.create_task(worker.work())
        try:
            yield worker
        finally:
            working.cancel()
            await asyncio.wait([working])
            for deployment in deployments:
                await client.delete_deployment(deployment)
