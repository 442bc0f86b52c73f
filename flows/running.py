"""A flow run at work: its lock, the limits it declares, and its work in chunks.

A chunk is work of one provider that one task does. A few chunks run at a time, and one that fails
leaves the others alone.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from prefect import Task
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger

from flows.endings import RunSummary
from flows.outages import outage_of
from flows.progress import Counted
from judge_gym.answers.readability import Answers
from judge_gym.asking.budgeting import (
    BudgetExceededError,
    SweepBudget,
    recounted,
    spending_check,
)
from judge_gym.asking.engine import WAITING, all_of, any_batch_open
from judge_gym.counting import counted, plural
from judge_gym.errors import RETRY_FAILED, JudgeGymError, OutageError, first_line
from judge_gym.llm.breaker import ModelStoppedError
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store.locks import locked
from judge_gym.store.samples import Missing
from judge_gym.store.windows import load_window
from tasks.artifacts import PROGRESS
from tasks.events import served_models_followed
from tasks.lab import collect_batches, collect_window
from tasks.policy import SOURCES, declare_limits, limits_of, provider_tag
from tasks.runtime import parameter_layer, runtime
from tasks.slots import free_stale_slots, slots_awaited

T = TypeVar("T")


@dataclass(frozen=True)
class Work:
    """Units of one provider, or of judges of several, and the task that does a list of them."""

    task: Task[..., Any]
    providers: tuple[str, ...]
    """Those whose limits bound it; none for a function of one's own."""
    units: list[Any]
    label: str
    """A unit in the singular; names the task runs."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    as_batches: bool = False
    """Whether its calls may go as batches; then all are to one model."""
    results: int | None = None
    """How many results its units give, unless each gives one."""


@dataclass(frozen=True)
class Run:
    """A flow run that holds its lock: what it works with, and a summary of its work."""

    runtime: Runtime
    budget: SweepBudget | None = None
    summary: RunSummary = field(default_factory=RunSummary)

    def query(
        self,
        function: Callable[..., T],
        *arguments: Any,
        **options: Any,
    ) -> T:
        """Call a function of the library with a session of its own; it commits at the end."""
        with self.runtime.session() as session:
            return function(session, *arguments, **options)

    async def do(
        self,
        unit_name: str,
        task: Task[..., Any],
        by_model: Mapping[str, Sequence[Any]],
        **arguments: Any,
    ) -> None:
        """Do the missing work of every model; `unit_name` is a unit in the singular."""
        works = by_provider(
            self.runtime, task, by_model, unit_name, budget=self.budget, **arguments
        )
        await self.do_all(unit_name, works)

    async def collect(self, window_id: int) -> dict[str, int]:
        """Collect a window within its source's limit; returns documents kept and dropped."""
        kind = self.query(load_window, window_id).source.kind
        tags = [provider_tag(kind)] if kind in SOURCES else []
        counts: dict[str, int] = await collect_window.with_options(tags=tags)(window_id)
        _end_if_cancelled()
        return counts

    async def judge(self, unit_name: str, task: Task[..., Any], missing: Missing) -> None:
        """Make missing judgements; those that wait for a failed view are a problem."""
        await self.do(unit_name, task, missing.by_model)
        if missing.blocked:
            waits = "waits" if missing.blocked == 1 else "wait"
            self.summary.problems.append(
                f"{counted(missing.blocked, unit_name)} {waits} for views that failed"
                f" ({missing.blocked_by or 'not made yet'}); run the sweep again "
                f"with {RETRY_FAILED}"
            )

    async def do_all(self, unit_name: str, works: Sequence[Work]) -> None:
        """Do all this work, and count how it ended."""
        check = spending_check(self.runtime, self.budget)
        summary, error = await run_chunks(self.runtime, unit_name, works, check)
        self.summary.add(summary)
        if isinstance(error, BudgetExceededError):
            error = await asyncio.to_thread(recounted, self.runtime, error)
        if error is not None:
            raise self.summary.caused(error) from error

    def count(self, answers: Callable[..., list[Answers]], *arguments: Any) -> None:
        """Read how many stored answers of each judge are readable; too few are no success."""
        self.summary.answers += self.query(answers, *arguments)

    @property
    def waits(self) -> bool:
        """Whether calls wait in batches, so that later steps of the flow have to wait, too."""
        return bool(self.summary.waiting)

    async def state(self, data: Any = None, **changes: Any) -> State[Any]:
        """Return the flow's final state; `data` is what it returns on success.

        `changes` are parameters that differ in the next run of a flow that waits for batches.
        """
        return await self.summary.state(self.runtime, data, **changes)


@asynccontextmanager
async def locked_run(
    work: Mapping[str, Iterable[object]],
    *,
    budget: SweepBudget | None = None,
    settings: Mapping[str, Any] | None = None,
) -> AsyncIterator[Run]:
    """Open the runtime, lock the work on these names, by kind, and declare the providers' limits.

    Plan what is missing inside the block: a run that waited for the lock finds most of it done.
    """
    async with (
        runtime(parameter_layer(settings)) as current,
        lock(current, work),
        served_models_followed(current),
    ):
        await declare_limits()
        # Its tasks would wait for ever for slots that were lost with their server.
        limits = limits_of(current.providers)
        for freed in await free_stale_slots(current.settings.chunk_timeout_s, limits):
            get_run_logger().warning("Freed slots: %s.", freed)
        yield Run(current, budget)


@asynccontextmanager
async def lock(runtime: Runtime, work: Mapping[str, Iterable[object]]) -> AsyncIterator[None]:
    """Lock the work on these names, by kind; a second run waits here until the first has ended."""

    def waiting() -> None:
        line = f"Another run works on these {' or '.join(work)}: waiting for it to end."
        get_run_logger().warning(line)
        PROGRESS.warning(line)  # a command shows no logs of its flows

    async with locked(runtime.engine, work, waiting):
        yield


def by_provider(
    runtime: Runtime,
    task: Task[..., Any],
    by_model: Mapping[str, Sequence[Any]],
    label: str,
    **arguments: Any,
) -> list[Work]:
    """Return one `Work` per provider, with the units of its models one after the other.

    A provider that takes batches has one per model, since a batch is of one model.
    """
    works: dict[tuple[str, ...], Work] = {}
    for model, missing in by_model.items():
        work = work_of(runtime, task, [model], [], label, **arguments)
        same = (model,) if work.as_batches else work.providers
        works.setdefault(same, work).units.extend(missing)
    return list(works.values())


def work_of(
    runtime: Runtime,
    task: Task[..., Any],
    models: Collection[str],
    units: Sequence[Any],
    label: str,
    **arguments: Any,
) -> Work:
    """Return units that ask these models; none for a custom judge."""
    providers = {provider.name: provider for provider in map(runtime.providers.of, models)}
    as_batches = len(models) == 1 and all(provider.batch for provider in providers.values())
    return Work(task, tuple(sorted(providers)), list(units), label, arguments, as_batches)


async def run_chunks(
    runtime: Runtime, unit_name: str, works: Sequence[Work], check: Callable[[], None] | None = None
) -> tuple[RunSummary, JudgeGymError | None]:
    """Do all the work, a few chunks at a time; returns how it ended and the error that stopped it.

    Prefect's page shows the progress, with one request per chunk; `unit_name` is a unit in the
    singular.

    A failed chunk becomes a problem of the summary, and a model that gets no more calls is named
    there. Any other `JudgeGymError` stops new chunks, lets those in progress end, and is returned.
    `check` runs before each chunk, and raises when no new chunk may begin.
    """
    batch_errors = await collect_batches() if await any_batch_open(runtime) else []
    summary = RunSummary()
    results = (len(work.units) if work.results is None else work.results for work in works)
    progress = Counted(unit_name, sum(results))
    await progress.add({})
    chunks = Chunks(works, runtime.settings)
    errors: list[JudgeGymError] = []

    async def ended(work: Work, ends: Counter[str]) -> None:
        await progress.add(ends)
        if count := ends.pop(WAITING, 0):
            summary.waiting[work.label, " and ".join(work.providers)] += count
        summary.outcomes += ends

    async def worker() -> None:
        while not errors and (chunk := chunks.take()) is not None:
            _end_if_cancelled()
            work, start, units = chunk
            try:
                if check is not None:
                    await asyncio.to_thread(check)
                began = time.monotonic()
                await ended(work, Counter(await _configured(runtime, work, start, units)()))
                chunks.took(len(units), time.monotonic() - began)
            except ModelStoppedError as error:
                await ended(work, error.done)
                summary.stopped[error.model] = error
            except JudgeGymError as error:
                await ended(work, error.done)
                errors.append(error)
            except Exception as error:
                if isinstance(outage := outage_of(error), OutageError):
                    errors.append(outage)  # of the run, not of this chunk
                    return
                where = _part(work, start, units)
                summary.problems.append(f"{where}: {first_line(error)}")

    tags = {provider_tag(name) for work in works if work.units for name in work.providers}
    async with slots_awaited(tags, runtime.settings.chunk_timeout_s):
        # All of them end, also where one is cancelled: others wait for answers that may be billed.
        await all_of(worker() for _ in range(runtime.settings.workers))
    if summary.waiting:  # else the errors are about batches of other runs
        summary.problems += batch_errors
    return summary, errors[0] if errors else None


def _end_if_cancelled() -> None:
    """End this asyncio task if it was cancelled and went on.

    Prefect swallows a cancellation that comes while it gives the slot of a finished task back, so
    that a run went on after Ctrl-C.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class Chunks:
    """Cuts works into chunks, in their order, each when it is taken.

    Where the settings name no size, chunks that end soon are followed by larger ones: a task costs
    Prefect as much as twenty fast calls.
    """

    LARGEST = 500
    SOON_S = 5.0

    def __init__(self, works: Sequence[Work], settings: Settings) -> None:
        self._settings = settings
        self._works = deque(work for work in works if work.units)
        self._begun = 0
        """Units of the first work that chunks have taken."""
        self._size = settings.first_chunk

    def take(self) -> tuple[Work, int, list[Any]] | None:
        """Return the next chunk: its work, its place in that and its units; None at the end."""
        if not self._works:
            return None
        work, start = self._works[0], self._begun
        left = len(work.units) - start
        size, least = self._size, 1
        if work.as_batches:
            # A rest too small for a batch stays with the chunk before, where the batch policy
            # decides about it.
            size = self._settings.batch_maximum
            least = min(self._settings.batch_minimum, size)
        if left - size < least:
            size = left
            self._works.popleft()
        self._begun = 0 if size == left else start + size
        return work, start, work.units[start : start + size]

    def took(self, size: int, seconds: float) -> None:
        """Choose the size of the next chunks after one of this size took so long."""
        fixed = self._settings.chunk_size is not None
        if not fixed and size == self._size and seconds < self.SOON_S:
            self._size = min(self.LARGEST, 2 * self._size)


def _part(work: Work, start: int, units: Sequence[Any]) -> str:
    return f"{plural(work.label)} {start + 1}-{start + len(units)}"


def _configured(
    runtime: Runtime, work: Work, start: int, units: Sequence[Any]
) -> Callable[[], Any]:
    options = work.task.with_options(
        task_run_name=f"{_part(work, start, units)} of {len(work.units)}",
        tags=[provider_tag(name) for name in work.providers],
        timeout_seconds=runtime.settings.chunk_timeout_s,
    )
    return lambda: options(units=list(units), **work.arguments)
