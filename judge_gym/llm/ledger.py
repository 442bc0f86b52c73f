"""The ledger's writer: one transaction at a time, holding whatever has gathered meanwhile.

While one group is being written the next gathers, so the cost of a commit is shared by as many
calls as are in flight and nothing waits for a timer. A caller goes on only when its change is
on disk.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, insert

from judge_gym.llm.calls import Answer, Call, Failure, Row
from judge_gym.store.tables import Call as CallRow

AttemptError = dict[str, Any]


@dataclass(frozen=True)
class Opened:
    """A call's row before it is sent; with the answer, when the ledger already has one."""

    id: int
    answer: Answer | None


@dataclass(frozen=True)
class Sent:
    call_id: int
    at: datetime


@dataclass(frozen=True)
class Closed:
    """How a call ended, and the rows to commit with that."""

    call_id: int
    outcome: Answer | Failure
    errors: Sequence[AttemptError]
    rows: Sequence[Row]
    at: datetime


@dataclass(frozen=True)
class Derived:
    """Rows that follow from an answer the ledger already held."""

    rows: Sequence[Row]


Change = Sent | Closed | Derived


@dataclass
class _Group:
    changes: list[Change] = field(default_factory=list)
    done: list[asyncio.Future[None]] = field(default_factory=list)


class Ledger:
    """Writes the ledger and the rows derived from answers; belongs to one event loop."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._gathering = _Group()
        self._writer: asyncio.Task[None] | None = None

    async def open(self, calls: Sequence[Call], provider: str) -> list[Opened]:
        """Write the rows of calls about to be made; each key has one row, ever."""
        return await asyncio.to_thread(self._open, calls, provider)

    async def write(self, change: Change) -> None:
        """Commit a change, together with all that gathered; raises what the database raises."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._gathering.changes.append(change)
        self._gathering.done.append(future)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._drain())
        await future

    async def _drain(self) -> None:
        while self._gathering.changes:
            group, self._gathering = self._gathering, _Group()
            errors = await asyncio.to_thread(self._commit_each, group.changes)
            for future, error in zip(group.done, errors, strict=True):
                if future.done():  # its caller was cancelled
                    continue
                if error is None:
                    future.set_result(None)
                else:
                    future.set_exception(error)

    def _open(self, calls: Sequence[Call], provider: str) -> list[Opened]:
        # In one order everywhere, so that two processes that plan the same work cannot deadlock.
        values = sorted((_planned(call, provider) for call in calls), key=lambda row: row["key"])
        statement = insert(CallRow)
        # An answered call is left as it is; any other is planned again under its old row.
        statement = statement.on_conflict_do_update(
            index_elements=["key"],
            set_={column: statement.excluded[column] for column in values[0] if column != "key"},
            where=CallRow.status != "succeeded",
        )
        with self._engine.begin() as connection:
            connection.execute(statement, values)
            found = connection.execute(
                sa.select(CallRow).where(CallRow.key.in_([call.key for call in calls]))
            ).all()
        by_key = {row.key: Opened(row.id, _stored_answer(row)) for row in found}
        return [by_key[call.key] for call in calls]

    def _commit_each(self, changes: Sequence[Change]) -> list[Exception | None]:
        """Commit all in one transaction; if one of them cannot be, the others are not lost."""
        try:
            self._commit(changes)
        except sa.exc.OperationalError as error:  # the database is at fault, not a change
            return [error] * len(changes)
        except Exception as error:
            if len(changes) == 1:
                return [error]
            return [self._commit_each([change])[0] for change in changes]
        return [None] * len(changes)

    def _commit(self, changes: Sequence[Change]) -> None:
        changes = sorted(changes, key=_lock_order)
        sent = [change for change in changes if isinstance(change, Sent)]
        closed = [change for change in changes if isinstance(change, Closed)]
        with self._engine.begin() as connection:
            if sent:
                connection.execute(_SENT, [vars(change) for change in sent])
            if closed:
                connection.execute(_CLOSED, [_outcome(change) for change in closed])
            for (table, _), values in _by_table(changes).items():
                # The natural key decides: whoever wrote the row first keeps it.
                connection.execute(insert(table).on_conflict_do_nothing(), values)


def _lock_order(change: Change) -> int:
    return 0 if isinstance(change, Derived) else change.call_id


# An answer stays as it is, whoever sends the same call again: rows were derived from it.
_OPEN_CALL = sa.and_(CallRow.id == sa.bindparam("call_id"), CallRow.status != "succeeded")
_SENT = (
    sa.update(CallRow)
    .where(_OPEN_CALL)
    .values(status="sent", attempts=CallRow.attempts + 1, sent_at=sa.bindparam("at"))
)
_OUTCOME_COLUMNS = (
    "status",
    "answer",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
    "latency_ms",
    "simulated",
    "finished_at",
)
_COLUMNS = sa.inspect(CallRow).columns
_CLOSED = (
    sa.update(CallRow)
    .where(_OPEN_CALL)
    .values(
        {name: sa.bindparam(f"new_{name}", type_=_COLUMNS[name].type) for name in _OUTCOME_COLUMNS}
        | {"errors": CallRow.errors.op("||")(sa.bindparam("new_errors", type_=JSONB))}
    )
)


def _by_table(
    changes: Sequence[Change],
) -> dict[tuple[Any, frozenset[str]], list[dict[str, Any]]]:
    """Group derived rows by table and columns: an INSERT of many takes the first row's columns."""
    grouped: dict[tuple[Any, frozenset[str]], list[dict[str, Any]]] = defaultdict(list)
    for change in changes:
        for row in () if isinstance(change, Sent) else change.rows:
            grouped[row.table, frozenset(row.values)].append(row.values)
    return grouped


def _planned(call: Call, provider: str) -> dict[str, Any]:
    return {
        "key": call.key,
        "workflow": call.workflow,
        "agent": call.agent,
        "provider": provider,
        "model": call.model,
        "experiment_id": call.experiment_id,
        "messages": list(call.prompt.messages),
        "template": call.prompt.template,
        "template_hash": call.prompt.template_hash,
        "parameters": call.parameters.sent(),
        "status": "planned",
    }


def _outcome(change: Closed) -> dict[str, Any]:
    answer = change.outcome if isinstance(change.outcome, Answer) else None
    return {
        "call_id": change.call_id,
        "new_status": "succeeded" if answer else "failed",
        "new_errors": list(change.errors),
        "new_answer": answer.text if answer else None,
        "new_finish_reason": answer.finish_reason if answer else None,
        "new_prompt_tokens": answer.prompt_tokens if answer else None,
        "new_completion_tokens": answer.completion_tokens if answer else None,
        "new_cost_usd": answer.cost_usd if answer else None,
        "new_latency_ms": answer.latency_ms if answer else None,
        "new_simulated": answer.simulated if answer else None,
        "new_finished_at": change.at,
    }


def _stored_answer(row: Any) -> Answer | None:
    if row.status != "succeeded":
        return None
    return Answer(
        text=row.answer,
        finish_reason=row.finish_reason,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        cost_usd=None if row.cost_usd is None else float(row.cost_usd),
        latency_ms=row.latency_ms,
        simulated=row.simulated,
    )


def now() -> datetime:
    return datetime.now(UTC)
