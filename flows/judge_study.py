"""The life of a study of judges: approve, do what is missing, report; whatever kind it is of."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prefect.client.schemas.objects import State
from prefect.states import Failed
from sqlalchemy.orm import Session

from flows.approving import refused
from flows.endings import wait_for_the_hour
from flows.judged_items import judge_requests, perturb_missing
from flows.running import Run, locked_run
from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.calibration.checks import Result
from judge_gym.errors import JudgeGymError, OutageError, StoreError, restated
from judge_gym.judges import Judge
from judge_gym.judges.approving import plan_study
from judge_gym.judges.judging import BOUND_ERRORS, locks_of
from judge_gym.lab.approving import SpendingPlan
from judge_gym.llm.hourly import HourlyBoundError
from judge_gym.report.files import WrittenReport
from judge_gym.report.judge_study import StudyReport
from judge_gym.runtime import Runtime
from judge_gym.studies import Study
from judge_gym.studies.thresholds import check_figures, held
from judge_gym.writable import check_reports
from tasks.judges import write_report

Step = Callable[[Run], Awaitable[None]]
"""Does what is missing of one part of a study; a run that waits for batches does no later one."""
Spending = Callable[[Session, Runtime, float], SpendingPlan]


class PartlyJudgedError(BudgetExceededError):
    """A budget stopped the judging; the report shows what was judged."""


@dataclass(frozen=True)
class JudgeStudy:
    """A study of judges, as a flow works on it."""

    judges: Sequence[Judge]
    """Those that judge: runs and commands that share one wait for each other."""
    spending: Spending
    """What it still spends, given the session, the runtime and the bound that needs approval."""
    steps: Sequence[Step]
    report: Callable[[], Awaitable[Path]]
    """Writes what is judged so far; raises `StoreError` where that is nothing."""
    finish: Callable[[Run], Awaitable[Path | State[Path] | None]] | None = None
    """What follows the report; returns one that takes its place, or the state of the run."""
    reported: tuple[type[JudgeGymError], ...] = BOUND_ERRORS
    """What stops the judging and is still followed by a report."""
    also_locks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What else no two runs may work on at once: kind, in the plural → names."""
    again: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that differ in the next run, where this one waits."""


def of_study(
    study: Study[Any],
    *,
    retry_failed: bool,
    by_verdict: bool = False,
    fail_under: Mapping[str, float] | None = None,
) -> JudgeStudy:
    """Return a study whose judges judge items, as a flow works on it.

    With `by_verdict` the run fails where what decides is no, or cannot tell; with `fail_under`
    where a figure's interval is not above its threshold. Raises `ConfigError` for a figure that the
    study does not have.
    """
    least = fail_under or {}
    check_figures(study, least, "fail_under")
    made: list[StudyReport[Any]] = []

    def spending(session: Session, runtime: Runtime, over_usd: float) -> SpendingPlan:
        asked = study.planned(session)
        return plan_study(
            session, runtime, study.called, over_usd, asked, perturbing=study.perturbing
        )

    def written(runtime: Runtime) -> WrittenReport:
        report, saved = study.write(runtime)
        made.append(report)
        return saved

    async def verdict(run: Run) -> State[Path] | None:
        report = made[-1]
        run.summary.found = report.page.found
        checks = [check for of in held(report, least).values() for check in of]
        missed = [one for one in checks if one.result is not Result.PASSES]
        said = [f"{one.name}: {one.reason}." for one in missed]
        results = [*(report.results if by_verdict else ()), *(check.result for check in checks)]
        return decided(results, " ".join([report.page.found, *said]))

    return JudgeStudy(
        judges=study.judges,
        spending=spending,
        steps=_steps(study, retry_failed=retry_failed),
        report=lambda: write_report(study.noun, written, study.artifact),
        finish=verdict if by_verdict or least else None,
        reported=BOUND_ERRORS if study.partial else (),
        also_locks=study.also_locks,
    )


def _steps(study: Study[Any], *, retry_failed: bool) -> list[Step]:
    """Return the steps of a study: what comes first, changed texts, judgements, their critics."""

    async def begin(run: Run) -> None:
        study.begin(run.runtime)

    async def perturb(run: Run) -> None:
        if study.perturbing:
            await perturb_missing(run, *study.perturbing, retry_failed=retry_failed)

    async def judge(run: Run) -> None:
        await judge_requests(run, run.query(study.to_judge), retry_failed=retry_failed)

    async def criticise(run: Run) -> None:
        if critics := run.query(study.critics):
            await judge_requests(run, critics, retry_failed=retry_failed)

    return [begin, perturb, judge, criticise]


async def run_study(
    study: JudgeStudy,
    *,
    approve_over_usd: float | None,
    settings: Mapping[str, Any] | None = None,
) -> State[Path]:
    """Run a study in this flow run; the data of a success is the path of its report.

    A bound that stops it, such as a judge's budget, is raised after the report of what was judged;
    at a bound per hour a run of a deployment waits.
    """
    locks = {**locks_of(study.judges), **study.also_locks}
    async with locked_run(locks, settings=settings) as run:
        check_reports(run.runtime.settings.reports_dir)

        def spending(session: Session, over_usd: float) -> SpendingPlan:
            return study.spending(session, run.runtime, over_usd)

        if end := await refused(run.runtime, approve_over_usd, spending):
            return end
        try:
            for step in study.steps:
                await step(run)
                if run.waits:
                    return await run.state(**{**study.again, "retry_failed": False})
        except OutageError:
            raise  # the run begins again
        except study.reported as stopped:
            return await _stopped(study, stopped)
        try:
            page = await study.report()
        except OutageError:
            raise
        except StoreError:  # nothing was judged: the state says why
            state = await run.state()
            if state.name == "Completed":
                raise
            return state
        ended = await study.finish(run) if study.finish else None
        state = await run.state(page if ended is None or isinstance(ended, State) else ended)
        # A run whose work failed says so first.
        return ended if isinstance(ended, State) and state.is_completed() else state


class VerdictError(JudgeGymError):
    """A judge does not reach what is asked of it, or the data cannot tell whether it does."""


def decided(results: Collection[Result], sentence: str) -> State[Path] | None:
    """Return the state of a run whose verdict is no, or cannot tell; None where all pass."""
    if results and set(results) <= {Result.PASSES}:
        return None
    name = "Failed" if Result.FAILS in results else "Cannot tell"
    return Failed(name=name, message=sentence, data=VerdictError(sentence))


async def _stopped(study: JudgeStudy, stopped: JudgeGymError) -> State[Path]:
    """Report what was judged; raise what stopped the rest, or return the state that waits."""
    try:
        page = await study.report()
    except StoreError:  # nothing was judged
        raise stopped from None
    message = f"{stopped.message} What was judged, and how much is missing: {page.resolve()}."
    if isinstance(stopped, BudgetExceededError):
        raise PartlyJudgedError(message, stopped.remedies) from stopped
    told = restated(stopped, message, stopped.remedies)
    if isinstance(told, HourlyBoundError):
        return await wait_for_the_hour(told, **study.again)
    raise told from stopped
