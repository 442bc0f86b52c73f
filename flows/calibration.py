"""Calibration: what judges can tell apart, judged on texts that were changed in known ways."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from flows.claiming import alone
from flows.judged_items import PartlyJudgedError, judge_missing
from flows.perturbed_texts import perturb_missing
from judge_gym.asking.budgeting import BudgetPassedError
from judge_gym.calibration.design import load_calibration
from judge_gym.errors import StoreError
from judge_gym.judges.calibrating.judging import load_judges, load_originals, load_texts
from tasks.events import tell_failure
from tasks.judges import report_calibration
from tasks.runtime import runtime


@flow(name="calibration", flow_run_name="calibrate {file.name}", on_failure=[tell_failure])
async def calibration(file: Path, retry_failed: bool = False) -> State[Path]:
    """Change and judge what is still missing, then write the report; the state's data is its page.

    A judge's budget, which stands in its file, stops new work once it is passed, and so does that
    of the perturber; the report is then of what was judged, and the flow fails.

    Args:
        file: the calibration file, as this process sees it.
        retry_failed: ask again for what is kept as failed.
    """
    design = load_calibration(file)
    judges = load_judges(design)
    originals = load_originals(design, judges).texts
    async with runtime() as current, alone(current, "calibrations", [design.name]):
        try:
            tally = await perturb_missing(current, originals, design, retry_failed=retry_failed)
            with current.session() as session:
                texts = load_texts(session, design)
            judged = await judge_missing(
                current, judges, texts.items, repeats=design.repeats, retry_failed=retry_failed
            )
        except BudgetPassedError as stopped:
            page = await _reported(file)
            if page is None:
                raise
            raise PartlyJudgedError(stopped, page) from stopped
        tally.add(judged)
        state = await tally.state(current)
        if state.is_failed():
            await _reported(file)  # that nothing was judged follows from what failed
            return state
        page = await report_calibration(file)
    return Completed(message=state.message, data=page)


async def _reported(file: Path) -> Path | None:
    """Report what was judged before the stop; returns None when nothing was."""
    try:
        return await report_calibration(file)
    except StoreError:
        return None
