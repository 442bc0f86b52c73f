"""Approval before spending: a run suspends with its plan as a form until a person decides."""

import asyncio
from collections.abc import Collection
from typing import Annotated, Any, Literal

from prefect.client.schemas.objects import State
from prefect.flow_runs import asuspend_flow_run
from prefect.input import RunInput
from prefect.logging import get_run_logger
from prefect.runtime import deployment, flow_run
from prefect.states import Cancelled
from pydantic import Field

from flows.forms import OrLeftOut
from judge_gym.design.sweep import Sweep
from judge_gym.errors import ConfigError
from judge_gym.lab.approving import SpendingPlan, lowest, plan_spending, save_decision
from judge_gym.report.approval import plan_markdown, plan_sentence
from judge_gym.runtime import Runtime
from judge_gym.seeds import digest

ApproveOver = OrLeftOut[Annotated[float, Field(ge=0, allow_inf_nan=False)]]
"""US dollars, in a form that may leave them empty."""


class ApprovalRequiredError(ConfigError):
    """A run costs more than may be spent without approval."""


class Approval(RunInput):
    """The form of a run that waits for approval."""

    decision: Annotated[
        Literal["approve", "refuse"],
        Field(description="`refuse` ends the run as cancelled. Nothing is spent then."),
    ]
    name: Annotated[
        str,
        Field(
            min_length=1, max_length=200, pattern=r"\S", description="Who decides. It is recorded."
        ),
    ]
    reason: Annotated[
        str, Field(max_length=2000, description="Why, in your words. It is recorded.")
    ] = ""


async def refused(
    runtime: Runtime,
    sweep: Sweep,
    over_usd: float | None,
    only: Collection[str] | None,
) -> State[Any] | None:
    """Wait for approval of a stored sweep's cost, if it needs one; returns how a refused run ends.

    The lower one of `over_usd` and of the bound of the sweep applies. A run of a deployment
    suspends: its process ends, and the resumed run comes here again. Raises
    `ApprovalRequiredError` for another run, which has no page to ask on.
    """
    bound = lowest(over_usd, sweep.approve_over_usd)
    if bound is None:
        return None
    plan = await asyncio.to_thread(_plan, runtime, sweep, bound, only)
    if not plan.needs_approval:
        return None
    if deployment.id is None:
        raise ApprovalRequiredError(
            f"{plan_sentence(plan)} Nothing was spent.",
            "Read `judge-gym sweep plan` and pass --approved-by NAME, or run it as a deployment, "
            "where the page asks.",
        )
    # Of the same plan, the answer that was given before; another plan is shown anew.
    key = f"approval-{digest('approval', plan.details)}"
    form = Approval.with_initial_data(description=plan_markdown(plan))
    answer = await asuspend_flow_run(wait_for_input=form, key=key)
    with runtime.session() as session:
        save_decision(
            session, plan, answer.decision, answer.name, answer.reason, flow_run=str(flow_run.id)
        )
    if answer.decision == "approve":
        get_run_logger().info("Approved by %s. %s", answer.name, plan_sentence(plan))
        return None
    why = f": {answer.reason}" if answer.reason else ""
    return Cancelled(
        message=f"Refused by {answer.name}{why}. Nothing was spent. {plan_sentence(plan)}"
    )


def _plan(
    runtime: Runtime, sweep: Sweep, over_usd: float, only: Collection[str] | None
) -> SpendingPlan:
    with runtime.session() as session:
        return plan_spending(session, sweep, runtime.providers, over_usd, only)
