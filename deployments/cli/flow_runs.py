"""Flow runs of a sweep on the user's Prefect server: those that wait to begin, and lost ones."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from deployments.cli.environment import prepare_environment
from judge_gym.errors import JudgeGymError

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient
    from prefect.client.schemas.objects import FlowRun

RESUMED_WITHIN = timedelta(minutes=20)
"""How long after its crash a run is resumed, at the latest."""
LOOKS_FOR_CRASHED = "resume-crashed/default"
"""The deployment whose schedule resumes crashed runs, every five minutes."""


@dataclass(frozen=True)
class SweepFlowRun:
    """A run of a deployment that works on a sweep, or will."""

    id: str
    name: str
    state: str
    """As Prefect names it."""
    then: str
    """What becomes of it, as a sentence."""
    is_resumed: bool = True


def waiting_run(sweep: str) -> SweepFlowRun | None:
    """Return the unfinished flow run of a sweep that is not stored yet; None without one."""
    from deployments.cli.changing import unfinished_runs
    from judge_gym.store.selecting import ChosenExperiments

    if not _has_server():
        return None
    try:
        runs = asyncio.run(unfinished_runs(ChosenExperiments(sweep, {}, ()), sweep))
    except JudgeGymError:
        return None
    if not runs:
        return None
    run = min(runs, key=lambda run: run.state != "Running")
    then = (
        "It has begun, and stores the sweep within seconds."
        if run.state == "Running"
        else "It waits to begin: a worker of its work pool has to run, with a free slot."
    )
    return SweepFlowRun(str(run.id), run.name, run.state, then)


def lost_run(sweep: str) -> SweepFlowRun | None:
    """Return the last run of a sweep, and who resumes it; None if it is not of a deployment."""
    if not _has_server():
        return None
    run, scheduled = asyncio.run(_last_and_schedule(sweep))
    if run is None or run.deployment_id is None or run.state is None:
        return None
    goes_on = _goes_on(run)
    if not goes_on:
        then = "Nothing resumes it."
    elif run.state.is_scheduled():
        then = "It is resumed when a worker takes it."
    elif scheduled:
        then = (
            f"The schedule of {LOOKS_FOR_CRASHED} resumes it within 5 minutes"
            f"{'' if run.state.is_crashed() else ' after Prefect has marked it as crashed'}."
        )
    else:
        then = f"Nothing resumes it: the schedule of {LOOKS_FOR_CRASHED} is not active."
    resumed = goes_on and (run.state.is_scheduled() or scheduled)
    return SweepFlowRun(str(run.id), run.name, run.state.name or "", then, resumed)


def resumes(sweep: str) -> bool:
    """Whether the last run of the sweep is one of a deployment that goes on or is resumed.

    Such a run is lost for a minute or more before Prefect's server marks it and starts it again.
    """
    if not _has_server():
        return False
    run, _ = asyncio.run(_last_and_schedule(sweep))
    return run is not None and _goes_on(run)


def _goes_on(run: "FlowRun") -> bool:
    if run.deployment_id is None or run.state is None:
        return False
    if run.state.is_crashed():
        from flows.resume import ABANDONED

        lost_for = datetime.now(UTC) - run.state.timestamp
        return run.state.name != ABANDONED and lost_for < RESUMED_WITHIN
    return not run.state.is_final()


def _has_server() -> bool:
    """Prepare Prefect's settings; whether they name a server of the user's."""

    prepare_environment(calls=False)
    from prefect.settings import get_current_settings

    return bool(get_current_settings().api.url)


async def _last_and_schedule(sweep: str) -> "tuple[FlowRun | None, bool]":
    """Return the run that last showed a sweep's progress, and whether crashed runs are looked for.

    (None, False) where the server does not answer or knows of no such run.
    """
    import httpx
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound

    try:
        async with get_client() as client:
            run = await _last_flow_run(client, sweep)
            return run, await _is_scheduled(client)
    except (httpx.HTTPError, ObjectNotFound):
        return None, False


async def _last_flow_run(client: "PrefectClient", sweep: str) -> "FlowRun | None":
    from prefect.client.schemas.filters import (
        ArtifactCollectionFilter,
        ArtifactCollectionFilterKey,
    )

    from tasks.artifacts import artifact_key

    key = ArtifactCollectionFilterKey(any_=[artifact_key("progress", f"sweep {sweep}")])
    found: Any = await client.read_latest_artifacts(
        artifact_filter=ArtifactCollectionFilter(key=key)
    )
    if not found or found[0].flow_run_id is None:
        return None
    return await client.read_flow_run(found[0].flow_run_id)


async def _is_scheduled(client: "PrefectClient") -> bool:
    """Whether the schedule that resumes crashed runs is active."""
    from prefect.exceptions import ObjectNotFound

    try:
        deployment = await client.read_deployment_by_name(LOOKS_FOR_CRASHED)
    except ObjectNotFound:
        return False
    return not deployment.paused and any(one.active for one in deployment.schedules)
