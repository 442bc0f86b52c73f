"""Events for Prefect's automations: how runs ended, what was collected, judges that changed.

| event | its resource | payload |
|---|---|---|
| `judge-gym.run.failed` | the flow run | flow, flow_run_id, sweep, message, remedy |
| `judge-gym.budget.stopped` | the flow run | the same |
| `judge-gym.run.suspended` | the flow run | nothing |
| `judge-gym.analysis.finished` | `judge-gym.sweep.<name>` | analysis_run, simulated, conclusions |
| `judge-gym.window.collected` | `judge-gym.window.<id>` | window, kept, kept_out by reason |
| `judge-gym.window.empty` | `judge-gym.window.<id>` | window, message, remedy, kept_out by reason |
| `judge-gym.served-model.changed` | `judge-gym.model.<model>` | before, now, since, experiments |
| `judge-gym.judge.drifted` | `judge-gym.judge.<name>` | review, day, judge, simulated, message |
| `judge-gym.judge.reconsider` | `judge-gym.judge.<name>` | the same, and alternative |
| `judge-gym.anchors.moved` | `judge-gym.judge.<name>` | the same but message; who, evidence |

A served model is the one that a provider names as the author of an answer. Its change is emitted
when the run that saw it ends, with the model and the tags of the experiments that it answered. A
killed run emits nothing.

A run has suspended when it waits for a person and its process ends. The automations for lost runs
need that: Prefect takes a last heartbeat after `Suspended` for a sign that the run is at work.

`conclusions` counts the findings by their conclusion. A judge has drifted if a review finds that it
judges other than at an earlier review, by more than the margin of the review's file. A judge to
reconsider may have drifted, fail a check that it passed before, or have an alternative that is
shown to be better. Anchors, the texts of a review, have moved if all reviews together show that the
judge, people or both answer them otherwise than before: `who` lists them, and `evidence` has of
each the e-value, its threshold and the change in points with its interval. Review the same day
again, and the event has the same id. Payloads hold no text of a prompt, an answer, a document or an
item, and no key.

Related resources are the flow run, its flow and deployment, their tags and, where known, the sweep
as `judge-gym.sweep.<name>`. For a workflow of a sweep, the sweep emits the event.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
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
from judge_gym.seeds import canonical_json
from judge_gym.store.results import Conclusions
from judge_gym.store.served import ServedChange, served_changes
from tasks.artifacts import artifact_key

if TYPE_CHECKING:
    from judge_gym.store.judges import ReviewRow
from tasks.policy import LAUNCHED

RUN_FAILED = "judge-gym.run.failed"
BUDGET_STOPPED = "judge-gym.budget.stopped"
ANALYSIS_FINISHED = "judge-gym.analysis.finished"
WINDOW_COLLECTED = "judge-gym.window.collected"
WINDOW_EMPTY = "judge-gym.window.empty"
JUDGE_DRIFTED = "judge-gym.judge.drifted"
JUDGE_RECONSIDER = "judge-gym.judge.reconsider"
ANCHORS_MOVED = "judge-gym.anchors.moved"
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


def emit_collected(window_id: int, name: str, counts: Mapping[str, int]) -> None:
    """Emit that a window was collected; `counts` are its documents, kept or by why they are not."""
    kept_out = {reason: count for reason, count in counts.items() if reason != "kept"}
    about: dict[str, Any] = {"window": name, "kept_out": kept_out}
    if counts["kept"]:
        about |= {"kept": counts["kept"]}
    else:
        total = sum(kept_out.values())
        about |= {
            "message": f"Window {name} has no document: {total} were found and kept out.",
            "remedy": f"See why with: judge-gym evidence show {window_id}.",
        }
    event = WINDOW_COLLECTED if counts["kept"] else WINDOW_EMPTY
    _emit(event, f"judge-gym.window.{window_id}", name, about)


def emit_analysed(run_id: int, conclusions: Conclusions) -> None:
    """Emit that the figures of a sweep were computed."""
    _emit(
        ANALYSIS_FINISHED,
        f"judge-gym.sweep.{conclusions.sweep}",
        conclusions.sweep,
        {"analysis_run": run_id, **asdict(conclusions)},
    )


def emit_reviewed(review: str, day: date, rows: Iterable["ReviewRow"]) -> None:
    """Emit which judges of a review have drifted, which to reconsider, and whose anchors moved."""
    # Every run of a sweep imports this module, and few review a judge.
    from judge_gym.calibration.checks import Result
    from judge_gym.calibration.comparisons import DRIFT
    from judge_gym.judges.reviewing.moving import shown_moves
    from judge_gym.store.judges import RECONSIDER

    judge = ""
    for row in rows:
        figures = row.figures
        if figures["alternative"] is None:
            judge = str(row.config["name"])
        where = {
            "review": review,
            "day": day.isoformat(),
            "judge": judge,
            "simulated": row.simulated,
        }
        about = {**where, "message": row.reason[:LONGEST]}
        resource = f"judge-gym.judge.{judge}"
        drifts = [check for check in figures["checks"] if check["name"] == DRIFT]
        if any(check["result"] == Result.FAILS.value for check in drifts):
            _emit(JUDGE_DRIFTED, resource, judge, about, once=True)
        if row.recommendation == RECONSIDER:
            other = row.config["name"] if figures["alternative"] else None
            _emit(JUDGE_RECONSIDER, resource, judge, {**about, "alternative": other}, once=True)
        if evidence := shown_moves(figures):
            who = [one["of"] for one in evidence]
            shown = {**where, "who": who, "evidence": evidence}
            _emit(ANCHORS_MOVED, resource, judge, shown, once=True)


def _emit(
    event: str, resource: str, name: str, payload: Mapping[str, Any], *, once: bool = False
) -> None:
    """Emit an event; with `once`, events of equal content have one id."""
    identity = uuid5(NAMESPACE_URL, f"{event} {resource} {canonical_json(payload)}")
    emit_event(
        event,
        resource={"prefect.resource.id": resource, "prefect.resource.name": name},
        payload=dict(payload),
        id=identity if once else None,
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
    about = asdict(change) | {
        "since": change.since.isoformat(),
        "experiments": list(change.experiments),
    }
    # Of runs at the same time, each emits the same change.
    _emit(SERVED_MODEL_CHANGED, f"judge-gym.model.{change.model}", change.model, about, once=True)


def _sweep(parameters: Mapping[str, Any]) -> str | None:
    """Return the sweep that a run with these parameters works on, where they tell."""
    if "sweep" in parameters:
        return str(parameters["sweep"])
    if budget := parameters.get("budget"):
        return str(budget["sweep"] if isinstance(budget, dict) else budget.sweep)
    if definition := parameters.get("definition"):
        return str(definition["name"]) if "name" in definition else None
    file = parameters.get("file")
    return name_in(Path(str(file))) if file else None
