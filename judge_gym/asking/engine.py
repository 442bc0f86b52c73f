"""The engine: asks models questions, once for every kind of work.

It opens ledger rows, replays what the ledger already answers, submits batches, asks the rest within
the limits of providers and budget, and commits each question's rows with its last answer.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from judge_gym.asking.budgeting import Spender, check_priced, remaining
from judge_gym.asking.questions import End, Interruption, Outcome, Question, Turn, Turns
from judge_gym.errors import JudgeGymError
from judge_gym.llm.batches.policy import policy_of, split
from judge_gym.records.calls import Call, DerivedRow, Failure, LedgerEntry
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
    """How questions ended, in their order; None for a question that waits in a batch."""

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
) -> Outcomes[V]:
    """Ask what the ledger has no answer to; returns how each question ended.

    Questions are taken in chunks, between which the `budget` is checked. A provider's limits bound
    what is in flight; `at_once` bounds it further, in questions. What the policy sends as a batch,
    or is in one already, is left waiting; `in_batches=False` submits no new batch.

    Raises `BudgetExceededError` once the budget is used up, `ConfigError` when it cannot be
    enforced, and the first error of a question without an `interrupted` of its own, after the
    others ended: no answer that is on its way gets lost.
    """
    if budget is not None:
        runtime.providers.check(set(budget.models))
        check_priced(runtime.providers, budget)
    run: _Run[V] = _Run(runtime, budget, at_once, in_batches)
    try:
        async for chunk in run.chunks(iter(questions)):
            await run.ask(chunk)
    except JudgeGymError as error:
        error.done = Outcomes(tuple(run.ends)).counts
        raise
    return Outcomes(tuple(run.ends))


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

    return Batches(
        runtime.engine,
        runtime.providers,
        runtime.keys,
        runtime.settings.call_timeout_s,
        runtime.gateway,
    )


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
        self.opened: dict[str, LedgerEntry] = {}
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

    def take(self, call_id: int, outcome: Outcome) -> Sequence[DerivedRow]:
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

    def replay(self) -> Sequence[DerivedRow]:
        """Take answers that the ledger has, as far as calls are opened; returns the rows."""
        rows: Sequence[DerivedRow] = ()
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


def _next_calls(
    conversations: Iterable[_Conversation[V]],
) -> list[tuple[_Conversation[V], Call]]:
    return [(conversation, call) for conversation in conversations
            for call in conversation.next_calls]  # fmt: skip


@dataclass
class _Run(Generic[V]):
    """One use of the engine: what bounds it, and what it has done."""

    runtime: Runtime
    budget: Spender | None
    at_once: int | None
    in_batches: bool
    waiting: int = 0
    ends: list[End[V] | None] = field(default_factory=list)
    """How the questions of finished chunks, and of one that was cut short, ended."""

    def batches(self, question: Question[V]) -> bool:
        """Whether the first call of a question may go in a batch."""
        provider = self.runtime.providers.of(question.calls[0].model)
        return self.in_batches and bool(provider.batch)

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
            self.runtime.begun[self.budget] += len(chunk)
            try:
                yield chunk
            finally:
                self.runtime.begun[self.budget] -= len(chunk)

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
            size = self.at_once or size if self.budget else max(size, settings.first_chunk)
        if self.budget is None:
            return size
        left = await asyncio.to_thread(
            remaining, self.runtime, self.budget, question.calls, self.waiting
        )
        return max(1, min(size, left))

    async def ask(self, questions: Sequence[Question[V]]) -> None:
        """Ask a chunk of questions, and add how each ended to `ends`."""
        conversations = [_Conversation(question) for question in questions]
        try:
            await self._ask_all(conversations)
        except BaseException:
            self.ends += [one.end for one in conversations if one.end is not None]
            raise
        self.ends += [conversation.end for conversation in conversations]
        self.waiting += sum(conversation.end is None for conversation in conversations)

    async def _ask_all(self, conversations: Sequence[_Conversation[V]]) -> None:
        await self._replay(conversations)
        if self.in_batches and await self._submit(conversations):
            # A provider may have refused a batch.
            await self._open(_next_calls(conversations))
        direct = [
            conversation
            for conversation in conversations
            if conversation.end is None and not conversation.waits
        ]
        slots = nullcontext() if self.at_once is None else asyncio.Semaphore(self.at_once)
        async with self.runtime.gateway.chunk([call for _, call in _next_calls(direct)]):
            await all_of(self._ask_to_end(conversation, slots) for conversation in direct)

    async def _replay(self, conversations: Sequence[_Conversation[V]]) -> None:
        """Open the next calls of conversations, and use the answers that the ledger has."""
        going = list(conversations)
        while going:
            calls = _next_calls(going)
            await self._open(
                [(conversation, call) for conversation, call in calls
                 if call.key not in conversation.opened]
            )  # fmt: skip
            replayed = [
                (conversation, conversation.replay())
                for conversation in going
                if conversation.end is None
            ]
            await all_of(self.runtime.gateway.store(rows) for _, rows in replayed if rows)
            going = [
                conversation
                for conversation in going
                if conversation.end is None and conversation.call.key not in conversation.opened
            ]

    async def _open(self, calls: "Sequence[tuple[_Conversation[V], Call]]") -> None:
        """Write ledger rows, together for a provider."""
        groups: dict[str, list[tuple[_Conversation[V], Call]]] = defaultdict(list)
        for conversation, call in calls:
            # One model's refusal is no reason to interrupt questions to another.
            alone = conversation.question.interrupted is not None
            group_name = call.model if alone else call.model.partition("/")[0]
            groups[group_name].append((conversation, call))
        for group in groups.values():
            try:
                opened = await self.runtime.gateway.open([call for _, call in group])
            except JudgeGymError as error:
                await self._interrupt([conversation for conversation, _ in group], error)
                continue
            for (conversation, call), row in zip(group, opened, strict=True):
                conversation.opened[call.key] = row

    async def _submit(self, conversations: Sequence[_Conversation[V]]) -> bool:
        """Submit calls without an answer as batches, by the policy; returns whether any was sent.

        A call is in one batch at most: if its batch left it open, it is sent directly.
        """
        new: dict[str, dict[int, _Conversation[V]]] = defaultdict(dict)
        for conversation, call in _next_calls(conversations):
            row = conversation.opened[call.key]
            batched = self.runtime.providers.of(call.model).batch
            if batched and row.answer is None and not row.batched:
                new[call.model][row.id] = conversation
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

    async def _ask_to_end(self, conversation: _Conversation[V], slots: Any) -> None:
        """Make calls until the question has ended."""
        async with slots:
            try:
                while conversation.end is None:
                    await self._ask(conversation)
            except JudgeGymError as error:
                await self._interrupt([conversation], error)
                return
            except asyncio.CancelledError:
                if (end := conversation.interrupt(None)) is not None:
                    await self.runtime.gateway.store(end.rows)
                raise

    async def _ask(self, conversation: _Conversation[V]) -> None:
        conversation.called_at, gateway = time.perf_counter(), self.runtime.gateway
        if conversation.call.key not in conversation.opened:
            (conversation.opened[conversation.call.key],) = await gateway.open([conversation.call])
        await gateway.ask(
            conversation.call, conversation.take, conversation.opened[conversation.call.key]
        )

    async def _interrupt(
        self, conversations: Sequence[_Conversation[V]], error: JudgeGymError
    ) -> None:
        """End these conversations; raises the error for a question without `interrupted`."""
        for conversation in dict.fromkeys(conversations):
            if conversation.end is not None:
                continue
            if (end := conversation.interrupt(error)) is None:
                raise error
            await self.runtime.gateway.store(end.rows)
