"""Deploy the flows of prefect.yaml, and keep what was edited in Prefect's UI.

An edit is a field that differs both from the last deployment and from prefect.yaml. Digests of the
last deployment are stored on the server, in a block, since several machines may deploy there.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from prefect.blocks.core import Block
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import DeploymentUpdate
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule, IntervalSchedule, RRuleSchedule
from prefect.settings import get_current_settings
from pydantic import BaseModel, Field
from ruamel.yaml import YAML

from deployments.bootstrap import BootstrappedObject, outcome
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.shipped import DEPLOYMENTS

PREFECT_FILE = DEPLOYMENTS / "prefect.yaml"
TAG = "judge-gym"
"""The tag of every deployment in the file."""
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
"""Fields that the file sets; the server sets the others."""
_COMMAND = (sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all")


_BLOCK = "judge-gym-deployed"
_KINDS: dict[str, type[BaseModel]] = {
    "cron": CronSchedule,
    "interval": IntervalSchedule,
    "rrule": RRuleSchedule,
}


class Deployed(Block):
    """The last deployment by `judge-gym database init` or `up`: deployment → field → digest."""

    _block_type_name = "judge-gym deployed"
    _block_type_slug = "judge-gym-deployed"
    digests: dict[str, dict[str, str]] = Field(default_factory=dict)
    made_of: str = ""
    """The digest of what was deployed: the file with the edits, the code, Prefect's version."""
    left: dict[str, str] = Field(default_factory=dict)
    """Deployment → the digest of what it was on the server then."""


@dataclass(frozen=True)
class DeploymentEdit:
    """A field of a deployment that was edited on the server, in the format of prefect.yaml."""

    deployment: str
    key: tuple[str, str]
    """Its entrypoint and name in prefect.yaml."""
    field: str
    on_server: Any
    in_file: Any

    def __str__(self) -> str:
        on_server, in_file = (
            _by_name(self.field, self.on_server),
            _by_name(self.field, self.in_file),
        )
        different = [
            name for name in {**on_server, **in_file} if on_server.get(name) != in_file.get(name)
        ]
        differences = [
            f"{name} is {_shown(on_server.get(name))}, in prefect.yaml {_shown(in_file.get(name))}"
            for name in different
        ]
        return f"deployment {self.deployment}: {'; '.join(differences)}"


async def deploy_all(*, overwrite: bool = False, image: str = "") -> list[BootstrappedObject]:
    """Deploy every flow; returns a step for each deployment, and for each edit that was kept.

    With `image`, flows run in its containers: one with a tag is used as it is, one without is
    built in the current folder and pushed first. Edits on the server since the last deployment are
    kept and listed, unless `overwrite`. Where the server has all that would be deployed, nothing
    is. Raises `JudgeGymError` if Prefect refuses a deployment.
    """
    described = _described_in_file()
    if image:
        described = in_containers(described, image)
    async with get_client() as client:
        before = after = await _deployments(client)
        deployed = await _deployed()
        edits = [] if overwrite else _edits_of(before, described, deployed)
        wanted = _with_edits(described, edits)
        made_of = _digest([wanted, image, version("prefect"), _code()])
        if _builds(image) or (made_of, _left(before)) != (deployed.made_of, deployed.left):
            _prefect_deploy(wanted, image)
            await _refuse_unknown_parameters(client)
            after = await _deployments(client)
            await _store(deployed, after, edits, made_of)
    return [
        BootstrappedObject(
            f"deployment {name}",
            outcome(_described(before[name]) if name in before else None, _described(after[name])),
            is_deployment=True,
        )
        for name in sorted(after)
    ] + [BootstrappedObject(str(edit), "kept", is_deployment=True) for edit in edits]


def _described_in_file() -> dict[str, Any]:
    return dict(YAML(typ="safe").load(PREFECT_FILE))


def in_containers(described: Mapping[str, Any], image: str) -> dict[str, Any]:
    """Return the content of prefect.yaml with every deployment in the Docker work pool.

    Raises `ConfigError` for an image without a tag outside a checkout, where it cannot be built.
    """
    docker = deepcopy(described["definitions"]["docker"])
    if tag := _tag(image):
        docker = {"work_pool": docker["work_pool"], "version": tag}
        docker["work_pool"]["job_variables"]["image"] = image
    elif not Path("Dockerfile").exists():
        raise ConfigError(
            f"The image {image} has no tag, and there is no Dockerfile here to build it.",
            "Name a built image with its tag, or run the command in a checkout.",
        )
    return {**described, "deployments": [{**one, **docker} for one in described["deployments"]]}


def _tag(image: str) -> str:
    """Return the tag of NAME:TAG; the host of NAME may have a port."""
    return image.rpartition("/")[2].partition(":")[2]


def _builds(image: str) -> bool:
    """Whether an image is built and pushed first."""
    return bool(image) and not _tag(image)


def _prefect_deploy(described: dict[str, Any], image: str = "") -> None:
    environment = os.environ | {
        "PREFECT_API_URL": get_current_settings().api.url or "",
        "JUDGE_GYM_IMAGE": image,
    }
    # If unset, it is filled in where the flow runs, which may be another machine.
    environment.pop("JUDGE_GYM_HOME", None)
    # Not in the user's folder: its modules could replace those that Prefect imports.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, PREFECT_FILE.name)
        file.write_text(json.dumps(described), encoding="utf-8")
        done = subprocess.run(
            [*_COMMAND, "--prefect-file", str(file)],
            cwd=None if _builds(image) else folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        output = (done.stderr or done.stdout).strip().splitlines()
        raise JudgeGymError(
            f"Prefect did not deploy {PREFECT_FILE}: {output[-1] if output else 'no reason given'}",
            f"To see its output: prefect --no-prompt deploy --all --prefect-file {PREFECT_FILE}",
        )


async def _refuse_unknown_parameters(client: PrefectClient) -> None:
    """Have Prefect refuse a run with a parameter that its flow lacks; it would crash."""
    for deployment in (await _deployments(client)).values():
        schema = {**(deployment.parameter_openapi_schema or {}), "additionalProperties": False}
        await client.update_deployment(
            deployment.id, DeploymentUpdate(parameter_openapi_schema=schema)
        )


async def _deployments(client: PrefectClient) -> dict[str, DeploymentResponse]:
    """Return flow/deployment → the deployment on the server, for those with our tag."""
    ours = DeploymentFilter(tags=DeploymentFilterTags(all_=[TAG]))
    deployments = await client.read_deployments(deployment_filter=ours)
    flows = {
        deployment.flow_id: (await client.read_flow(deployment.flow_id)).name
        for deployment in deployments
    }
    return {
        f"{flows[deployment.flow_id]}/{deployment.name}": deployment for deployment in deployments
    }


def _described(deployment: DeploymentResponse) -> dict[str, Any]:
    described = deployment.model_dump(mode="json", include=_DESCRIBED)
    limit = deployment.global_concurrency_limit
    schedules = [
        schedule.model_dump(mode="json", include={"slug", "schedule", "parameters"})
        for schedule in sorted(deployment.schedules, key=lambda schedule: schedule.slug or "")
    ]
    return described | {"limit": limit.limit if limit else None, "schedules": schedules}


def _left(deployments: Mapping[str, DeploymentResponse]) -> dict[str, str]:
    """Return the digest of each deployment: what the file sets, and what can be edited."""
    return {
        name: _digest([_described(one), {field: read(one) for field, read in _FIELDS.items()}])
        for name, one in deployments.items()
    }


def _code() -> str:
    """Return the digest of the code that forms are made from."""
    code = sha256()
    for package in ("deployments", "flows", "judge_gym", "tasks"):
        folder = Path(str(files(package)))
        for file in sorted(folder.rglob("*.py")):
            code.update(f"{package}/{file.relative_to(folder)}\0".encode() + file.read_bytes())
    return code.hexdigest()


def _edits_of(
    before: Mapping[str, DeploymentResponse], described: Mapping[str, Any], deployed: Deployed
) -> list[DeploymentEdit]:
    """Return the edits of these deployments, which are keyed by flow/deployment."""
    stored = deployed.digests
    edits = []
    for name, deployment in sorted(before.items()):
        for entry in described["deployments"]:
            key = (str(entry["entrypoint"]), str(entry["name"]))
            if key != (deployment.entrypoint, deployment.name):
                continue
            for field, read in _FIELDS.items():
                on_server, in_file = read(deployment), _in_file(field, entry)
                if on_server != in_file and _digest(on_server) != stored.get(name, {}).get(field):
                    edits.append(DeploymentEdit(name, key, field, on_server, in_file))
    return edits


def _with_edits(described: Mapping[str, Any], edits: Iterable[DeploymentEdit]) -> dict[str, Any]:
    """Return the content of prefect.yaml with these edits applied."""
    changed = deepcopy(dict(described))
    for edit in edits:
        for deployment in changed["deployments"]:
            if (deployment["entrypoint"], deployment["name"]) == edit.key:
                deployment[edit.field] = edit.on_server
    return changed


async def _store(
    deployed: Deployed,
    after: Mapping[str, DeploymentResponse],
    edits: Iterable[DeploymentEdit],
    made_of: str,
) -> None:
    """Store what was deployed now, after `deployed`; edited fields keep their old digest."""
    edited = {(edit.deployment, edit.field) for edit in edits}
    digests = {
        name: {
            field: _digest(read(deployment))
            if (name, field) not in edited
            else deployed.digests.get(name, {}).get(field, "")
            for field, read in _FIELDS.items()
        }
        for name, deployment in after.items()
    }
    now = Deployed(digests=digests, made_of=made_of, left=_left(after))
    await now.asave(_BLOCK, overwrite=True)


async def _deployed() -> Deployed:
    try:
        return await Deployed.aload(_BLOCK)
    except ValueError:  # no block yet
        return Deployed()


def _schedule(schedule: Any, **beside: Any) -> dict[str, Any]:
    """Return a schedule in the format of prefect.yaml."""
    return {
        key: value
        for key, value in (schedule.model_dump(mode="json") | beside).items()
        if value is not None
    }


def _schedules(deployment: DeploymentResponse) -> list[dict[str, Any]]:
    schedules = [
        _schedule(
            stored.schedule,
            slug=stored.slug,
            active=stored.active,
            parameters=stored.parameters or {},
        )
        for stored in deployment.schedules
    ]
    return sorted(schedules, key=lambda schedule: json.dumps(schedule.get("slug")))


def _schedules_in_file(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    schedules = []
    for entry in entries:
        kind = next(kind for key, kind in _KINDS.items() if key in entry)
        fields = {key: value for key, value in entry.items() if key in kind.model_fields}
        beside = {"active": entry.get("active", True), "parameters": entry.get("parameters", {})}
        schedules.append(_schedule(kind.model_validate(fields), slug=entry.get("slug"), **beside))
    return sorted(schedules, key=lambda entry: json.dumps(entry.get("slug")))


def _limit(deployment: DeploymentResponse) -> dict[str, Any] | None:
    limit, options = deployment.global_concurrency_limit, deployment.concurrency_options
    if limit is None:
        return None
    strategy = {"collision_strategy": options.collision_strategy.value} if options else {}
    return {"limit": limit.limit, **strategy}


_FIELDS: dict[str, Callable[[DeploymentResponse], Any]] = {
    "parameters": lambda deployment: deployment.parameters,
    "schedules": _schedules,
    "description": lambda deployment: deployment.description,
    "tags": lambda deployment: deployment.tags,
    "concurrency_limit": _limit,
}
"""Fields that can be edited in the UI, in the format of prefect.yaml."""


def _in_file(field: str, described: Mapping[str, Any]) -> Any:
    value = described.get(field)
    if field == "schedules":
        return _schedules_in_file(value or [])
    return value or {} if field == "parameters" else value


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _by_name(field: str, value: Any) -> dict[str, Any]:
    """Return the parts of a field, keyed by their description."""
    if field == "parameters":
        return {f"parameter {name}": entry for name, entry in value.items()}
    if field != "schedules":
        return {field: value}
    return {
        f"schedule {schedule.get('slug', number)}, {key},": part
        for number, schedule in enumerate(value, 1)
        for key, part in schedule.items()
        if key != "slug"
    }


def _shown(value: Any) -> str:
    return "not there" if value is None else json.dumps(value, default=str)
