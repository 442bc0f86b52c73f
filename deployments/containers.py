"""The Docker work pool: flow runs in containers, which get their secrets by reference."""

import os
from copy import deepcopy
from typing import Any

from prefect.blocks.system import Secret
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.exceptions import ObjectNotFound
from pydantic import SecretStr

from deployments.bootstrap import ENVIRONMENT, BootstrappedObject, outcome
from flows.outages import CLIENT_SETTINGS
from judge_gym.errors import ConfigError
from judge_gym.extras import require
from tasks.runtime import secret_block

WORK_POOL = "judge-gym-docker"
DATABASE = "judge-gym-database-url"
"""The Secret block with the URL of the database, as containers reach it."""
HOME = "/srv/judge-gym"
"""The folder of flow runs in the image."""
_FIXED = ("command", "privileged", "container_create_kwargs", "volumes", "auto_remove")
"""What a run may not choose: with it, it could run other programs or read the machine's files."""


def job_template() -> dict[str, Any]:
    """Return the job template: reports stay in a volume, and secrets are read by the worker."""
    from prefect_docker.worker import DockerWorker

    template: dict[str, Any] = deepcopy(DockerWorker.get_default_base_job_template())
    job, variables = template["job_configuration"], template["variables"]
    for name in _FIXED:
        job.pop(name)
        variables["properties"].pop(name)
    job |= {
        "auto_remove": True,
        "volumes": [f"judge-gym:{HOME}"],
        # The tag is a commit, so a present image is the right one.
        "image_pull_policy": "IfNotPresent",
        "env": {
            "JUDGE_GYM_HOME": HOME,
            "OPENBLAS_NUM_THREADS": "1",
            "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
            **CLIENT_SETTINGS,
        },
    }
    del variables["properties"]["image_pull_policy"]
    # As a default: the server takes any other reference for an unknown variable.
    secrets = {"JUDGE_GYM_DATABASE_URL": f"{{{{ prefect.blocks.secret.{DATABASE} }}}}"}
    variables["properties"]["env"] |= {
        "default": secrets,
        "properties": {
            **{name: {"type": "string"} for name in ENVIRONMENT},
            **{name: {"const": reference} for name, reference in secrets.items()},
        },
        "additionalProperties": False,
    }
    variables["additionalProperties"] = False
    return template


async def prepare(client: PrefectClient) -> list[BootstrappedObject]:
    """Create the work pool and the secret of its containers; returns a step for each.

    Raises `ConfigError` without the extra `docker` or without `JUDGE_GYM_DATABASE_URL`.
    """
    require("docker")
    url = os.environ.get("JUDGE_GYM_DATABASE_URL", "")
    if not url:
        raise ConfigError(
            "JUDGE_GYM_DATABASE_URL is not set, and containers cannot reach an embedded database.",
            "Set it to a PostgreSQL that containers reach.",
        )
    block = await secret_block(DATABASE)
    before = block.get_secret_value() if block else None
    if before != url:
        await Secret(value=SecretStr(url)).asave(DATABASE, overwrite=True)
    return [
        await _work_pool(client),
        BootstrappedObject(f"secret {DATABASE}", outcome(before, url)),
    ]


async def _work_pool(client: PrefectClient) -> BootstrappedObject:
    name = f"work pool {WORK_POOL} (docker)"
    try:
        await client.read_work_pool(WORK_POOL)
    except ObjectNotFound:
        await client.create_work_pool(
            WorkPoolCreate(
                name=WORK_POOL,
                type="docker",
                base_job_template=job_template(),
                description="Flow runs of judge-gym in containers.",
            )
        )
        return BootstrappedObject(name, "created")
    return BootstrappedObject(name, "unchanged")
