"""A decision after a judge review: the run suspends with a form until a person decides, by name."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Literal

from prefect.flow_runs import asuspend_flow_run
from prefect.input import RunInput
from prefect.runtime import deployment, flow_run
from pydantic import Field

from flows.forms import Decider, Reason
from judge_gym.errors import ConfigError
from judge_gym.judges.reviewing.findings import save_decision
from judge_gym.report.table import escaped_inside
from judge_gym.runtime import Runtime
from judge_gym.seeds import digest
from tasks.judges import ReconsideredJudge


class JudgeDecision(RunInput):
    """The form of a review that waits for a decision about a judge in use."""

    decision: Annotated[
        Literal["keep", "reconsider"],
        Field(description="It is recorded. Nothing else changes: the judge files are yours."),
    ]
    name: Decider
    reason: Reason = ""


def check_can_wait() -> None:
    """Raise `ConfigError` for a run that has no page to decide on."""
    if deployment.id is None:
        raise ConfigError(
            "decide waits for a decision on the page of a deployment's run, and this is none.",
            "Leave it out, and use `judge-gym judge decide`.",
        )


async def wait_for_decisions(
    runtime: Runtime, review: str, day: date, judges: Sequence[ReconsideredJudge]
) -> None:
    """Wait for a decision about each judge, then store them all."""
    answers = []
    for judge in judges:
        grounds = "\n".join(f"- {escaped_inside(ground)}" for ground in judge.grounds)
        form = JudgeDecision.with_initial_data(
            description=f"**Keep {escaped_inside(judge.judge)}?** The review of {day} says to "
            f"reconsider:\n\n{grounds}"
        )
        key = f"decision-{digest('decision', review, day.isoformat(), judge.judge)}"
        answers.append((judge.judge, await asuspend_flow_run(wait_for_input=form, key=key)))
    # Not before: a run that suspends for the next judge comes here again.
    with runtime.session() as session:
        for name, answer in answers:
            where = {"flow_run": str(flow_run.id)}
            save_decision(
                session, review, day, name, answer.decision, answer.name, answer.reason, **where
            )
