"""Calibration: which changes of a text judges notice, judged on texts changed in known ways."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from sqlalchemy.orm import Session

from flows.approving import ApproveOver, refused
from flows.endings import resumable
from flows.forms import Definitions, File, file_run_name
from flows.judged_items import (
    PartlyJudgedError,
    judge_missing,
    judge_requests,
    perturb_missing,
)
from flows.running import locked_run
from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.calibration.design import load_calibration
from judge_gym.errors import StoreError
from judge_gym.judges.approving import plan_calibration
from judge_gym.judges.calibrating.judging import (
    criticisms,
    load_judges,
    load_originals,
    load_texts,
)
from judge_gym.lab.approving import SpendingPlan
from tasks.events import emit_failure
from tasks.judges import report_calibration


@flow(name="calibration", flow_run_name=file_run_name("calibrate"), on_failure=[emit_failure])
@resumable
async def calibration(
    file: File,
    retry_failed: bool = False,
    judges: Definitions = None,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Change and judge what is still missing, then write the report; the state's data is its page.

    The budget of a judge or of the perturber, set in its file, stops new work once it is used up;
    the report then shows what was judged, and the flow fails.

    Args:
        file: the calibration file, as this process sees it.
        retry_failed: retry what failed.
        judges: judges in place of those that the file names, each as JSON with the keys of a judge
            file; relative paths in them start from the folder JUDGE_GYM_HOME of the worker.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    design = load_calibration(file)
    loaded = load_judges(design, judges)
    originals = load_originals(design, loaded)
    async with locked_run("calibrations", [design.name]) as run:

        def spending(session: Session, over_usd: float) -> SpendingPlan:
            return plan_calibration(session, run.runtime, design, loaded, originals, over_usd)

        if end := await refused(run.runtime, approve_over_usd, spending):
            return end
        try:
            await perturb_missing(run, originals.texts, design, retry_failed=retry_failed)
            if run.waits:
                return await run.state(retry_failed=False)
            items = run.query(load_texts, design, originals).items
            await judge_missing(
                run, loaded, items, repeats=design.repeats, retry_failed=retry_failed
            )
            if run.waits:
                return await run.state(retry_failed=False)
            if critics := run.query(criticisms, loaded, items, design.repeats):
                await judge_requests(run, critics, retry_failed=retry_failed)
        except BudgetExceededError as stopped:
            try:
                page = await report_calibration(file, judges)
            except StoreError:  # nothing was judged
                raise stopped from None
            raise PartlyJudgedError(stopped, page) from stopped
        if run.waits:
            return await run.state(retry_failed=False)
        try:
            page = await report_calibration(file, judges)
        except StoreError:  # nothing was judged: the state says why
            state = await run.state()
            if state.name == "Completed":
                raise
            return state
        return await run.state(page)
