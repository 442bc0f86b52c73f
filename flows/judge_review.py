"""Judge review: judges in use, asked anew beside their alternatives; a person decides."""

from datetime import date
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed

from flows.claiming import alone
from flows.judged_items import judge_asked
from flows.names import of_review
from flows.parameters import OrLeftOut
from judge_gym.design.rolling import day_of
from judge_gym.errors import JudgeGymError
from judge_gym.judges.reviewing.cases import load_review
from tasks.events import tell_failure
from tasks.judges import report_review
from tasks.runtime import runtime


@flow(name="judge-review", flow_run_name=of_review, on_failure=[tell_failure])
async def judge_review(
    file: Path, day: OrLeftOut[date] = None, retry_failed: bool = False
) -> State[Path]:
    """Ask judges in use and their alternatives anew, and say which to reconsider; changes nothing.

    However late it runs, and however often, a run stands for the day it was scheduled for: what was
    judged for that day is not asked again. The state's data is the page of the day. A run that is
    stopped, as by a judge's budget, writes what was judged until then, and fails.

    Args:
        file: the file that says which judges, as this process sees it.
        day: the day of the review; without it the one that the run was scheduled for, in the time
            zone of the file.
        retry_failed: ask again for what is kept as failed.
    """
    review = load_review(file)
    day = day or day_of(flow_run.scheduled_start_time, review.file.time_zone)
    async with runtime() as current, alone(current, "judges under review", review.judges):
        try:
            tally = await judge_asked(
                current, review.asked, retry_failed=retry_failed, occasion=day.isoformat()
            )
        except JudgeGymError as stopped:
            page = await report_review(file, day)
            told = f"{stopped.message} What was judged until then: {page.resolve()}."
            raise type(stopped)(told, stopped.remedy) from stopped
        page = await report_review(file, day)
        state = await tally.state(current)
    return state if state.is_failed() else Completed(message=state.message, data=page)
