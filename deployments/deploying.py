"""Deploying what prefect.yaml describes, and saying what that changed."""

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags
from prefect.client.schemas.responses import DeploymentResponse
from prefect.settings import get_current_settings
from ruamel.yaml import YAML

from deployments.bootstrap import Step, outcome
from deployments.edits import found_edits, remember, with_edits
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
_COMMAND = (sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all")


async def deploy_all(*, overwrite: bool = False) -> list[Step]:
    """Deploy every flow; returns each deployment and what became of it.

    What a person has edited on the server since the last time stays and is named, unless
    `overwrite`. Raises `JudgeGymError` when Prefect refuses a deployment.
    """
    described = _described_in_file()
    async with get_client() as client:
        before = await _deployments(client)
        edits = [] if overwrite else await found_edits(before, described)
        _prefect_deploy(with_edits(described, edits))
        after = await _deployments(client)
    await remember(after, edits)
    return [
        Step(
            f"deployment {name}",
            outcome(_described(before[name]) if name in before else None, _described(after[name])),
        )
        for name in sorted(after)
    ] + [Step(str(edit), "kept") for edit in edits]


def _described_in_file() -> dict[str, Any]:
    if not PREFECT_FILE.exists():
        raise JudgeGymError(
            f"There is no {PREFECT_FILE}.", "Deploy from a checkout of judge-gym: make setup."
        )
    return dict(YAML(typ="safe").load(PREFECT_FILE))


def _prefect_deploy(described: dict[str, Any]) -> None:
    environment = os.environ | {"PREFECT_API_URL": get_current_settings().api.url or ""}
    # Left open, it is filled in where the flow runs, which may be another machine.
    environment.pop("JUDGE_GYM_HOME", None)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(described, file)
        file.flush()
        done = subprocess.run(
            [*_COMMAND, "--prefect-file", file.name],
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
