"""Align: bring a judge nearer to people's labels, and test whether it worked."""

import dataclasses
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from sqlalchemy.orm import Session

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import File, OrLeftOut, file_run_name
from flows.judge_study import of_study, run_study
from flows.running import Run
from judge_gym.judges.aligning.loading import load
from judge_gym.judges.aligning.planning import spending_on_alignment
from judge_gym.lab.approving import SpendingPlan
from judge_gym.runtime import Runtime
from judge_gym.studies import align as studies
from tasks.events import emit_failure
from tasks.judges import align_judge
from tasks.policy import provider_tag


@flow(name="align", flow_run_name=file_run_name("align"), on_failure=[emit_failure])
@resumable
async def align(
    file: File,
    out: OrLeftOut[Path] = None,
    replace: bool = False,
    look_again: bool = False,
    retry_failed: bool = False,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Improve a judge by examples and proposed rubrics, and test it on sealed texts.

    The state's data is the page. The run fails if the new judge is worse on the test set, and where
    the data cannot tell.

    Args:
        file: the alignment file, as this process sees it.
        out: write the chosen judge here, whatever the test set says; beside the judge, and only if
            the gain survives, by default.
        replace: replace a judge file that is there.
        look_again: test on texts that were looked at before; counted and shown.
        retry_failed: retry what failed.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    loaded = load(file)
    study = studies.align(loaded, out, replace=replace, look_again=look_again)

    def spending(session: Session, runtime: Runtime, over_usd: float) -> SpendingPlan:
        return spending_on_alignment(session, runtime, loaded, over_usd)

    async def aligned(run: Run) -> None:
        models = [loaded.judge.model, *study.also_asked]
        tags = sorted({provider_tag(run.runtime.providers.of(model).name) for model in models})
        work = align_judge.with_options(tags=tags)
        await work(file, retry_failed=retry_failed, look_again=look_again)

    flow_study = dataclasses.replace(
        of_study(study, retry_failed=retry_failed, by_verdict=True),
        spending=spending,
        steps=[aligned],
    )
    return await run_study(flow_study, approve_over_usd=approve_over_usd)
