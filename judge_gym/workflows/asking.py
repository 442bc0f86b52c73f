"""Asking a chunk of calls at once, and turning outcomes into rows."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from judge_gym.llm.calls import Answer, Call, Failure, Row, is_simulated

if TYPE_CHECKING:
    from judge_gym.llm.gateway import Gateway

Values = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """A call, the table its outcome belongs to, and how the outcome becomes that table's row."""

    call: Call
    table: Any
    read: Callable[[Answer | Failure], Values]
    """Outcome → column values, `status` among them; the call's id and simulated flag are added."""


async def ask_all(gateway: "Gateway", questions: Sequence[Question]) -> Counter[str]:
    """Ask everything at once (the gate bounds what is in flight); returns how each one ended.

    When one question stops the run, the others are awaited first, so that no answer that is on
    its way gets lost.
    """
    calls = [question.call for question in questions]
    opened = await gateway.open(calls)
    ends: Counter[str] = Counter()

    async def one(question: Question, row: Any) -> None:
        def derive(call_id: int, outcome: Answer | Failure) -> list[Row]:
            values = question.read(outcome)
            ends[values["status"]] += 1
            simulated = is_simulated(question.call, outcome)
            return [Row(question.table, {**values, "simulated": simulated, "call_id": call_id})]

        await gateway.ask(question.call, derive, row)

    pairs = zip(questions, opened, strict=True)
    with gateway.chunk(calls):
        await all_of(one(question, row) for question, row in pairs)
    return ends


async def all_of(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Do everything at once to its end, then raise the first error if there was one.

    `asyncio.gather` alone would leave the others running, unawaited, after an error.
    """
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return cast(list[T], results)
