"""Fanning out: a workflow's experiments as flow runs of its deployment, so many at once.

Workers do the work. How the workflow ended is found afterwards, by running it here over all
experiments: it asks for what they left, mostly nothing, and ends as if it had done everything. So
a flow run that is lost costs time and never work, and every end of a sweep is told in one place.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from prefect import Flow
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas import filters as f
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.deployments import arun_deployment
from prefect.exceptions import ObjectNotFound
from prefect.logging import get_run_logger
from prefect.runtime import flow_run as this_run
from pydantic_core import to_jsonable_python

from flows.endings import REMEDY, PartialFailure
from judge_gym.asking.budgeting import spending_check
from judge_gym.design.names import CRITIC, PROBE, SCORING, SWAP
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.lab.lacking import lacking
from judge_gym.lab.sweeps import RegisteredSweep
from judge_gym.runtime import Runtime
from tasks.policy import LAUNCHED, PARTIAL_FAILURE

FANNED_OUT = (SCORING, SWAP, PROBE, CRITIC)
"""W1 works by windows, and only one W2 runs at a time, since experiments share rubrics."""
LAUNCHES = 3
"""How often an experiment's flow run is launched when it crashes; what is left is done here."""
POLL_S = 5.0
_ENDED = [StateType.COMPLETED, StateType.FAILED, StateType.CRASHED, StateType.CANCELLED]
_UNFINISHED = [StateType.SCHEDULED, StateType.PENDING, StateType.RUNNING, StateType.PAUSED]


@dataclass(frozen=True)
class FanOut:
    """How a sweep's experiments are shared out."""

    runtime: Runtime
    run: RegisteredSweep
    settings: Mapping[str, Any]
    """The settings of the sweep's run, for its flow runs too."""
    at_once: int

    async def do(self, workflow: Flow[..., Any], parameters: Mapping[str, Any]) -> None:
        """Have flow runs do what experiments lack, and wait for them; does nothing for W1 and W2.

        `parameters` are those of the workflow over all experiments, which is to be run afterwards.
        Raises `JudgeGymError` when there is no deployment, or when a flow run was cancelled.
        """
        name = workflow.name
        if name not in FANNED_OUT:
            return
        with self.runtime.session() as session:
            tags = lacking(session, name, self.run)
        if not tags:
            return
        async with get_client() as client:
            shared = await self._shared(client, name, parameters)
            await shared.do(tags)
        if shared.cancelled:
            cancelled = f"A flow run was cancelled: {', '.join(shared.cancelled)}."
            raise PartialFailure([JudgeGymError(cancelled, REMEDY)])

    async def _shared(
        self, client: PrefectClient, name: str, parameters: Mapping[str, Any]
    ) -> "_WorkflowRuns":
        try:
            deployment = await client.read_deployment_by_name(f"{name}/default")
        except ObjectNotFound:
            raise ConfigError(
                f"The Prefect server has no deployment {name}/default, which at_once needs.",
                "Make it with `judge-gym database init`, or leave at_once out.",
            ) from None
        common_parameters = {**parameters, "settings": self.settings}
        if name == SWAP:
            common_parameters["plan"] = (
                None  # pairs are chosen among all experiments, which has been done
            )
        check = spending_check(self.runtime, self.run.budget)
        return _WorkflowRuns(client, name, deployment.id, common_parameters, self.at_once, check)


@dataclass(frozen=True)
class _Launch:
    experiment: str
    number: int = 1


@dataclass
class _WorkflowRuns:
    """One workflow's flow runs: those to come, those going on, and what became of the others."""

    client: PrefectClient
    workflow: str
    deployment: UUID
    parameters: Mapping[str, Any]
    at_once: int
    check: Callable[[], None] | None
    waiting: deque[_Launch] = field(default_factory=deque)
    going: dict[UUID, _Launch] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)

    async def do(self, tags: list[str]) -> None:
        """Launch a flow run per experiment, `at_once` at a time, and wait for all of them."""
        unfinished = await self._unfinished()
        self.going = {unfinished[tag]: _Launch(tag) for tag in tags if tag in unfinished}
        self.waiting.extend(_Launch(tag) for tag in tags if tag not in unfinished)
        while self.waiting or self.going:
            while self.waiting and len(self.going) < self.at_once and await self._may_go_on():
                await self._launch(self.waiting.popleft())
            await asyncio.sleep(POLL_S)
            for run in await self._read(f.FlowRunFilterId(any_=list(self.going)), _ENDED):
                self._take_end(run, self.going.pop(run.id))

    async def _may_go_on(self) -> bool:
        """Whether the budget allows a launch; else none follows, and the workflow says why."""
        try:
            if self.check is not None:
                await asyncio.to_thread(self.check)
        except JudgeGymError:
            self.waiting.clear()
        return bool(self.waiting)

    async def _launch(self, launch: _Launch) -> None:
        begun = f"{this_run.id}-{this_run.run_count}"
        run = await arun_deployment(
            self.deployment,
            parameters=to_jsonable_python({**self.parameters, "experiments": [launch.experiment]}),
            # A request that is sent again launches nothing twice.
            idempotency_key=f"{begun}-{self.workflow}-{launch.experiment}-{launch.number}",
            flow_run_name=f"{self.workflow} of {launch.experiment}",
            tags=[LAUNCHED],
            timeout=0,
        )
        self.going[run.id] = launch

    def _take_end(self, run: FlowRun, launch: _Launch) -> None:
        assert run.state is not None
        if run.state.is_crashed():
            get_run_logger().warning("Flow run %s has crashed: %s", run.name, run.state.message)
            if launch.number < LAUNCHES:
                self.waiting.append(_Launch(launch.experiment, launch.number + 1))
            return
        if run.state.is_cancelled():
            self.cancelled.append(run.name)
        # Work that failed leaves other experiments alone; an error that the user has to mend, or a
        # cancellation, lets those in progress end.
        if not run.state.is_completed() and PARTIAL_FAILURE not in run.tags:
            self.waiting.clear()

    async def _unfinished(self) -> dict[str, UUID]:
        """Return experiment → a flow run that a sweep before this one has left at work on it.

        One beyond the first page is not seen: its second would wait for its claim, then find
        nothing missing.
        """
        runs = await self._read(None, _UNFINISHED)
        candidates = [(run.parameters.get("experiments"), run.id) for run in runs]
        return {
            tags[0]: run for tags, run in candidates if isinstance(tags, list) and len(tags) == 1
        }

    async def _read(self, ids: f.FlowRunFilterId | None, states: list[StateType]) -> list[FlowRun]:
        return await self.client.read_flow_runs(
            deployment_filter=f.DeploymentFilter(id=f.DeploymentFilterId(any_=[self.deployment])),
            flow_run_filter=f.FlowRunFilter(
                id=ids,
                state=f.FlowRunFilterState(type=f.FlowRunFilterStateType(any_=states)),
            ),
        )
