"""Approval by people: a run suspends, with its plan or its rubrics as a form, until they decide."""

import asyncio
import shlex
from collections.abc import Callable
from typing import Annotated, Any, Literal
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.flow_runs import asuspend_flow_run
from prefect.input import RunInput
from prefect.logging import get_run_logger
from prefect.runtime import deployment, flow_run
from prefect.states import Cancelled
from pydantic import Field
from sqlalchemy.orm import Session

from flows.forms import Decider, OrLeftOut, Reason, WithoutNull
from judge_gym.counting import counted
from judge_gym.design.sweep import Sweep
from judge_gym.errors import ConfigError
from judge_gym.lab.approving import SpendingPlan, save_decision
from judge_gym.lab.reading import RubricToRead, decide, unread
from judge_gym.report.approval import plan_markdown, plan_sentence, rubrics_markdown
from judge_gym.runtime import Runtime
from judge_gym.store.decisions import decisions_in

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
    name: Decider
    reason: Reason = ""
    up_to_usd: Annotated[
        float | None,
        WithoutNull(),
        Field(
            ge=0,
            description="US dollars that you approve from now on; the expected cost if left out.",
        ),
    ] = None


async def refused(
    runtime: Runtime,
    over_usd: float | None,
    plan_of: Callable[[Session, float], SpendingPlan],
) -> State[Any] | None:
    """Wait for approval of a run's cost, if it needs one; returns how a refused run ends.

    `plan_of` returns what the run still spends, given the bound `over_usd`; without a bound nobody
    is asked. A run of a deployment suspends: its process ends, and the resumed run comes here
    again. Raises `ApprovalRequiredError` for another run, which has no page to ask on.
    """
    if over_usd is None:
        return None
    while True:
        plan = await asyncio.to_thread(_planned, runtime, over_usd, plan_of)
        # An answer counts even if another run has done the work meanwhile.
        if not plan.needs_approval and not await _has_asked(_key(runtime)):
            return None
        if deployment.id is None:
            raise ApprovalRequiredError(
                f"{plan_sentence(plan)} Nothing was spent.",
                "Read its plan. Pass --approved-by NAME to `judge-gym sweep run`, or run it as a "
                "deployment, where the page asks.",
            )
        answer = await _answer(runtime, plan)
        if answer.decision == "refuse":
            why = f": {answer.reason}" if answer.reason else ""
            return Cancelled(
                message=f"Refused by {answer.name}{why}. Nothing was spent. {plan_sentence(plan)}"
            )
        get_run_logger().info("Approved by %s. %s", answer.name, plan_sentence(plan))


class RubricApproval(RunInput):
    """The form of a run that waits until its rubrics are read."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=200, pattern=r"\S", description="Who has read them."),
    ]
    refuse: Annotated[
        list[int],
        Field(
            description="Numbers of the rubrics that you refuse: their experiments are not scored. "
            "The others are approved."
        ),
    ] = []  # noqa: RUF012 - pydantic copies it
    reason: Reason = ""


async def rubrics_read(runtime: Runtime, sweep: Sweep) -> None:
    """Wait until a person has decided about every rubric of a sweep that pauses after them.

    As `refused`: a run of a deployment suspends, another raises `ApprovalRequiredError`.
    """
    while waiting := await asyncio.to_thread(_unread, runtime, sweep):
        of = f"{counted(len(waiting), 'rubric')} of sweep {sweep.name}"
        if deployment.id is None:
            named = shlex.quote(sweep.name)
            raise ApprovalRequiredError(
                f"{of} {'waits' if len(waiting) == 1 else 'wait'} for a person who reads and "
                "approves or refuses (pause_after: w2-rubric). Nothing was scored.",
                f"Read with `judge-gym sweep rubrics {named}`; decide with `--approve`, `--refuse` "
                "and `--by NAME`; then rerun the command.",
            )
        form = RubricApproval.with_initial_data(description=rubrics_markdown(waiting))
        # A key of its own: `refused` takes answers to the other form.
        answer = await asuspend_flow_run(wait_for_input=form, key=_key(runtime, "rubrics"))
        numbers = {one.number for one in waiting} - set(answer.refuse)
        where = {"sweep": sweep.name, "flow_run": str(flow_run.id)}
        with runtime.session() as session:
            decide(session, waiting, numbers, answer.refuse, answer.name, answer.reason, **where)
        get_run_logger().info("%s read by %s.", of, answer.name)


def _unread(runtime: Runtime, sweep: Sweep) -> list[RubricToRead]:
    with runtime.session() as session:
        return unread(session, sweep)


async def _answer(runtime: Runtime, plan: SpendingPlan) -> Approval:
    """Return a person's answer about a plan, and store it; suspends the run until there is one."""
    form = Approval.with_initial_data(description=plan_markdown(plan))
    answer = await asuspend_flow_run(wait_for_input=form, key=_key(runtime))
    with runtime.session() as session:
        save_decision(
            session,
            plan,
            answer.decision,
            answer.name,
            answer.reason,
            answer.up_to_usd,
            flow_run=str(flow_run.id),
        )
    return answer


def _key(runtime: Runtime, about: str = "approval") -> str:
    """Return the key of the run's next answer; the estimate may move while the form is shown."""
    with runtime.session() as session:
        return f"{about}-{decisions_in(session, str(flow_run.id)) + 1}"


async def _has_asked(key: str) -> bool:
    """Return whether this run has suspended for the answer with this key."""
    if flow_run.id is None or deployment.id is None:
        return False
    async with get_client() as client:
        run = await client.read_flow_run(UUID(flow_run.id))
    return key in (run.empirical_policy.pause_keys or ())


def _planned(
    runtime: Runtime, over_usd: float, plan_of: Callable[[Session, float], SpendingPlan]
) -> SpendingPlan:
    with runtime.session() as session:
        return plan_of(session, over_usd)
