"""Study: the same sweep every day or week on the evidence of that period, and a drift page."""

from collections.abc import Coroutine, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, TypeGuard

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Completed
from pydantic import Field

from flows.approving import ApproveOver
from flows.endings import (
    REMEDY,
    PartialFailure,
    resumable,
    wait_for_the_hour,
)
from flows.forms import AtLeastOne, File, OrLeftOut, RunSettings, study_run_name
from flows.judge_review import run_review
from flows.running import lock
from flows.sweep import run_sweep
from judge_gym.counting import counted
from judge_gym.design.study_file import (
    MOST_CATCH_UP,
    StudyFile,
    due_periods,
    load_study,
    sweep_of,
)
from judge_gym.design.window_files import Period, day_of
from judge_gym.errors import JudgeGymError, OutageError
from judge_gym.judges.reviewing.cases import load_review
from judge_gym.llm.hourly import HourlyBoundError
from judge_gym.runtime import Runtime
from judge_gym.store.studies import points_of, save_point
from tasks.events import emit_failure
from tasks.runtime import runtime, settings_of_this_run
from tasks.studies import report_drift


@flow(name="study", flow_run_name=study_run_name, on_failure=[emit_failure])
@resumable
async def study(
    file: File,
    catch_up: Annotated[int, Field(ge=0, le=MOST_CATCH_UP)] = 4,
    day: OrLeftOut[date] = None,
    retry_failed: bool = False,
    settings: RunSettings = None,
    at_once: OrLeftOut[AtLeastOne] = None,
    approve_over_usd: ApproveOver = None,
) -> State[Any]:
    """Run the sweep of the last whole day or week, add its point, and write the drift page.

    The state's data is the page. A period that has a point is not run again, however late or often
    a run comes. Periods are run one after the other, the oldest first; one that fails has no point,
    and the next run does it again. A review that the file names is made after them, once a period:
    for the day after the last one, however late or often a run comes.

    Args:
        file: the study file, in the folder JUDGE_GYM_HOME of the worker; or a shipped example, such
            as deployments/studies/weekly/study.yaml.
        catch_up: how many days or weeks before the last one to run too, where they have no point,
            as after an outage.
        day: run for this day in place of the one that the run was scheduled for.
        retry_failed: retry what failed in these periods.
        settings: settings of this run, over judge-gym.toml, such as {"workers": 8}.
        at_once: share W3 to W6 of each period among workers, at most this many flow runs at a time.
        approve_over_usd: wait for a person's approval if the rest of a period, or of the review, is
            expected to cost more US dollars; the lower one of this and of the template's own bound
            applies.
    """
    loaded = load_study(file)
    review = load_review(loaded.review) if loaded.review else None
    day = day or day_of(flow_run.scheduled_start_time, loaded.time_zone)
    due = due_periods(loaded, day, catch_up)
    failures: list[JudgeGymError] = []
    layers = await settings_of_this_run(settings or {})
    async with runtime(layers) as current, lock(current, {"studies": [loaded.name]}):
        missing = _missing(current, loaded, due)
        for period in missing:
            get_run_logger().info("Period from %s to %s", period.start, period.end)
            sweep = run_sweep(
                sweep_of(loaded, period),
                retry_failed=retry_failed,
                settings=settings,
                at_once=at_once,
                approve_over_usd=approve_over_usd,
                day=day,
            )
            state = await _state_unless_failed(sweep, _dates(period), day, failures)
            if _ends_the_run(state):
                return state
            if state is not None:
                await _save_point(current, loaded, period, state)
        added = len(missing) - len(failures)
        if review is not None:
            reviewing = run_review(
                review,
                due[-1].end + timedelta(days=1),
                retry_failed=retry_failed,
                settings=settings,
                approve_over_usd=approve_over_usd,
                again={"day": day},
            )
            state = await _state_unless_failed(reviewing, "Review", day, failures)
            if _ends_the_run(state):
                return state
        page = await report_drift(file)
    return _ended(due, added, failures, page)


async def _state_unless_failed(
    work: Coroutine[Any, Any, State[Any]], of: str, day: date, failures: list[JudgeGymError]
) -> State[Any] | None:
    """Return the state in which a sweep or review ends; None if it failed.

    Appends why it failed to `failures`, named by `of`. `day` is that of the run, for the next one
    where a bound per hour is reached.
    """
    try:
        state = await work
    except HourlyBoundError as bound:
        return await wait_for_the_hour(bound, day=day)
    except OutageError:
        raise  # the run is resumed, where a failed period would wait for the next one
    except JudgeGymError as error:
        failures.append(_failure(of, error))
        return None
    if state.is_failed():
        failures.append(_failure(of, await state.aresult(raise_on_failure=False)))
        return None
    return state


def _ends_the_run(state: State[Any] | None) -> TypeGuard[State[Any]]:
    """Whether the study ends as its part did: it was cancelled, or waits."""
    return state is not None and (state.is_cancelled() or state.name == "Waiting")


async def _save_point(
    runtime: Runtime, study: StudyFile, period: Period, state: State[Any]
) -> None:
    """Store the point of a period whose sweep has ended."""
    run_id = int(await state.aresult())
    with runtime.session() as session:
        save_point(session, study.name, period.start, period.end, run_id)


def _ended(
    due: Sequence[Period], added: int, failures: Sequence[JudgeGymError], page: Path
) -> State[Any]:
    """Return the state of a study all of whose periods were tried."""
    new = counted(added, "new point")
    if failures:
        return PartialFailure(failures).state(f" {new}. The page: {page}.")
    done = f"{new}, {len(due) - added} of {counted(len(due), 'period')} had one before."
    return Completed(message=f"{done} The page: {page}.", data=page)


def _missing(runtime: Runtime, study: StudyFile, due: Sequence[Period]) -> list[Period]:
    """Return the periods without a point, the oldest first."""
    with runtime.session() as session:
        had = {(point.first_day, point.last_day) for point in points_of(session, study.name)}
    return [period for period in due if (period.start, period.end) not in had]


def _failure(of: str, cause: Any) -> JudgeGymError:
    """Return why a period has no point, or the review has no page, named by `of`."""
    message = cause.message if isinstance(cause, JudgeGymError) else f"{type(cause).__name__}."
    remedies = cause.remedies if isinstance(cause, JudgeGymError) else [REMEDY]
    return JudgeGymError(f"{of}: {message}", remedies)


def _dates(period: Period) -> str:
    return f"{period.start} to {period.end}"
