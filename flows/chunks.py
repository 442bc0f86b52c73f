"""Running missing work as chunks: a few workers, one provider a chunk, no failure shared."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prefect import Task
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.progress import Counted
from flows.waiting import Waiting, run_again_later
from judge_gym.answers.readability import Answers, remedy_of, too_few_readable
from judge_gym.asking.batching import any_open
from judge_gym.asking.engine import WAITING
from judge_gym.errors import JudgeGymError, first_line
from judge_gym.llm.breaker import ModelStoppedError
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from tasks.lab import collect_batches
from tasks.policy import provider_tag

NOTHING = "nothing was missing"
REMEDY = "Run it again: it does what is still missing."
WITH_GAPS = "Finished with gaps: "
"""How the message of a flow begins that did what it could."""
MOST_NAMED = 3
"""Causes that a message names."""


class Gaps(JudgeGymError):
    """A flow did what it could, and some of its work failed."""

    def state(self, rest: str = "") -> State[Any]:
        """Return the final state of the flow; `rest` says what there is all the same."""
        return Failed(message=f"{WITH_GAPS}{self}{rest}", data=self)


@dataclass
class Tally:
    """How a flow's work ended: outcomes by status, and what could not be done, in words."""

    outcomes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    stopped: dict[str, ModelStoppedError] = field(default_factory=dict)
    """Models that were not asked any more, and why."""
    answers: list[Answers] = field(default_factory=list)
    """What the database holds of every judge, this run's answers among them."""
    waiting: Counter[str] = field(default_factory=Counter)
    """What waits in batches, in the plural with its provider → how many."""

    def add(self, other: "Tally") -> None:
        """Count another tally in."""
        self.outcomes += other.outcomes
        self.problems += other.problems
        self.stopped |= other.stopped
        self.answers += other.answers
        self.waiting += other.waiting

    async def state(self, runtime: Runtime) -> State[Any]:
        """Return the flow's final state; it says what went wrong, the first cause first.

        A judge with fewer than half its answers readable is no success. While something waits in
        a batch, the flow is to be run again, and what failed with it.
        """
        if self.waiting:
            what = [f"{count} {where}" for where, count in sorted(self.waiting.items())]
            return await run_again_later(runtime, Waiting("; ".join(what + self.problems)))
        done = ", ".join(f"{count} {status}" for status, count in sorted(self.outcomes.items()))
        if gaps := self._gaps():
            return gaps.state(f" This run: {done or 'nothing was done'}.")
        message = done or NOTHING
        if self.outcomes["failed"]:
            message += ". What failed is kept as failed; run again with retry_failed to ask for it"
        return Completed(message=message)

    def _gaps(self) -> Gaps | None:
        """Return what went wrong, None when all is well."""
        causes: list[JudgeGymError] = []
        if error := too_few_readable(self.answers):
            causes.append(error)
        causes += self.stopped.values()
        if self.problems:
            named = "; ".join(self.problems[:MOST_NAMED])
            left = len(self.problems) - MOST_NAMED
            causes.append(Gaps(f"{named}{f'; and {left} more' if left > 0 else ''}.", REMEDY))
        failed = self.outcomes["failed"]
        if not causes and failed and failed == self.outcomes.total():
            # Some failures are in the nature of a run; nothing else is a provider that is down.
            causes.append(Gaps(f"All {failed} that were asked failed.", remedy_of("server")))
        return combined(causes) if causes else None


def combined(causes: Sequence[JudgeGymError]) -> Gaps:
    """Return one error for several, in their order; a sentence that several have stands once."""
    return Gaps(_once(one.message for one in causes), _once(one.remedy for one in causes))


def _once(texts: Iterable[str]) -> str:
    sentences = (sentence for text in texts for sentence in re.split(r"(?<=\.) ", text))
    return " ".join(filter(None, dict.fromkeys(sentences)))


def after(gaps: Sequence[Gaps], error: JudgeGymError) -> JudgeGymError:
    """Return the error that ended a run after these gaps, which are its causes and come first."""
    if not gaps:
        return error
    whole = combined([*gaps, error])
    return type(error)(whole.message, whole.remedy)


@dataclass(frozen=True)
class Work:
    """Units of one provider, and the task that does a list of them."""

    task: Task[..., Any]
    provider: str
    units: list[Any]
    label: str
    """What a unit is, in the plural: names the task runs."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    as_batches: bool = False
    """Whether its calls may go as batches; then they are all to one model."""


def by_provider(
    runtime: Runtime,
    task: Task[..., Any],
    by_model: Mapping[str, Sequence[Any]],
    label: str,
    *,
    as_batches: bool = True,
    **arguments: Any,
) -> list[Work]:
    """Return one `Work` per provider; the units of its models follow one another.

    A provider that takes batches has one per model, as every batch has, unless `as_batches` is
    false.
    """
    works: dict[str, Work] = {}
    for model, missing in by_model.items():
        provider = runtime.providers.of(model)
        batches = as_batches and provider.batch
        work = Work(task, provider.name, [], label, arguments, batches)
        works.setdefault(model if batches else provider.name, work).units.extend(missing)
    return list(works.values())


async def run_chunks(
    runtime: Runtime, what: str, works: Sequence[Work], check: Callable[[], None] | None = None
) -> Tally:
    """Do all the work, a few chunks at a time, and count how it ended.

    Prefect's page shows how far it is: one request a chunk; `what` names the units, in the plural.

    A failed chunk is a problem in the tally and leaves the others alone, and so does a model that
    is not asked any more. Any other error that the user has to mend stops new chunks, lets those
    in progress end, and is raised. `check` raises such an error when no new chunk may begin;
    it is asked before each.
    """
    unheard = await collect_batches() if await any_open(runtime) else []
    tally = Tally()
    progress = Counted(what, sum(len(work.units) for work in works))
    await progress.add({})
    waiting = [
        (work, start, work.units[start:end])
        for work in works
        for start, end in _cuts(len(work.units), runtime.settings, as_batches=work.as_batches)
    ]
    waiting.reverse()
    stopped: list[JudgeGymError] = []

    async def worker() -> None:
        while waiting and not stopped:
            work, start, units = waiting.pop()
            try:
                if check is not None:
                    await asyncio.to_thread(check)
                ends = Counter(await _configured(runtime, work, start, units)())
                await progress.add(ends)
                if count := ends.pop(WAITING, 0):
                    label = work.label.rstrip(",")
                    tally.waiting[f"{label} wait in batches at {work.provider}"] += count
                tally.outcomes += ends
            except ModelStoppedError as error:
                tally.stopped[error.model] = error
            except JudgeGymError as error:
                stopped.append(error)
            except Exception as error:
                tally.problems.append(
                    f"{work.label} {start + 1}-{start + len(units)}: {first_line(error)}"
                )

    await asyncio.gather(*(worker() for _ in range(runtime.settings.workers)))
    if stopped:
        raise stopped[0]
    if tally.waiting:
        tally.problems += unheard  # else they are about the batches of others
    return tally


def _cuts(count: int, settings: Settings, *, as_batches: bool) -> list[tuple[int, int]]:
    """Return where each of `count` units' chunks begins and ends.

    Each has room for a full batch; a rest too small for a batch stays with the one before, where
    the policy decides about it.
    """
    size, least = settings.chunk_size, 1
    if as_batches:
        size, least = settings.batch_maximum, min(settings.batch_minimum, settings.batch_maximum)
    starts = list(range(0, count - least + 1, size)) or [0]
    return list(zip(starts, [*starts[1:], count], strict=True)) if count else []


def _configured(
    runtime: Runtime, work: Work, start: int, units: Sequence[Any]
) -> Callable[[], Any]:
    options = work.task.with_options(
        task_run_name=f"{work.label} {start + 1}-{start + len(units)} of {len(work.units)}",
        tags=[provider_tag(work.provider)] if work.provider else [],
        timeout_seconds=runtime.settings.chunk_timeout_s,
    )
    return lambda: options(units=list(units), **work.arguments)
