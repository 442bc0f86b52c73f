"""Calibration: what judges can tell apart, judged on texts that were changed in known ways."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from flows.chunks import Work, run_chunks
from flows.claiming import alone
from judge_gym.calibration.design import load_calibration
from judge_gym.judges import Judge, ModelJudge
from judge_gym.runtime import Runtime
from judge_gym.workflows.calibrating.judging import load_judges, load_texts, missing
from tasks.calibration import judge_texts, report_calibration
from tasks.limits import declare_limits
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
        await declare_limits()
        works = []
        for judge in judges:
            with current.session() as session:
                units = missing(
                    session, judge, texts.items, design.repeats, retry_failed=retry_failed
                )
            arguments = {"judge": judge, "repeats": design.repeats}
            label = f"texts by {judge.name}"
            works.append(Work(judge_texts, _provider(current, judge), units, label, arguments))
        tally = await run_chunks(current, "texts", works)
        page = await report_calibration(file)
        state = await tally.state(current)
    return state if state.is_failed() else Completed(message=state.message, data=page)


def _provider(runtime: Runtime, judge: Judge) -> str:
    """Return the provider whose limit a judge keeps to; empty for a judge of one's own."""
    return runtime.providers.of(judge.model).name if isinstance(judge, ModelJudge) else ""
