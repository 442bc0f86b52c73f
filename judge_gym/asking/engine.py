"""The engine: asks models questions, once for every kind of work.

It opens ledger rows, replays what the ledger already answers, submits batches, asks the rest within
the limits of providers and budget, and commits each question's rows with its last answer.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from judge_gym.asking.budgeting import Spender, check_priced, remaining
from judge_gym.asking.questions import End, Interruption, Outcome, Question, Turn, Turns
from judge_gym.errors import JudgeGymError
from judge_gym.llm.batches.policy import policy_of, split
from judge_gym.records.calls import Call, Failure, Opened, Row
from judge_gym.runtime import Runtime
from judge_gym.store import batches

if TYPE_CHECKING:
    from judge_gym.llm.batches.submitting import Batches

WAITING = "waiting"
"""The status of a question whose call is in a batch that has not ended."""
T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True)
class Outcomes(Generic[V]):
    """How questions ended, in their order; None for one that waits in a batch."""

    ends: tuple[End[V] | None, ...]

    @property
    def counts(self) -> Counter[str]:
        """The number of questions by status, `waiting` among them."""
        return Counter(WAITING if end is None else end.status for end in self.ends)


async def ask_all(
    runtime: Runtime,
    questions: Iterable[Question[V]],
    *,
    budget: Spender | None = None,
    at_once: int | None = None,
    in_batches: bool = True,
    progress: Callable[[int], None] = lambda _: None,
) -> Outcomes[V]:
    """Ask what the ledger has no answer to; returns how each question ended.

    Questions are taken in chunks, between which the `budget` is checked. A provider's limits bound
    what is in flight; `at_once` bounds it further, in questions. What the policy sends as a batch,
    or is in one already, is left waiting; `in_batches=False` submits no new batch. `progress` is
    given the number of questions that have ended.

    Raises `BudgetExceededError` once the budget is used up, `ConfigError` when it cannot be
    enforced, and the first error of a question without an `interrupted` of its own, after the
    others ended: no answer that is on its way gets lost.
    """
    if budget is not None:
        runtime.providers.check(set(budget.models))
        check_priced(runtime.providers, budget)
    run: _Run[V] = _Run(runtime, budget, at_once, in_batches, progress)
    ends: list[End[V] | None] = []
    async for chunk in run.chunks(iter(questions)):
        ends += await run.ask(chunk)
    return Outcomes(tuple(ends))


async def all_of(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Do everything at once to its end, then raise the first error if there was one.

    `asyncio.gather` alone would leave the others running, unawaited, after an error.
    """
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return cast(list[T], results)


async def collect_batches(runtime: Runtime) -> list[str]:
    """Take in every batch that has ended; returns why providers could not be reached."""
    return await _batch_client(runtime).collect()


async def cancel_batch(runtime: Runtime, batch_id: int) -> str:
    """Cancel an open batch; returns its status then. Raises `BatchError` when it cannot be."""
    return await _batch_client(runtime).cancel(batch_id)


async def any_batch_open(runtime: Runtime) -> bool:
    """Whether there is a batch that has not ended."""
    return bool(await asyncio.to_thread(batches.open_ids, runtime.engine))


def _batch_client(runtime: Runtime) -> "Batches":
    # litellm takes seconds to import, which planning alone must not pay.
    from judge_gym.llm.batches.submitting import Batches

    timeout_s = runtime.settings.call_timeout_s
    return Batches(runtime.engine, runtime.providers, runtime.keys, timeout_s)


@dataclass(eq=False)
class _Conversation(Generic[V]):
    """A question on its way: its turns, the calls it has to make next, and its end."""

    question: Question[V]
    turns: Turns = ()
    opening_index: int = 0
    end: End[V] | None = None
    started: float = field(default_factory=time.perf_counter)
    called_at: float = 0.0

    def __post_init__(self) -> None:
        self.call = self.question.calls[0]
        self.opened: dict[str, Opened] = {}
        """Call key → its ledger row."""

    @property
    def next_calls(self) -> tuple[Call, ...]:
        """The calls that depend on no answer that is missing; none once it has ended."""
        if self.end is not None:
            return ()
        return (self.call, *self.question.calls[self.opening_index + 1 :])

    @property
    def waits(self) -> bool:
        """Whether one of its next calls is in a batch that has not ended."""
        return any(self.opened[call.key].waiting for call in self.next_calls)

    def take(self, call_id: int, outcome: Outcome) -> Sequence[Row]:
        """Add a turn; returns the rows to commit with it."""
        if isinstance(outcome, Failure):
            seconds: float | None = time.perf_counter() - self.called_at
        else:
            seconds = None if outcome.latency_ms is None else outcome.latency_ms / 1000
        self.turns += (Turn(self.call, call_id, outcome, self.opening_index, seconds),)
        step = self.question.then(self.turns)
        if isinstance(step, End):
            self.end = step
            return step.rows
        if step is None:
            self.opening_index += 1
            step = self.question.calls[self.opening_index]
        self.call = step
        return ()

    def replay(self) -> Sequence[Row]:
        """Take answers that the ledger has, as far as calls are opened; returns the rows."""
        rows: Sequence[Row] = ()
        while self.end is None and (row := self.opened.get(self.call.key)) and row.answer:
            rows = self.take(row.id, row.answer)
        return rows

    def interrupt(self, error: JudgeGymError | None) -> End[V] | None:
        """End it as its question says, if it says so and has not ended."""
        if self.question.interrupted is None or self.end is not None:
            return None
        begun = [turn.call_id for turn in self.turns]
        if (row := self.opened.get(self.call.key)) is not None:
            begun.append(row.id)
        self.end = self.question.interrupted(
            Interruption(
                self.turns,
                tuple(dict.fromkeys(begun)),
                time.perf_counter() - self.started,
                None if error is None else error.message.rstrip("."),
            )
        )
        return self.end


@dataclass
class _Run(Generic[V]):
    """One use of the engine: what bounds it, and what it has done."""

    runtime: Runtime
    budget: Spender | None
    at_once: int | None
    in_batches: bool
    progress: Callable[[int], None]
    ended: int = 0
    waiting: int = 0

    def batches(self, question: Question[V]) -> bool:
        """Whether the first call of a question may go in a batch."""
        return self.in_batches and self.runtime.providers.of(question.calls[0].model).batch

    async def chunks(self, questions: Iterator[Question[V]]) -> AsyncIterator[list[Question[V]]]:
        """Yield questions in chunks, each as large as limits and budget allow when it is taken.

        One question is read ahead, whose model and calls give the size of the chunk. In batches, a
        rest too small for a batch of its own is the end of the last chunk; but not under a budget,
        which may not pay for it.
        """
        ahead = list(islice(questions, 1))
        while ahead:
            size = await self._chunk_size(ahead[0])
            spare = self.runtime.settings.batch_minimum - 1 if self.batches(ahead[0]) else 0
            ahead += islice(questions, max(0, size + spare + 1 - len(ahead)))
            is_rest = len(ahead) <= size + spare and self.budget is None
            chunk = ahead if is_rest else ahead[:size]
            ahead = ahead[len(chunk) :]
            yield chunk

    async def _chunk_size(self, question: Question[V]) -> int:
        """Return how many questions like this one are taken next.

        Under a budget no more are begun than may be in flight, or than the rest of the budget pays
        for: at least one, until `BudgetExceededError` is raised.
        """
        settings = self.runtime.settings
        if self.batches(question):
            size = settings.batch_maximum
        else:
            size = self.runtime.providers.of(question.calls[0].model).concurrency
            size = self.at_once or size if self.budget else max(size, settings.chunk_size)
        if self.budget is None:
            return size
        left = await asyncio.to_thread(
            remaining, self.runtime, self.budget, question.calls, self.waiting
        )
        return max(1, min(size, left))

    async def ask(self, questions: Sequence[Question[V]]) -> list[End[V] | None]:
        """Ask a chunk of questions; returns how each ended."""
        conversations = [_Conversation(question) for question in questions]
        await self._replay(conversations)
        if self.in_batches and await self._submit(conversations):
            # A provider may have refused a batch.
            await self._open([(one, call) for one in conversations for call in one.next_calls])
        direct = [one for one in conversations if one.end is None and not one.waits]
        slots = nullcontext() if self.at_once is None else asyncio.Semaphore(self.at_once)
        with self.runtime.gateway.chunk([call for one in direct for call in one.next_calls]):
            await all_of(self._ask_to_end(one, slots) for one in direct)
        ends = [one.end for one in conversations]
        self.waiting += sum(end is None for end in ends)
        return ends

    async def _replay(self, conversations: Sequence[_Conversation[V]]) -> None:
        """Open the next calls of conversations, and take the answers that the ledger has."""
        going = list(conversations)
        while going:
            await self._open(
                [(one, call) for one in going for call in one.next_calls
                 if call.key not in one.opened]
            )  # fmt: skip
            replayed = [(one, one.replay()) for one in going if one.end is None]
            await all_of(self.runtime.gateway.store(rows) for _, rows in replayed if rows)
            for one, _ in replayed:
                if one.end is not None:
                    self._count()
            going = [one for one in going if one.end is None and one.call.key not in one.opened]

    async def _open(self, calls: "Sequence[tuple[_Conversation[V], Call]]") -> None:
        """Write ledger rows, together for a provider."""
        groups: dict[str, list[tuple[_Conversation[V], Call]]] = defaultdict(list)
        for one, call in calls:
            # One model's refusal is no reason to interrupt questions to another.
            alone = one.question.interrupted is not None
            groups[call.model if alone else call.model.partition("/")[0]].append((one, call))
        for group in groups.values():
            try:
                opened = await self.runtime.gateway.open([call for _, call in group])
            except JudgeGymError as error:
                await self._interrupt([one for one, _ in group], error)
                continue
            for (one, call), row in zip(group, opened, strict=True):
                one.opened[call.key] = row

    async def _submit(self, conversations: Sequence[_Conversation[V]]) -> bool:
        """Send as batches what the policy says of calls without an answer; whether any was sent.

        A call that was in a batch is not sent in another: what that left open is asked directly.
        """
        new: dict[str, dict[int, _Conversation[V]]] = defaultdict(dict)
        for one in conversations:
            for call in one.next_calls:
                row = one.opened[call.key]
                batched = self.runtime.providers.of(call.model).batch
                if batched and row.answer is None and not row.batched:
                    new[call.model][row.id] = one
        policy = policy_of(self.runtime.settings)
        submitted = False
        for model, by_id in new.items():
            ids = list(by_id)
            try:
                for size in split(len(ids), policy).batches:
                    submitted = True
                    await _batch_client(self.runtime).submit(model, ids[:size])
                    ids = ids[size:]
            except JudgeGymError as error:
                await self._interrupt(list(by_id.values()), error)
        return submitted

    async def _ask_to_end(self, one: _Conversation[V], slots: Any) -> None:
        """Ask until the question has ended."""
        async with slots:
            try:
                while one.end is None:
                    await self._ask(one)
            except JudgeGymError as error:
                await self._interrupt([one], error)
                return
            except asyncio.CancelledError:
                if (end := one.interrupt(None)) is not None:
                    await self.runtime.gateway.store(end.rows)
                raise
            self._count()

    async def _ask(self, one: _Conversation[V]) -> None:
        one.called_at, gateway = time.perf_counter(), self.runtime.gateway
        if one.call.key not in one.opened:
            (one.opened[one.call.key],) = await gateway.open([one.call])
        await gateway.ask(one.call, one.take, one.opened[one.call.key])

    async def _interrupt(
        self, conversations: Sequence[_Conversation[V]], error: JudgeGymError
    ) -> None:
        """End these conversations; raises the error for a question that does not say how."""
        for one in dict.fromkeys(conversations):
            if one.end is not None:
                continue
            if (end := one.interrupt(error)) is None:
                raise error
            await self.runtime.gateway.store(end.rows)
            self._count()

    def _count(self) -> None:
        self.ended += 1
        self.progress(self.ended)
