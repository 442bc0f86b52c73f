"""Deploying what prefect.yaml describes, and saying what that changed."""

import os
import subprocess
import sys
from typing import Any

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags
from prefect.client.schemas.responses import DeploymentResponse
from prefect.settings import get_current_settings

from deployments.bootstrap import Step, outcome
from judge_gym.errors import JudgeGymError
from judge_gym.settings import REPOSITORY

PREFECT_FILE = REPOSITORY / "prefect.yaml"
TAG = "judge-gym"
"""Every deployment of the file has it."""
_DESCRIBED = {
    "entrypoint",
    "description",
    "tags",
    "parameters",
    "parameter_openapi_schema",
    "pull_steps",
    "job_variables",
    "concurrency_options",
    "work_pool_name",
    "enforce_parameter_schema",
}
"""What the file decides; the rest is the server's."""


async def deploy_all() -> list[Step]:
    """Deploy every flow; returns each deployment and what became of it.

    A schedule that an operator has switched on stays on, although the file makes it switched off.
    Raises `JudgeGymError` when Prefect refuses a deployment.
    """
    async with get_client() as client:
        before = await _deployments(client)
        _prefect_deploy()
        after = await _deployments(client)
        for name, deployment in after.items():
            if name in before:
                await _leave_switched_on(client, before[name], deployment)
    return [
        Step(
            f"deployment {name}",
            outcome(_described(before[name]) if name in before else None, _described(after[name])),
        )
        for name in sorted(after)
    ]


def _prefect_deploy() -> None:
    if not PREFECT_FILE.exists():
        raise JudgeGymError(
            f"There is no {PREFECT_FILE}.", "Deploy from a checkout of judge-gym: make setup."
        )
    environment = os.environ | {"PREFECT_API_URL": get_current_settings().api.url or ""}
    # Left open, it is filled in where the flow runs, which may be another machine.
    environment.pop("JUDGE_GYM_HOME", None)
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"],
        cwd=REPOSITORY,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise JudgeGymError(
            f"Prefect did not deploy {PREFECT_FILE}: {said[-1] if said else 'no reason given'}",
            f"See all it says with: cd {REPOSITORY} && prefect --no-prompt deploy --all",
        )


async def _deployments(client: PrefectClient) -> dict[str, DeploymentResponse]:
    """Return flow/deployment → what the server holds, of the deployments that have our tag."""
    ours = DeploymentFilter(tags=DeploymentFilterTags(all_=[TAG]))
    found = await client.read_deployments(deployment_filter=ours)
    flows = {one.flow_id: (await client.read_flow(one.flow_id)).name for one in found}
    return {f"{flows[one.flow_id]}/{one.name}": one for one in found}


def _described(deployment: DeploymentResponse) -> dict[str, Any]:
    described = deployment.model_dump(mode="json", include=_DESCRIBED)
    limit = deployment.global_concurrency_limit
    schedules = [
        one.model_dump(mode="json", include={"slug", "schedule", "parameters"})
        for one in sorted(deployment.schedules, key=lambda one: one.slug or "")
    ]
    return described | {"limit": limit.limit if limit else None, "schedules": schedules}


async def _leave_switched_on(
    client: PrefectClient, before: DeploymentResponse, after: DeploymentResponse
) -> None:
    on = {one.slug for one in before.schedules if one.active}
    for schedule in after.schedules:
        if schedule.slug in on and not schedule.active:
            await client.update_deployment_schedule(after.id, schedule.id, active=True)
