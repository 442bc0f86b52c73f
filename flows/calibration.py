"""Calibration: which changes of a text judges notice, judged on texts changed in known ways."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import Definitions, File, Thresholds, file_run_name
from flows.judge_study import of_study, run_study
from judge_gym.studies import calibrate as studies
from tasks.events import emit_failure


@flow(name="calibration", flow_run_name=file_run_name("calibrate"), on_failure=[emit_failure])
@resumable
async def calibration(
    file: File,
    fail_under: Thresholds = None,
    by_verdict: bool = False,
    retry_failed: bool = False,
    judges: Definitions = None,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Change and judge what is still missing, then write the report; the state's data is its page.

    The budget of a judge or of the perturber, set in its file, stops new work once it is used up;
    the report then shows what was judged, and the flow fails.

    Args:
        file: the calibration file, as this process sees it.
        fail_under: fail if a figure's interval is below, as {"agreement": 0.6}.
        by_verdict: fail if a judge is not to be used, or the data cannot tell.
        retry_failed: retry what failed.
        judges: judges in place of those that the file names, each as JSON with the keys of a judge
            file; relative paths in them start from the folder JUDGE_GYM_HOME of the worker.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    study = studies.calibrate(file, judges)
    work = of_study(study, retry_failed=retry_failed, by_verdict=by_verdict, fail_under=fail_under)
    return await run_study(work, approve_over_usd=approve_over_usd)
