"""Waiting for batches: a flow that ends, and is run again later."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.states import Completed, Scheduled

from judge_gym.runtime import Runtime
from tasks.policy import LAUNCHED


@dataclass(frozen=True)
class Waiting:
    """What a flow returns that did what it could while calls wait in batches."""

    what: str
    """What waits where, as the beginning of a sentence."""


async def run_again_later(runtime: Runtime, waiting: Waiting, **changes: Any) -> State[Any]:
    """Return the final state of a flow that waits; one of a deployment is scheduled again.

    `changes` are parameters that the next run has otherwise.
    """
    at = await _schedule(runtime.settings.batch_poll_s, changes)
    again = f"the next run, at {at:%Y-%m-%d %H:%M:%S} UTC, takes" if at else "run again to take"
    return Completed(name="Waiting", message=f"{waiting.what}; {again} them in.", data=waiting)


async def _schedule(after_s: float, changes: dict[str, Any]) -> datetime | None:
    """Schedule another run of this run's deployment; returns when, None when it has none.

    A run that a sweep has launched is launched again by that one.
    """
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    if run is None or run.deployment_id is None or LAUNCHED in run.tags:
        return None
    at = datetime.now(UTC) + timedelta(seconds=after_s)
    async with get_client() as client:
        following = await client.create_flow_run_from_deployment(
            run.deployment_id,
            parameters={**run.parameters, **changes},
            state=Scheduled(scheduled_time=at),
            # A run that is tried again has one next run.
            idempotency_key=f"after-{run.id}",
            tags=run.tags,
            job_variables=run.job_variables,
            work_queue_name=run.work_queue_name,
        )
    return following.expected_start_time
