"""Calibration: what judges can tell apart, judged on texts that were changed in known ways."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from flows.claiming import alone
from flows.judged_items import judge_missing
from judge_gym.calibration.design import load_calibration
from judge_gym.workflows.calibrating.judging import load_judges, load_texts
from tasks.calibration import report_calibration
from tasks.runtime import runtime


@flow(name="calibration", flow_run_name="calibrate {file.name}")
async def calibration(file: Path, retry_failed: bool = False) -> State[Path]:
    """Judge what is still missing, then write the report; the state's data is its page.

    A judge's budget, which stands in its file, stops new work once it is passed.

    Args:
        file: the calibration file, as this process sees it.
        retry_failed: ask again for what is kept as failed.
    """
    design = load_calibration(file)
    judges, texts = load_judges(design), load_texts(design)
    async with runtime() as current, alone(current, "calibrations", [design.name]):
        tally = await judge_missing(
            current, judges, texts.items, repeats=design.repeats, retry_failed=retry_failed
        )
        page = await report_calibration(file)
        state = await tally.state(current)
    return state if state.is_failed() else Completed(message=state.message, data=page)
