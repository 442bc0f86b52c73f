"""What a person has edited of deployments in Prefect's page, which deploying leaves alone.

An edit is what differs from how the last deploying left it and from prefect.yaml. How that left it
is kept on the server, as digests in a block, since several machines may deploy there.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from prefect.blocks.core import Block
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule, IntervalSchedule, RRuleSchedule
from pydantic import BaseModel, Field

_BLOCK = "judge-gym-deployed"
_KINDS: dict[str, type[BaseModel]] = {
    "cron": CronSchedule,
    "interval": IntervalSchedule,
    "rrule": RRuleSchedule,
}


class Deployed(Block):
    """What `judge-gym database init` and `up` deployed last: deployment → field → digest."""

    _block_type_name = "judge-gym deployed"
    _block_type_slug = "judge-gym-deployed"
    digests: dict[str, dict[str, str]] = Field(default_factory=dict)


@dataclass(frozen=True)
class Edit:
    """A field of a deployment that a person has edited, as prefect.yaml would have it."""

    deployment: str
    key: tuple[str, str]
    """Its entrypoint and name, as prefect.yaml has them."""
    field: str
    here: Any
    in_file: Any

    def __str__(self) -> str:
        here, there = _by_name(self.field, self.here), _by_name(self.field, self.in_file)
        different = [name for name in {**here, **there} if here.get(name) != there.get(name)]
        said = [
            f"{name} is {_shown(here.get(name))}, in prefect.yaml {_shown(there.get(name))}"
            for name in different
        ]
        return f"deployment {self.deployment}: {'; '.join(said)}"


async def found_edits(
    before: Mapping[str, DeploymentResponse], described: Mapping[str, Any]
) -> list[Edit]:
    """Return what was edited of these deployments, by flow/deployment."""
    left = (await _deployed()).digests
    edits = []
    for name, deployment in sorted(before.items()):
        for given in described["deployments"]:
            key = (str(given["entrypoint"]), str(given["name"]))
            if key != (deployment.entrypoint, deployment.name):
                continue
            for field, read in _FIELDS.items():
                here, in_file = read(deployment), _in_file(field, given)
                if here != in_file and _digest(here) != left.get(name, {}).get(field):
                    edits.append(Edit(name, key, field, here, in_file))
    return edits


def with_edits(described: Mapping[str, Any], edits: Iterable[Edit]) -> dict[str, Any]:
    """Return the content of prefect.yaml with these edits in it."""
    changed = deepcopy(dict(described))
    for edit in edits:
        for one in changed["deployments"]:
            if (one["entrypoint"], one["name"]) == edit.key:
                one[edit.field] = edit.here
    return changed


async def remember(after: Mapping[str, DeploymentResponse], edits: Iterable[Edit]) -> None:
    """Keep how deploying left these deployments; an edit stays one."""
    deployed = await _deployed()
    edited = {(one.deployment, one.field) for one in edits}
    digests = {
        name: {
            field: _digest(read(deployment))
            if (name, field) not in edited
            else deployed.digests.get(name, {}).get(field, "")
            for field, read in _FIELDS.items()
        }
        for name, deployment in after.items()
    }
    if digests != deployed.digests:
        await Deployed(digests=digests).asave(_BLOCK, overwrite=True)


async def _deployed() -> Deployed:
    try:
        return await Deployed.aload(_BLOCK)
    except ValueError:  # there is none
        return Deployed()


def _schedule(schedule: Any, **beside: Any) -> dict[str, Any]:
    """Return a schedule as prefect.yaml has it."""
    return {
        key: value
        for key, value in (schedule.model_dump(mode="json") | beside).items()
        if value is not None
    }


def _schedules(deployment: DeploymentResponse) -> list[dict[str, Any]]:
    found = [
        _schedule(one.schedule, slug=one.slug, active=one.active, parameters=one.parameters or {})
        for one in deployment.schedules
    ]
    return sorted(found, key=lambda one: json.dumps(one.get("slug")))


def _schedules_in_file(given: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for one in given:
        kind = next(kind for key, kind in _KINDS.items() if key in one)
        fields = {key: value for key, value in one.items() if key in kind.model_fields}
        beside = {"active": one.get("active", True), "parameters": one.get("parameters", {})}
        found.append(_schedule(kind.model_validate(fields), slug=one.get("slug"), **beside))
    return sorted(found, key=lambda one: json.dumps(one.get("slug")))


def _limit(deployment: DeploymentResponse) -> dict[str, Any] | None:
    limit, options = deployment.global_concurrency_limit, deployment.concurrency_options
    if limit is None:
        return None
    strategy = {"collision_strategy": options.collision_strategy.value} if options else {}
    return {"limit": limit.limit, **strategy}


_FIELDS: dict[str, Callable[[DeploymentResponse], Any]] = {
    "parameters": lambda one: one.parameters,
    "schedules": _schedules,
    "description": lambda one: one.description,
    "tags": lambda one: one.tags,
    "concurrency_limit": _limit,
}
"""What the page can edit, as prefect.yaml would have it."""


def _in_file(field: str, described: Mapping[str, Any]) -> Any:
    given = described.get(field)
    if field == "schedules":
        return _schedules_in_file(given or [])
    return given or {} if field == "parameters" else given


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _by_name(field: str, value: Any) -> dict[str, Any]:
    """Return what a field consists of, in words."""
    if field == "parameters":
        return {f"parameter {name}": one for name, one in value.items()}
    if field != "schedules":
        return {field: value}
    return {
        f"schedule {one.get('slug', number)}, {key},": given
        for number, one in enumerate(value, 1)
        for key, given in one.items()
        if key != "slug"
    }


def _shown(value: Any) -> str:
    return "not there" if value is None else json.dumps(value, default=str)
