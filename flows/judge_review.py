"""Judge review: judge again with judges in use and their alternatives; a person decides."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from flows.approving import ApproveOver
from flows.deciding import check_can_wait, wait_for_decisions
from flows.endings import resumable
from flows.forms import File, OrLeftOut, review_run_name
from flows.judge_study import of_study, run_study
from flows.running import Run
from judge_gym.design.window_files import day_of
from judge_gym.errors import JudgeGymError
from judge_gym.judges.reviewing.cases import LoadedReview, load_review
from judge_gym.studies import review as studies
from tasks.events import emit_failure
from tasks.judges import announce_review, to_reconsider


@flow(name="judge-review", flow_run_name=review_run_name, on_failure=[emit_failure])
@resumable
async def judge_review(
    file: File,
    day: OrLeftOut[date] = None,
    retry_failed: bool = False,
    decide: bool = False,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Judge with judges in use and their alternatives, and report which to reconsider.

    A run is for the day it was scheduled for, however late it runs: judgements made for that day
    are not repeated. The state's data is the page of the day. A run that is stopped, as by a
    judge's budget, reports what was judged until then, and fails. It changes no judge.

    Args:
        file: the file that says which judges, as this process sees it.
        day: the day of the review; without it the one that the run was scheduled for, in the time
            zone of the file.
        retry_failed: retry what failed.
        decide: if a judge is to be reconsidered, wait after the report until a person decides about
            it on the page of this run; the name is stored with the decision.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    if decide:
        check_can_wait()
    review = load_review(file)
    day = day or day_of(flow_run.scheduled_start_time, review.file.time_zone)
    return await run_review(
        review,
        day,
        retry_failed=retry_failed,
        decide=decide,
        approve_over_usd=approve_over_usd,
        again={"day": day},
    )


async def run_review(
    review: LoadedReview,
    day: date,
    *,
    retry_failed: bool,
    decide: bool = False,
    approve_over_usd: float | None,
    settings: Mapping[str, Any] | None = None,
    again: Mapping[str, Any],
) -> State[Path]:
    """Review judges in this flow run; parameters and result are those of the flow `judge_review`.

    `again` are parameters that differ in the next run, where this one waits.
    """
    name = review.file.name
    study = of_study(studies.review(review, day), retry_failed=retry_failed)
    write = study.report

    async def reported() -> Path:
        page = await write()
        await announce_review(name, day)
        return page

    async def decided(run: Run) -> Path | None:
        if not decide or not (judges := await to_reconsider(name, day)):
            return None
        await wait_for_decisions(run.runtime, name, day, judges)
        return await reported()

    study = replace(
        study,
        judges=list(review.judges.values()),
        report=reported,
        finish=decided,
        reported=(JudgeGymError,),
        again=again,
    )
    return await run_study(study, approve_over_usd=approve_over_usd, settings=settings)
