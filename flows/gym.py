"""A gym: candidates process every case, a judge evaluates the results, a page compares them."""

import asyncio
from dataclasses import replace
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from sqlalchemy.orm import Session

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import File, file_run_name
from flows.judge_study import of_study, run_study
from flows.judged_items import judge_requests
from flows.running import Run, work_of
from judge_gym.gyms.approving import plan_gym
from judge_gym.gyms.evaluating import LoadedGym, answers_of, items_of, lacking, made, read_gym
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.lab.approving import SpendingPlan
from judge_gym.runtime import Runtime
from judge_gym.studies import gym as studies
from tasks.events import emit_failure
from tasks.judges import make_candidates


@flow(name="gym", flow_run_name=file_run_name("gym"), on_failure=[emit_failure])
@resumable
async def gym(
    file: File, retry_failed: bool = False, approve_over_usd: ApproveOver = None
) -> State[Path]:
    """Make and judge what is still missing, then write the page, which is the state's data.

    One flow serves all gyms, since they differ only in their cases and candidates; each gym has a
    deployment of its own. Budgets of judges and of candidates that write stop new work once
    used up; the page then shows what there is, and the flow fails.

    Args:
        file: the gym's file, as this process sees it.
        retry_failed: retry what failed.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    loaded = read_gym(file)

    def spending(session: Session, runtime: Runtime, over_usd: float) -> SpendingPlan:
        return plan_gym(session, runtime, loaded, over_usd)

    async def made_missing(run: Run) -> None:
        await _make_missing(run, file, loaded, retry_failed=retry_failed)

    async def judged(run: Run) -> None:
        outputs = await asyncio.to_thread(made, run.runtime, loaded)
        run.summary.answers += answers_of(loaded, outputs)
        asked = [Asked(loaded.judge, items_of(loaded, outputs))]
        await judge_requests(run, asked, retry_failed=retry_failed)

    study = replace(
        of_study(studies.gym(loaded), retry_failed=retry_failed),
        spending=spending,
        steps=[made_missing, judged],
    )
    return await run_study(study, approve_over_usd=approve_over_usd)


async def _make_missing(run: Run, file: Path, loaded: LoadedGym, *, retry_failed: bool) -> None:
    outputs = await asyncio.to_thread(made, run.runtime, loaded)
    models = {candidate.name: candidate.asks for candidate in loaded.gym.candidates}
    works = [
        work_of(
            run.runtime,
            make_candidates,
            models[name] or (),
            cases,
            f"case by {name}",
            file=file,
            candidate=name,
            retry_failed=retry_failed,
        )
        for name, cases in lacking(loaded, outputs, retry_failed=retry_failed).items()
    ]
    if works:
        await run.do_all("case", works)
