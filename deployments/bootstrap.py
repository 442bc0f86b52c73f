"""What deployments need on a Prefect server: work pool, limits, automations, variables, keys.

Everything is idempotent. Changes by an operator are kept: a work pool of any type, an automation,
the value of a variable. Limits follow the providers file, from which flows set them too.
"""

import os
from collections.abc import AsyncIterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

from prefect.automations import ChangeFlowRunState, RunDeployment
from prefect.blocks.system import Secret
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.events import AutomationCore
from prefect.exceptions import ObjectNotFound
from prefect.variables import Variable
from prefect.workers.process import ProcessWorker
from pydantic import SecretStr
from ruamel.yaml import YAML

from flows.outages import CLIENT_SETTINGS
from flows.resume import RESUME
from judge_gym.lab.evidence import FIRECRAWL_KEY
from judge_gym.llm.keys import kept_name
from judge_gym.llm.providers import Providers
from judge_gym.shipped import DEPLOYMENTS
from tasks.policy import limits_of
from tasks.runtime import VARIABLE, secret_block
from tasks.slots import Taken, free_stale_slots, limits_of_deployments, taken_slots

WORK_POOL = "judge-gym"
LOST_RUNS_FILE = DEPLOYMENTS / "automations" / "lost-runs.yaml"
RESUME_FILE = DEPLOYMENTS / "automations" / "resume.yaml"
ENVIRONMENT = (
    "OPENBLAS_NUM_THREADS",
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY",
    *CLIENT_SETTINGS,
)
"""Environment variables that a run on the work pool may set; the others come from its worker."""
Outcome = Literal["created", "changed", "unchanged", "kept", "freed"]
"""`kept`: edited on the server, and different from what judge-gym would create."""


@dataclass(frozen=True)
class BootstrappedObject:
    """An object on the server, and what was done with it."""

    name: str
    outcome: Outcome
    is_deployment: bool = False


async def bootstrap(
    providers: Providers,
    task_timeout_s: float,
    *,
    secrets: bool = False,
    overwrite: bool = False,
) -> list[BootstrappedObject]:
    """Create what deployments need; returns a step for each object, created or not.

    Slots of limits that no run holds are freed (`task_timeout_s` as in `taken_slots`).

    With `secrets`, keys in the environment are stored as Secret blocks, which flow runs on any
    machine can read. No step contains their values. With `overwrite`, an edited job template of
    the work pool is replaced.
    """
    async with get_client() as client:
        steps = [await _work_pool(client, overwrite=overwrite)]
        steps += [step async for step in _limits(client, providers)]
        limits = {*limits_of(providers), *await limits_of_deployments(client)}
        freed = await free_stale_slots(task_timeout_s, limits)
        steps += [BootstrappedObject(str(one), "freed") for one in freed]
        steps += [step async for step in _automations(client)]
    steps.append(await _variable())
    if secrets:
        steps += [step async for step in _secrets(providers)]
    return steps


async def our_taken_slots(providers: Providers, task_timeout_s: float) -> list[Taken]:
    """Return the limits of providers and of our deployments of which slots are taken."""
    async with get_client() as client:
        names = {*limits_of(providers), *await limits_of_deployments(client)}
        return await taken_slots(client, task_timeout_s, names)


def outcome(before: Any, after: Any) -> Outcome:
    """Return the outcome for an object that was `before` (None if it did not exist)."""
    if before is None:
        return "created"
    return "unchanged" if before == after else "changed"


def restricted(template: dict[str, Any]) -> dict[str, Any]:
    """Return a job template of a process work pool that cannot run other programs.

    Otherwise, anyone who may start a run could set its command, with access to the keys.
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
    """Whether runs cannot choose their command; fewer variables may be allowed than now."""
    try:
        now = restricted(template)
        for each in (now, allowed := deepcopy(template)):
            names = each["variables"]["properties"]["env"].pop("properties")
        return now == allowed and names.keys() <= set(ENVIRONMENT)
    except KeyError:  # one without variables
        return False


async def _work_pool(client: PrefectClient, *, overwrite: bool) -> BootstrappedObject:
    default = ProcessWorker.get_default_base_job_template()
    template = restricted(default)
    try:
        pool = await client.read_work_pool(WORK_POOL)
    except ObjectNotFound:
        await client.create_work_pool(
            WorkPoolCreate(
                name=WORK_POOL,
                type=ProcessWorker.type,
                base_job_template=template,
                description="Flow runs of judge-gym, as processes beside their worker.",
            )
        )
        return BootstrappedObject(f"work pool {WORK_POOL} (process)", "created")
    name = f"work pool {WORK_POOL} ({pool.type})"
    if pool.type != ProcessWorker.type:
        return BootstrappedObject(name, "unchanged")
    before = pool.base_job_template
    if not overwrite and _is_restricted(before):
        template = restricted(before)  # as an earlier version of judge-gym made it, edits included
    if before == template:
        return BootstrappedObject(name, "unchanged")
    # Earlier versions of judge-gym created it with Prefect's default template.
    if not (overwrite or before == default or _is_restricted(before)):
        return BootstrappedObject(f"{name}: its job template was edited", "kept")
    await client.update_work_pool(WORK_POOL, WorkPoolUpdate(base_job_template=template))
    return BootstrappedObject(f"{name}: runs cannot choose their command", "changed")


async def _limits(client: PrefectClient, providers: Providers) -> AsyncIterator[BootstrappedObject]:
    for name, slots in limits_of(providers).items():
        try:
            before = (await client.read_global_concurrency_limit_by_name(name)).limit
        except ObjectNotFound:
            before = None
        await client.upsert_global_concurrency_limit_by_name(name, slots)
        yield BootstrappedObject(f"limit {name}: {slots} at once", outcome(before, slots))


async def _automations(client: PrefectClient) -> AsyncIterator[BootstrappedObject]:
    for automation in lost_run_automations():
        created = await create_automation(client, automation)
        yield BootstrappedObject(
            f"automation {automation.name!r}", "created" if created else "unchanged"
        )


def lost_run_automations() -> list[AutomationCore]:
    """Return the automations that detect flow runs without a process."""
    content = YAML(typ="safe").load(LOST_RUNS_FILE)["automations"]
    return [AutomationCore.model_validate(automation) for automation in content]


def lost_run_message() -> str:
    """Return the message of the state of a lost run."""
    [action] = lost_run_automations()[0].actions
    assert isinstance(action, ChangeFlowRunState)
    return action.message or ""


async def create_automation(client: PrefectClient, automation: AutomationCore) -> bool:
    """Create an automation unless one has its name; returns whether it was created."""
    if await client.read_automations_by_name(automation.name):
        return False
    await client.create_automation(automation)
    return True


async def resume_automation() -> BootstrappedObject:
    """Have crashed runs resumed; needs the deployment `RESUME`.

    An automation for an earlier deployment of that name is replaced; other edits are kept.
    """
    async with get_client() as client:
        deployment = await client.read_deployment_by_name(RESUME)
        automation = AutomationCore.model_validate(YAML(typ="safe").load(RESUME_FILE))
        [action] = automation.actions
        assert isinstance(action, RunDeployment)
        action.deployment_id = deployment.id
        step = f"automation {automation.name!r}"
        for stored in await client.read_automations_by_name(automation.name):
            ids = {getattr(action, "deployment_id", None) for action in stored.actions}
            if deployment.id in ids:
                return BootstrappedObject(step, "unchanged")
            await client.delete_automation(stored.id)
        await client.create_automation(automation)
        return BootstrappedObject(step, "created")


async def reset_automations() -> None:
    """Recreate the automations for lost runs, so that they drop the events they wait for.

    After a stop they still wait for heartbeats from before it. A restarted server passes them the
    new states of runs only after a quarter of an hour.
    """
    async with get_client() as client:
        for automation in lost_run_automations():
            for stored in await client.read_automations_by_name(automation.name):
                await client.delete_automation(stored.id)
                await client.create_automation(AutomationCore(**stored.model_dump(exclude={"id"})))


async def _variable() -> BootstrappedObject:
    """Create the variable of settings, empty, so that it can be found and edited in the UI."""
    before: Any = await Variable.aget(VARIABLE, default=None)
    if before is None:
        await Variable.aset(VARIABLE, {})
    return BootstrappedObject(f"variable {VARIABLE}", "created" if before is None else "unchanged")


async def _secrets(providers: Providers) -> AsyncIterator[BootstrappedObject]:
    variables = [p.key_env for p in providers.by_name.values() if p.key_env]
    for variable in dict.fromkeys([*variables, FIRECRAWL_KEY]):
        key = os.environ.get(variable, "")
        if not key:
            continue
        name = kept_name(variable)
        block = await secret_block(name)
        before = block.get_secret_value() if block else None
        if before != key:
            await Secret(value=SecretStr(key)).asave(name, overwrite=True)
        yield BootstrappedObject(f"secret {name}, from {variable}", outcome(before, key))
