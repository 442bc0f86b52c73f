"""How a flow run ends: a summary of its work, a partial failure, or waiting for batches."""

import asyncio
import functools
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ParamSpec, TypeVar, cast

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Completed, Crashed, Failed, Scheduled

from flows.leases import go_on_without_lease
from flows.outages import outage_of
from judge_gym.answers.readability import Answers, remedy_of, too_few_readable
from judge_gym.counting import counted, in_batches
from judge_gym.errors import RETRY_FAILED, JudgeGymError, OutageError, restated
from judge_gym.llm.breaker import ModelStoppedError
from judge_gym.llm.hourly import HourlyBoundError
from judge_gym.runtime import Runtime
from judge_gym.store import engine
from judge_gym.store.cleaning import KINDS
from tasks.policy import LAUNCHED, PARTIAL_FAILURE

go_on_without_lease()  # every flow that works imports this module
NOTHING_MISSING = "nothing was missing"
REMEDY = "Rerun the command, or run the flow again: it does what is still missing."
RETRY = f"Run again with {RETRY_FAILED} to retry what failed"
MOST_NAMED = 3
"""Causes that a message names."""


P = ParamSpec("P")
T = TypeVar("T")
Ending = Coroutine[Any, Any, State[Any]]


OUTAGES = 3
"""Times that a flow begins again after it lost the database."""
WORKED_S = 10.0
"""Seconds after which a flow that ends has worked in between: it is another outage."""
AGAIN_S = 2.0
"""Seconds until a flow begins again."""


def resumable(
    flow: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Begin again when the flow has lost the database or Prefect's server: it does what is missing.

    Connections wait for both. When one does not come back, the run ends as crashed, so that a run
    of a deployment is resumed later; its data is the `OutageError`. At a bound per hour, a run of a
    deployment ends as waiting, and its next run is scheduled. An error that the user can fix ends
    it in words, without a traceback.
    """

    @functools.wraps(flow)
    async def in_words(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return await run(*arguments, **options)
        except JudgeGymError as error:
            return cast(T, Failed(message=str(error), data=error))

    async def run(*arguments: P.args, **options: P.kwargs) -> T:
        outages, away_since = 0, 0.0
        while True:
            began = time.monotonic()
            try:
                return await flow(*arguments, **options)
            except HourlyBoundError as bound:
                # Only a flow that makes calls gets here.
                return cast(T, await wait_for_the_hour(bound))
            except Exception as error:
                failure = outage_of(error)
                if failure is None:
                    raise
                now = time.monotonic()
                if not outages or now - began > WORKED_S:
                    outages, away_since = outages + 1, now
                if not isinstance(failure, OutageError):  # such as a full disk
                    raise failure from error
                away = failure.waited or now - away_since > engine.PATIENCE_S
                if away or outages > OUTAGES:
                    return cast(T, Crashed(message=str(failure), data=failure))
                get_run_logger().warning("%s Resuming.", failure.message)
                await asyncio.sleep(AGAIN_S)

    return in_words


async def wait_for_the_hour(bound: HourlyBoundError, **changes: Any) -> State[Any]:
    """Return the final state of a deployment's run that reached a bound per hour.

    Its next run is scheduled, with parameters that differ in `changes`, and does not retry again
    what failed. Raises the error where there is no deployment.
    """
    if "retry_failed" in flow_run.parameters:
        changes["retry_failed"] = False
    at = await _schedule(bound.after, changes)
    if at is None:
        raise bound
    resumed = f"{bound.message} The next run, at {at:%Y-%m-%d %H:%M} UTC, resumes."
    return Completed(name="Waiting", message=resumed, data=Waiting(bound.message))


class PartialFailure(JudgeGymError):
    """Some of a flow's work failed; the rest is done."""

    def __init__(self, causes: Iterable[JudgeGymError]) -> None:
        self.causes = tuple({str(cause): cause for cause in causes}.values())
        """Most important first; each once."""
        self.analysis_run: int | None = None
        """The analysis run that holds the figures of the rest, if the flow made them."""
        super().__init__(
            " ".join(cause.message for cause in self.causes),
            (remedy for cause in self.causes for remedy in cause.remedies),
        )

    def state(self, rest: str = "") -> State[Any]:
        """Return the flow's final state; `rest` says what was done."""
        return Failed(message=f"Finished with failures: {self}{rest}", data=self)


def combined(failures: Iterable[PartialFailure]) -> PartialFailure:
    """Return one failure for several, with the causes of all in their order."""
    return PartialFailure(cause for failure in failures for cause in failure.causes)


def caused_by(failures: list[PartialFailure], error: JudgeGymError) -> JudgeGymError:
    """Return the error that ended a run, with the failures that led to it named first."""
    if not failures:
        return error
    whole = PartialFailure([*combined(failures).causes, error])
    return restated(error, whole.message, whole.remedies)


@dataclass(frozen=True)
class Waiting:
    """What a flow returns when its work is done but for calls that wait in batches."""

    reason: str
    """What waits where, as the beginning of a sentence."""


@dataclass
class RunSummary:
    """How a flow's work ended: outcomes by status, and what failed."""

    outcomes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    """Failed chunks and work that could not begin, a sentence each without its full stop."""
    stopped: dict[str, ModelStoppedError] = field(default_factory=dict)
    """Model → why it got no more calls."""
    answers: list[Answers] = field(default_factory=list)
    """The stored answers of every judge, those of this run included."""
    waiting: Counter[tuple[str, str]] = field(default_factory=Counter)
    """What waits in batches, in the singular, and the names of its providers → how many."""
    found: str = ""
    """What a study that decides found, in sentences: a success says it first."""

    def add(self, other: "RunSummary") -> None:
        """Count another summary in."""
        self.outcomes += other.outcomes
        self.problems += other.problems
        self.stopped |= other.stopped
        self.answers += other.answers
        self.waiting += other.waiting

    def caused(self, error: JudgeGymError) -> JudgeGymError:
        """Return the error that stopped the work, with what failed before it named first."""
        failure = self._failure()
        return caused_by([failure] if failure else [], error)

    async def state(self, runtime: Runtime, data: Any = None, **changes: Any) -> State[Any]:
        """Return the flow's final state, which names what failed, the first cause first.

        `data` becomes the data of a success; `changes` are parameters that differ in the next run
        of a flow that waits.

        The state is no success when fewer than half of a judge's answers are readable. While calls
        wait in batches, the flow ends as waiting; the next run retries what failed.
        """
        if self.waiting:
            parts = [
                f"{in_batches(count, unit)}{at and f' at {at}'}"
                for (unit, at), count in sorted(self.waiting.items())
            ]
            waiting = Waiting("; ".join(parts + self.problems))
            return await run_again_later(runtime, waiting, **changes)
        done = ", ".join(f"{count} {status}" for status, count in sorted(self.outcomes.items()))
        if failure := self._failure():
            await tag_as_partial()
            return failure.state(f" This run: {done}." if done else "")
        message = done or NOTHING_MISSING
        if self.outcomes["failed"]:
            await tag_as_partial()
            message += f". {RETRY}"
        return Completed(message=f"{self.found} {message}".strip(), data=data)

    def _failure(self) -> PartialFailure | None:
        """Return what failed; None when the run is a success."""
        causes: list[JudgeGymError] = []
        if error := too_few_readable(self.answers):
            causes.append(error)
        causes += self.stopped.values()
        if self.problems:
            named = "; ".join(self.problems[:MOST_NAMED])
            left = len(self.problems) - MOST_NAMED
            more = f"; and {left} more" if left > 0 else ""
            causes.append(JudgeGymError(f"{named}{more}.", REMEDY))
        failed = self.outcomes["failed"]
        if not causes and failed and failed == self.outcomes.total():
            # A few failures are normal in a run.
            causes.append(self._all_failed(failed))
        return PartialFailure(causes) if causes else None

    def _all_failed(self, count: int) -> JudgeGymError:
        """Return an error with the classes of stored failures and the commonest one's fix."""
        kinds: Counter[str] = sum((answers.by_kind for answers in self.answers), Counter())
        failed = [(kind, n) for kind, n in kinds.most_common() if kind in KINDS]
        named = ", ".join(f"{n:,} {kind}" for kind, n in failed)
        return JudgeGymError(
            f"All {counted(count, 'call')} failed" + (f" (stored: {named})." if named else "."),
            remedy_of(failed[0][0] if failed else "server"),
        )


async def run_again_later(runtime: Runtime, waiting: Waiting, **changes: Any) -> State[Any]:
    """Return the final state of a flow that waits; a run of a deployment is scheduled again.

    `changes` are parameters that differ in the next run.
    """
    soon = datetime.now(UTC) + timedelta(seconds=runtime.settings.batch_poll_s)
    at = await _schedule(soon, changes)
    again = f"the next run, at {at:%Y-%m-%d %H:%M:%S} UTC, takes" if at else "run again to take"
    return Completed(name="Waiting", message=f"{waiting.reason}; {again} them in.", data=waiting)


async def _schedule(at: datetime, changes: dict[str, Any]) -> datetime | None:
    """Schedule another run of this run's deployment; returns when, None without a deployment.

    A sweep launches its own runs again.
    """
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    if run is None or run.deployment_id is None or LAUNCHED in run.tags:
        return None
    async with get_client() as client:
        following = await client.create_flow_run_from_deployment(
            run.deployment_id,
            parameters={**run.parameters, **changes},
            state=Scheduled(scheduled_time=at),
            # A run that is retried schedules one next run.
            idempotency_key=f"after-{run.id}",
            tags=run.tags,
            job_variables=run.job_variables,
            work_queue_name=run.work_queue_name,
        )
    return following.expected_start_time


async def tag_as_partial() -> None:
    """Tag this run before it ends, for filters, and for the sweep that launched it."""
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    if run is not None and PARTIAL_FAILURE not in run.tags:
        async with get_client() as client:
            await client.update_flow_run(run.id, tags=[*run.tags, PARTIAL_FAILURE])
