"""Calibration: which changes of a text judges notice, judged on texts changed in known ways."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from sqlalchemy.orm import Session

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import Definitions, File, file_run_name
from flows.judge_study import JudgeStudy, criticising, run_study
from flows.judged_items import judge_requests, perturb_missing
from flows.running import Run
from judge_gym.calibration.design import load_calibration
from judge_gym.judges.approving import plan_calibration
from judge_gym.judges.calibrating.estimating import read_findings, store_checks
from judge_gym.judges.calibrating.judging import (
    Asked,
    load_judges,
    load_originals,
    load_texts,
)
from judge_gym.lab.approving import SpendingPlan
from judge_gym.report.calibration import calibration_report
from judge_gym.report.files import WrittenReport
from judge_gym.runtime import Runtime
from tasks.events import emit_failure
from tasks.judges import write_report


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

    def spending(session: Session, runtime: Runtime, over_usd: float) -> SpendingPlan:
        return plan_calibration(session, runtime, design, loaded, originals, over_usd)

    async def perturbed(run: Run) -> None:
        await perturb_missing(run, originals.texts, design, retry_failed=retry_failed)

    async def judged(run: Run) -> None:
        items = run.query(load_texts, design, originals).items
        asked = [Asked(judge, items, design.repeats) for judge in loaded]
        await judge_requests(run, asked, retry_failed=retry_failed)

    async def criticised(run: Run) -> None:
        items = run.query(load_texts, design, originals).items
        await criticising(loaded, items, design.repeats, retry_failed=retry_failed)(run)

    def written(runtime: Runtime) -> WrittenReport:
        findings = read_findings(runtime, design, judges)
        store_checks(runtime, findings)
        return calibration_report(findings, runtime.settings.reports_dir)

    study = JudgeStudy(
        judges=loaded,
        spending=spending,
        steps=[perturbed, judged, criticised],
        report=lambda: write_report("calibration", written),
        also_locks={"calibrations": [design.name]},
    )
    return await run_study(study, approve_over_usd=approve_over_usd)
