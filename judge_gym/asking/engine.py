"""Asking a chunk of calls at once, and turning outcomes into rows."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from judge_gym.asking.batching import hand_in
from judge_gym.records.calls import Answer, Call, Failure, Row, is_simulated
from judge_gym.runtime import Runtime

WAITING = "waiting"
"""How a question ends for now whose call is in a batch."""
Values = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """A call, the table its outcome belongs to, and how the outcome becomes that table's row."""

    call: Call
    table: Any
    read: Callable[[Answer | Failure], Values]
    """Outcome → column values, `status` among them; the call's id and simulated flag are added."""
    about_simulated: bool = False
    """Whether it is about what the simulator made: then so is the row, whoever answers."""


async def ask_all(runtime: Runtime, questions: Sequence[Question]) -> Counter[str]:
    """Ask everything at once (the gate bounds what is in flight); returns how each one ended.

    What goes as a batch, or is in one already, is left alone and counted as `waiting`. When one
    question stops the run, the others are awaited first, so that no answer that is on its way gets
    lost.
    """
    gateway = runtime.gateway
    calls = [question.call for question in questions]
    opened = await gateway.open(calls)
    if await hand_in(runtime, calls, opened):
        opened = await gateway.open(calls)  # a provider may have refused a batch
    ends: Counter[str] = Counter()

    async def one(question: Question, row: Any) -> None:
        def derive(call_id: int, outcome: Answer | Failure) -> list[Row]:
            values = question.read(outcome)
            ends[values["status"]] += 1
            simulated = question.about_simulated or is_simulated(question.call, outcome)
            return [Row(question.table, {**values, "simulated": simulated, "call_id": call_id})]

        await gateway.ask(question.call, derive, row)

    pairs = list(zip(questions, opened, strict=True))
    direct = [(question, row) for question, row in pairs if not row.waiting]
    with gateway.chunk([question.call for question, _ in direct]):
        await all_of(one(question, row) for question, row in direct)
    return ends + Counter({WAITING: len(pairs) - len(direct)})


async def all_of(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Do everything at once to its end, then raise the first error if there was one.

    `asyncio.gather` alone would leave the others running, unawaited, after an error.
    """
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return cast(list[T], results)
