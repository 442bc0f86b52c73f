"""Injection: how far texts that try to steer judges do so."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import File, file_run_name
from flows.judge_study import of_study, run_study
from judge_gym.studies import injection as studies
from tasks.events import emit_failure


@flow(name="injection", flow_run_name=file_run_name("inject", "items"), on_failure=[emit_failure])
@resumable
async def injection(
    judges: list[File],
    items: File,
    retry_failed: bool = False,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Judge what is still missing, then write the page, the state's data, and JSON beside it.

    Args:
        judges: judge files, as this process sees them.
        items: pairs of texts, with the columns text (with the attempt), clean (without) and attack
            (its kind).
        retry_failed: retry what failed.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    study = of_study(studies.injection(judges, items), retry_failed=retry_failed)
    return await run_study(study, approve_over_usd=approve_over_usd)
