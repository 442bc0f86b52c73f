"""What deployments need on a Prefect server: work pool, limits, automations, variables, keys.

All of it idempotent. What an operator has changed stays: a work pool of any type, an automation,
the value of a variable. Limits follow the providers file, since flows set them from it too.
"""

import os
from collections.abc import AsyncIterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

from prefect.blocks.system import Secret
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.exceptions import ObjectNotFound
from prefect.variables import Variable
from prefect.workers.process import ProcessWorker
from pydantic import SecretStr

from deployments import lost_runs
from judge_gym.lab.evidence import FIRECRAWL_KEY
from judge_gym.llm.keys import kept_name
from judge_gym.llm.providers import Providers
from tasks.policy import limits_of
from tasks.runtime import VARIABLE, secret_block

WORK_POOL = "judge-gym"
ENVIRONMENT = ("OPENBLAS_NUM_THREADS", "PREFECT_FLOWS_HEARTBEAT_FREQUENCY")
"""Variables that a run on the work pool may be given; the others are those of its worker."""
Outcome = Literal["created", "changed", "unchanged", "kept"]
"""Kept is what a person has edited on the server, and is not as judge-gym would make it."""


@dataclass(frozen=True)
class Step:
    """One thing on the server, and what became of it."""

    what: str
    outcome: Outcome


async def bootstrap(
    providers: Providers, *, secrets: bool = False, overwrite: bool = False
) -> list[Step]:
    """Make what deployments need; returns each thing, whether it had to be made or not.

    With `secrets`, the keys that stand in the environment are saved as Secret blocks, from which
    flow runs on any machine read them. Their values are in no step. With `overwrite`, a template of
    the work pool that was edited is replaced.
    """
    async with get_client() as client:
        steps = [await _work_pool(client, overwrite=overwrite)]
        steps += [step async for step in _limits(client, providers)]
        steps += [step async for step in _automations(client)]
    steps.append(await _variable())
    if secrets:
        steps += [step async for step in _secrets(providers)]
    return steps


def outcome(before: Any, after: Any) -> Outcome:
    """Return what became of a thing that was `before` (None when there was none)."""
    if before is None:
        return "created"
    return "unchanged" if before == after else "changed"


def restricted(template: dict[str, Any]) -> dict[str, Any]:
    """Return a template of a process work pool without what could run other programs.

    Whoever may start a run could otherwise name a command for it, which would run beside the keys.
    """
    template = deepcopy(template)
    variables = template["variables"]
    for name in ("command", "working_dir"):
        template["job_configuration"].pop(name, None)
        variables["properties"].pop(name, None)
    variables["properties"]["env"] |= {
        "properties": {name: {"type": "string"} for name in ENVIRONMENT},
        "additionalProperties": False,
    }
    variables["additionalProperties"] = False
    return template


def _is_restricted(template: dict[str, Any]) -> bool:
    try:
        return template == restricted(template)
    except KeyError:  # one without variables
        return False


async def _work_pool(client: PrefectClient, *, overwrite: bool) -> Step:
    default = ProcessWorker.get_default_base_job_template()
    template = restricted(default)
    try:
        found = await client.read_work_pool(WORK_POOL)
    except ObjectNotFound:
        await client.create_work_pool(
            WorkPoolCreate(
                name=WORK_POOL,
                type=ProcessWorker.type,
                base_job_template=template,
                description="Flow runs of judge-gym, as processes beside their worker.",
            )
        )
        return Step(f"work pool {WORK_POOL} (process)", "created")
    what = f"work pool {WORK_POOL} ({found.type})"
    if found.type != ProcessWorker.type:
        return Step(what, "unchanged")
    before = found.base_job_template
    if (overwrite and before == template) or (not overwrite and _is_restricted(before)):
        return Step(what, "unchanged")
    # Earlier versions of judge-gym made it with Prefect's own.
    if not (overwrite or before == default):
        return Step(f"{what}: its job template was edited", "kept")
    await client.update_work_pool(WORK_POOL, WorkPoolUpdate(base_job_template=template))
    return Step(f"{what}: runs cannot choose their command", "changed")


async def _limits(client: PrefectClient, providers: Providers) -> AsyncIterator[Step]:
    for name, slots in limits_of(providers).items():
        try:
            before = (await client.read_global_concurrency_limit_by_name(name)).limit
        except ObjectNotFound:
            before = None
        await client.upsert_global_concurrency_limit_by_name(name, slots)
        yield Step(f"limit {name}: {slots} at once", outcome(before, slots))


async def _automations(client: PrefectClient) -> AsyncIterator[Step]:
    for automation in lost_runs.described():
        made = await lost_runs.make(client, automation)
        yield Step(f"automation {automation.name!r}", "created" if made else "unchanged")


async def _variable() -> Step:
    """Make the variable of settings, empty, so that it is found where it is edited."""
    before: Any = await Variable.aget(VARIABLE, default=None)
    if before is None:
        await Variable.aset(VARIABLE, {})
    return Step(f"variable {VARIABLE}", "created" if before is None else "unchanged")


async def _secrets(providers: Providers) -> AsyncIterator[Step]:
    variables = [one.key_env for one in providers.by_name.values() if one.key_env]
    for variable in dict.fromkeys([*variables, FIRECRAWL_KEY]):
        key = os.environ.get(variable, "")
        if not key:
            continue
        name = kept_name(variable)
        kept = await secret_block(name)
        before = kept.get_secret_value() if kept else None
        if before != key:
            await Secret(value=SecretStr(key)).asave(name, overwrite=True)
        yield Step(f"secret {name}, from {variable}", outcome(before, key))
