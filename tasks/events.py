"""Events for Prefect's automations: failed runs, used budgets, empty windows, new served models.

| event | its resource | payload |
|---|---|---|
| `judge-gym.run.failed` | the flow run | flow, flow_run_id, sweep, message, remedy |
| `judge-gym.budget.stopped` | the flow run | the same |
| `judge-gym.window.empty` | `judge-gym.window.<id>` | window, message, remedy, kept_out by reason |
| `judge-gym.served-model.changed` | `judge-gym.model.<model>` | before, now, since, experiments |

A served model is the one that a provider names as the author of an answer. Its change is emitted
when the run that saw it ends, with the model and the tags of the experiments that it answered. A
killed run emits nothing.

Related resources are the flow run, its flow and deployment, their tags and, where known, the sweep
as `judge-gym.sweep.<name>`. For a workflow of a sweep, the sweep emits the event.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactCreate
from prefect.client.schemas.objects import FlowRun, State
from prefect.context import FlowRunContext
from prefect.events import RelatedResource, emit_event
from prefect.logging import get_run_logger

from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.design.sweep import name_in
from judge_gym.errors import JudgeGymError, first_line
from judge_gym.report.table import escaped
from judge_gym.runtime import Runtime
from judge_gym.store.served import ServedChange, served_changes
from tasks.artifacts import artifact_key
from tasks.policy import LAUNCHED

RUN_FAILED = "judge-gym.run.failed"
BUDGET_STOPPED = "judge-gym.budget.stopped"
WINDOW_EMPTY = "judge-gym.window.empty"
SERVED_MODEL_CHANGED = "judge-gym.served-model.changed"
LONGEST = 1000
"""Characters of a message: errors may repeat what a provider has said."""


async def emit_failure(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Emit why a flow run has failed, and show it with the run; a hook of flows."""
    if _is_part_of_another(flow_run):
        return
    error = await state.aresult(raise_on_failure=False)
    # The text of a defect may hold anything, rows and prompts included.
    message, remedy = f"It ended with {type(error).__name__}.", "See the log of the run."
    if isinstance(error, JudgeGymError):
        message, remedy = error.message[:LONGEST], error.remedy
    sweep = _sweep(flow_run.parameters)
    related = {}
    if flow_run.deployment_id is not None:
        related["deployment"] = f"prefect.deployment.{flow_run.deployment_id}"
    if sweep is not None:
        related["sweep"] = f"judge-gym.sweep.{sweep}"
    emit_event(
        BUDGET_STOPPED if isinstance(error, BudgetExceededError) else RUN_FAILED,
        resource={
            "prefect.resource.id": f"prefect.flow-run.{flow_run.id}",
            "prefect.resource.name": flow_run.name,
        },
        related=[
            RelatedResource({"prefect.resource.id": name, "prefect.resource.role": role})
            for role, name in related.items()
        ],
        payload={
            "flow": flow.name,
            "flow_run_id": str(flow_run.id),
            "sweep": sweep,
            "message": message,
            "remedy": remedy,
        },
    )
    await _show(flow_run, message, remedy)


def _is_part_of_another(flow_run: FlowRun) -> bool:
    """Whether the sweep that began this run tells of it."""
    in_another = flow_run.parent_task_run_id is not None and flow_run.deployment_id is None
    return in_another or LAUNCHED in flow_run.tags


async def _show(flow_run: FlowRun, message: str, remedy: str) -> None:
    """Leave the reason with its run: Prefect's page cuts the message of a state short."""
    shown = ArtifactCreate(
        type="markdown",
        key=artifact_key("failed", flow_run.name),
        description=f"Why {flow_run.name} has failed, and what to do",
        data=f"**{escaped(message)}**\n\n{escaped(remedy)}",
        flow_run_id=flow_run.id,
    )
    async with get_client() as client:
        await client.create_artifact(shown)


def emit_empty_window(window_id: int, name: str, kept_out: Mapping[str, int]) -> None:
    """Emit that a window was collected and has no document; `kept_out` is by reason."""
    total = sum(kept_out.values())
    emit_event(
        WINDOW_EMPTY,
        resource={
            "prefect.resource.id": f"judge-gym.window.{window_id}",
            "prefect.resource.name": name,
        },
        payload={
            "window": name,
            "message": f"Window {name} has no document: {total} were found and kept out.",
            "remedy": f"See why with: judge-gym evidence show {window_id}.",
            "kept_out": dict(kept_out),
        },
    )


@asynccontextmanager
async def served_models_followed(runtime: Runtime) -> AsyncIterator[None]:
    """Emit, when the block ends, which models began to be answered by another served model."""
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    if run is None or _is_part_of_another(run):
        yield
        return
    start = datetime.now(UTC)
    try:
        yield
    finally:
        try:
            with runtime.session() as session:
                for change in served_changes(session, start):
                    _emit_change(change)
        except Exception as error:  # no run ends for want of this news
            get_run_logger().warning("Changes of served models are not told: %s", first_line(error))


def _emit_change(change: ServedChange) -> None:
    what = (change.model, change.before, change.now, change.since.isoformat())
    emit_event(
        SERVED_MODEL_CHANGED,
        resource={
            "prefect.resource.id": f"judge-gym.model.{change.model}",
            "prefect.resource.name": change.model,
        },
        payload={
            **dict(zip(("model", "before", "now", "since"), what, strict=True)),
            "experiments": list(change.experiments),
        },
        id=uuid5(NAMESPACE_URL, " ".join(what)),  # of runs at the same time, each tells the same
    )


def _sweep(parameters: Mapping[str, Any]) -> str | None:
    """Return the sweep that a run with these parameters works on, where they tell."""
    if "sweep" in parameters:
        return str(parameters["sweep"])
    if budget := parameters.get("budget"):
        return str(budget["sweep"] if isinstance(budget, dict) else budget.sweep)
    return name_in(Path(str(parameters["file"]))) if "file" in parameters else None
