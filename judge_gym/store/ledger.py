"""The ledger's writer: one transaction at a time, with all changes that are waiting.

While one group is written the next one gathers: calls in flight share the cost of a commit, and
nothing waits for a timer. A caller continues only when its change is on disk.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import sqlalchemy as sa
import tenacity

from judge_gym.records.attempts import AT_MOST, UNKNOWN_OUTCOME, AttemptError
from judge_gym.records.calls import Answer, Call, DerivedRow, Failure, LedgerEntry, Request
from judge_gym.store.bulk import inserting, packed, recordset
from judge_gym.store.calls import ANSWER_COLUMNS, answer_columns, blank, opened_as
from judge_gym.store.engine import PATIENCE_S, database_failure
from judge_gym.store.migrate import check_schema
from judge_gym.store.tables import BY_NAME, OPEN_BATCHES, Batch
from judge_gym.store.tables import Call as CallRow

# A paid answer waits for a database that restarts.
_patiently = tenacity.retry(
    retry=tenacity.retry_if_exception(lambda error: database_failure(error) is not None),
    stop=tenacity.stop_after_delay(PATIENCE_S),
    wait=tenacity.wait_fixed(0.5),
    reraise=True,
)


Fit = Callable[[Call], Request]
"""A call → the request that its model takes."""


def _unfitted(call: Call) -> Request:
    return Request(call.parameters.asked())


@dataclass(frozen=True)
class Sent:
    call_id: int
    at: datetime
    request: Request
    at_most_usd: float | None = None
    """The most that it costs; None for a model without a price."""


@dataclass(frozen=True)
class Closed:
    """How a call ended, and the rows to commit with that.

    Without an outcome no further attempt is made in this run: the call is planned again.
    """

    call_id: int
    outcome: Answer | Failure | None
    errors: Sequence[AttemptError]
    rows: Sequence[DerivedRow]
    at: datetime


@dataclass(frozen=True)
class Noted:
    """What went wrong with a call that is given up while it may be in flight."""

    call_id: int
    errors: Sequence[AttemptError]


@dataclass(frozen=True)
class LedgerRows:
    """Rows derived from an answer that was already in the ledger."""

    rows: Sequence[DerivedRow]


Change = Sent | Closed | Noted | LedgerRows
OfCall = TypeVar("OfCall", Sent, Closed, Noted)


@dataclass
class _Group:
    changes: list[Change] = field(default_factory=list)
    done: list[asyncio.Future[None]] = field(default_factory=list)


class Ledger:
    """Writes the ledger and the rows derived from answers; belongs to one event loop.

    With `reuse_answers` a call is closed on opening if a byte-identical one has an answer.
    """

    def __init__(self, engine: sa.Engine, *, reuse_answers: bool = False) -> None:
        self._engine = engine
        self._reuse_answers = reuse_answers
        self._gathering = _Group()
        self._writer: asyncio.Task[None] | None = None

    async def open(
        self, calls: Sequence[Call], provider: str, fit: Fit = _unfitted
    ) -> list[LedgerEntry]:
        """Write the rows of calls about to be made; each key has one row, ever."""
        return await asyncio.to_thread(self._open, calls, provider, fit)

    async def write(self, change: Change) -> None:
        """Commit a change, with all others that wait; raises the database's errors."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._gathering.changes.append(change)
        self._gathering.done.append(future)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._drain())
        await future

    async def flush(self) -> None:
        """Wait until all changes are written, those of cancelled callers too."""
        if self._writer is not None:
            await self._writer

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

    @_patiently
    def _open(self, calls: Sequence[Call], provider: str, fit: Fit) -> list[LedgerEntry]:
        # In one order everywhere, so that two processes that plan the same work cannot deadlock.
        by_key = dict(
            sorted((call.key, self._planned(call, provider, fit(call))) for call in calls)
        )
        with self._engine.begin() as connection:
            # Nothing is spent by a program that does not know what its rows mean.
            check_schema(connection)
            connection.execute(_PLANNED, packed(by_key.values()))
            if self._reuse_answers:
                connection.execute(_REUSED, {"keys": list(by_key)})
            rows = connection.execute(_FOUND, {"keys": list(by_key)}).all()
        opened = {row.key: opened_as(row) for row in rows}
        return [opened[call.key] for call in calls]

    def _planned(self, call: Call, provider: str, request: Request) -> dict[str, Any]:
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
            "parameters": call.parameters.asked(),
            "sent_parameters": request.parameters,
            "not_applied": request.not_applied,
            # Without reuse every request has a seed of its own, and none is like another.
            "request_digest": call.request_digest if self._reuse_answers else None,
            "status": "planned",
            "route": "direct",
        }

    def _commit_each(self, changes: Sequence[Change]) -> list[Exception | None]:
        """Commit all in one transaction; if it fails, commit each change by itself."""
        try:
            self._commit(changes)
        except Exception as error:
            if database_failure(error) is not None:  # the database is at fault, not a change
                return [error] * len(changes)
            if len(changes) == 1:
                return [error]
            return [self._commit_each([change])[0] for change in changes]
        return [None] * len(changes)

    @_patiently
    def _commit(self, changes: Sequence[Change]) -> None:
        changes = sorted(changes, key=_lock_order)
        sent = [change for change in changes if isinstance(change, Sent)]
        closed = [change for change in changes if isinstance(change, Closed)]
        noted = [change for change in changes if isinstance(change, Noted)]
        with self._engine.begin() as connection:
            # In one order everywhere, so that two processes with the same calls cannot deadlock.
            if ids := [change.call_id for change in changes if not isinstance(change, LedgerRows)]:
                connection.execute(_LOCKED, {"ids": ids})
            for sendings in _each_call_once(sent):
                connection.execute(_SENT, packed(map(_sending, sendings)))
            for closings in _each_call_once(closed):
                connection.execute(CLOSED, packed(map(_outcome, closings)))
            for notes in _each_call_once(noted):
                connection.execute(
                    NOTED, packed({"id": one.call_id, "errors": one.errors} for one in notes)
                )
            for (table, columns), values in _by_table(changes).items():
                # The natural key decides: a row that exists is kept.
                statement = inserting(BY_NAME[table], columns).on_conflict_do_nothing()
                connection.execute(statement, packed(values))


def _lock_order(change: Change) -> int:
    return 0 if isinstance(change, LedgerRows) else change.call_id


def _each_call_once(changes: Sequence[OfCall]) -> list[list[OfCall]]:
    """Split changes of one kind, in order: a statement changes a row once at most."""
    parts: list[dict[int, OfCall]] = []
    for change in changes:
        part = next((part for part in parts if change.call_id not in part), None)
        if part is None:
            parts.append(part := {})
        part[change.call_id] = change
    return [list(part.values()) for part in parts]


_PLANNED_COLUMNS = (
    "key",
    "workflow",
    "agent",
    "provider",
    "model",
    "experiment_id",
    "messages",
    "template",
    "template_hash",
    "parameters",
    "sent_parameters",
    "not_applied",
    "request_digest",
    "status",
    "route",
)
_COLUMNS = sa.inspect(CallRow).columns
_INSERT = inserting(CallRow, _PLANNED_COLUMNS)
_WAITING = CallRow.batch_id.in_(sa.select(Batch.id).where(Batch.status.in_(OPEN_BATCHES)))
# Still stored as sent: the run that sent it has ended without storing what came of it.
_LOST = sa.func.jsonb_build_object(
    *("kind", UNKNOWN_OUTCOME, "at", CallRow.sent_at),
    *("message", "its run ended before the answer; it may have been billed"),
    *(AT_MOST, CallRow.at_most_usd),
)
_ERRORS = sa.case(
    (
        sa.and_(CallRow.status == "sent", CallRow.batch_id.is_(None)),
        CallRow.errors.op("||")(sa.func.jsonb_build_array(_LOST)),
    ),
    else_=CallRow.errors,
)
# A call answered or waiting in a batch is left as it is; any other is planned again under its row.
_PLANNED = _INSERT.on_conflict_do_update(
    index_elements=["key"],
    set_={name: _INSERT.excluded[name] for name in _PLANNED_COLUMNS if name != "key"}
    | {"errors": _ERRORS},
    where=sa.and_(CallRow.status != "succeeded", _WAITING.is_not(True)),
)
_OF_KEYS = CallRow.key == sa.any_(sa.bindparam("keys", type_=sa.ARRAY(sa.Text)))
_FOUND_COLUMNS = ("id", "key", "status", "errors", "batch_id", *ANSWER_COLUMNS)
_FOUND = sa.select(*(_COLUMNS[name] for name in _FOUND_COLUMNS), _WAITING.label("waiting")).where(
    _OF_KEYS
)
_OTHER = sa.orm.aliased(CallRow)
# The oldest answer: copies name the call that was sent, as long as the ledger has it. An answer
# without text is not copied.
_SOURCE = (
    sa.select(_OTHER)
    .distinct(_OTHER.request_digest)
    .where(
        _OTHER.status == "succeeded",
        ~blank(_OTHER),
        _OTHER.request_digest.in_(sa.select(CallRow.request_digest).where(_OF_KEYS)),
    )
    .order_by(_OTHER.request_digest, _OTHER.id)
    .subquery("source")
)
# A copy costs nothing and takes no time: it has neither a source of its cost nor a latency.
_OF_THE_CALL = ("cost_usd", "cost_source", "at_most_usd", "latency_ms")
_COPIED = (
    *(name for name in ANSWER_COLUMNS if name not in _OF_THE_CALL),
    "sent_parameters",
    "not_applied",
)
_REUSED = (
    sa.update(CallRow)
    .where(
        _OF_KEYS,
        CallRow.status != "succeeded",
        _WAITING.is_not(True),
        CallRow.request_digest == _SOURCE.c.request_digest,
    )
    .values(
        {name: _SOURCE.c[name] for name in _COPIED}
        | {"status": "succeeded", "route": "cache", "cost_usd": 0, "cached_from": _SOURCE.c.id}
        | {"finished_at": sa.func.now()}
    )
)
_LOCKED = (
    sa.select(CallRow.id)
    .where(CallRow.id == sa.any_(sa.bindparam("ids", type_=sa.ARRAY(sa.BigInteger))))
    .order_by(CallRow.id)
    .with_for_update(key_share=True)
)
_GIVEN = recordset(CallRow)
# An answer never changes, even if the call is sent again: rows were derived from it.
_CHANGE = sa.update(CallRow).where(CallRow.id == _GIVEN.c.id, CallRow.status != "succeeded")
_SENT = _CHANGE.values(
    {name: _GIVEN.c[name] for name in ("sent_at", "sent_parameters", "not_applied", "at_most_usd")}
    | {"status": "sent", "attempts": CallRow.attempts + 1}
)
NOTED = _CHANGE.values({"errors": CallRow.errors.op("||")(_GIVEN.c.errors)})
CLOSED = _CHANGE.values(
    {name: _GIVEN.c[name] for name in ("status", *ANSWER_COLUMNS, "finished_at")}
    | {"errors": CallRow.errors.op("||")(_GIVEN.c.errors)}
)


def _by_table(
    changes: Sequence[Change],
) -> dict[tuple[Any, tuple[str, ...]], list[dict[str, Any]]]:
    """Group derived rows by table and columns; the database sets the defaults of other columns."""
    grouped: dict[tuple[Any, tuple[str, ...]], list[dict[str, Any]]] = defaultdict(list)
    for change in changes:
        for row in change.rows if isinstance(change, Closed | LedgerRows) else ():
            grouped[row.table, tuple(sorted(row.values))].append(row.values)
    return grouped


def _sending(change: Sent) -> dict[str, Any]:
    return {
        "id": change.call_id,
        "sent_at": change.at,
        "sent_parameters": change.request.parameters,
        "not_applied": change.request.not_applied,
        "at_most_usd": change.at_most_usd,
    }


def _outcome(change: Closed) -> dict[str, Any]:
    row = {"id": change.call_id, "errors": change.errors, "finished_at": change.at}
    if change.outcome is None:
        return row | {"status": "planned", "finished_at": None}
    if isinstance(change.outcome, Failure):
        return {**row, "status": "failed", "sent_body": change.outcome.body}
    return row | answer_columns(change.outcome)


def now() -> datetime:
    return datetime.now(UTC)
