"""Batches of calls: planned with their calls, locked, and ended with their answers.

A step at a provider is written here before it (what will be done) or right after (the id that
it got), each in a transaction of its own.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import accumulate
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.records.attempts import (
    AttemptError,
    attempt_error,
    discarded,
    nothing_but_thought,
    over_limit,
)
from judge_gym.records.batches import BatchCall, ProviderBatch, StoredBatch
from judge_gym.records.calls import Answer, Failure, Request
from judge_gym.store import tables as t
from judge_gym.store.bulk import packed, recordset
from judge_gym.store.calls import answer_columns
from judge_gym.store.ledger import CLOSED, NOTED
from judge_gym.store.spending import Scope, calls_of

_OPEN = t.Batch.status.in_(t.OPEN_BATCHES)
_GIVEN = recordset(t.Call)
_BODIES = sa.update(t.Call).where(t.Call.id == _GIVEN.c.id).values(sent_body=_GIVEN.c.sent_body)
_COLUMNS = [getattr(t.Batch, field.name) for field in fields(StoredBatch)]


def batches(session: Session, *, ended: bool) -> list[StoredBatch]:
    """Return the open batches, with `ended` all batches; newest first."""
    query = sa.select(*_COLUMNS).order_by(t.Batch.id.desc())
    rows = session.execute(query if ended else query.where(_OPEN))
    return [StoredBatch(*row) for row in rows]


def waiting(session: Session, scope: Scope) -> dict[str, int]:
    """Return workflow → how many of a sweep's calls wait in batches."""
    rows = session.execute(
        sa.select(t.Call.workflow, sa.func.count())
        .join(t.Batch, t.Batch.id == t.Call.batch_id)
        .where(_OPEN, calls_of(scope))
        .group_by(t.Call.workflow)
    )
    return dict(rows.tuples().all())


@dataclass(frozen=True)
class SentDirectly:
    """Calls that were sent directly although their provider takes batches."""

    unanswered: int
    """Those that a batch did not answer."""
    unbatched: int
    """Those that were in no batch, because they were too few."""


def sent_directly(
    session: Session, scope: Scope, providers: Sequence[str], since: datetime
) -> SentDirectly:
    """Count a sweep's calls to providers with batches that were sent directly since a time."""
    # A batch submits its calls before it ends.
    again = sa.and_(t.Call.batch_id.is_not(None), t.Call.sent_at > t.Batch.ended_at)
    unanswered, unbatched = session.execute(
        sa.select(
            sa.func.count().filter(again),
            sa.func.count().filter(t.Call.batch_id.is_(None)),
        )
        .join_from(t.Call, t.Batch, t.Batch.id == t.Call.batch_id, isouter=True)
        .where(calls_of(scope), t.Call.provider.in_(providers), t.Call.sent_at >= since)
    ).one()
    return SentDirectly(unanswered, unbatched)


def plan(engine: sa.Engine, provider: str, model: str, call_ids: Sequence[int]) -> int | None:
    """Write a batch and link its calls; returns its id, None when no call is free any more.

    Calls that another process has sent or batched meanwhile are left out.
    """
    free = (
        sa.select(t.Call.id)
        .where(t.Call.id.in_(call_ids), t.Call.batch_id.is_(None), t.Call.status == "planned")
        .order_by(t.Call.id)
        .with_for_update()
    )
    with engine.begin() as connection:
        linked = connection.scalars(free).all()
        return _added(connection, provider, model, linked) if linked else None


def _added(
    connection: sa.Connection,
    provider: str,
    model: str,
    call_ids: Sequence[int],
    why: str | None = None,
) -> int:
    """Write a planned batch of these calls; returns its id."""
    batch_id = connection.execute(
        sa.insert(t.Batch)
        .values(
            key=uuid.uuid4().hex,
            provider=provider,
            model=model,
            status="planned",
            calls=len(call_ids),
            error=why,
        )
        .returning(t.Batch.id)
    ).scalar_one()
    connection.execute(
        sa.update(t.Call)
        .where(t.Call.id.in_(call_ids))
        .values(batch_id=batch_id, route="batch", status="planned")
    )
    return int(batch_id)


def replaced(engine: sa.Engine, batch: StoredBatch, sizes: Sequence[int], why: str) -> list[int]:
    """End a batch of which its provider has executed nothing, and plan its calls in new ones.

    `sizes` are those of the new batches, in the order of the calls. Calls beyond them are as if
    they had never been in a batch. Returns the ids of the new batches.
    """
    with engine.begin() as connection:
        return _replaced(connection, batch, sizes, why)


def _replaced(
    connection: sa.Connection, batch: StoredBatch, sizes: Sequence[int], why: str
) -> list[int]:
    calls = sa.select(t.Call.id).where(t.Call.batch_id == batch.id).order_by(t.Call.id)
    now = connection.scalar(sa.select(sa.func.now()))
    ended = _change(
        batch.id, status="failed", ended_at=now, polled_at=now, failed=batch.calls, error=why
    )
    if not connection.execute(ended).rowcount:
        return []
    ids = connection.scalars(calls.with_for_update()).all()
    if batch.submitted_at is not None:  # they were sent
        records = ({"id": one, "errors": [attempt_error("unanswered", why)]} for one in ids)
        connection.execute(NOTED, packed(records))
    released = {"batch_id": None, "route": "direct", "status": "planned"}
    connection.execute(sa.update(t.Call).where(t.Call.id.in_(ids)).values(released))
    starts = accumulate(sizes, initial=0)
    return [
        _added(connection, batch.provider, batch.model, ids[start : start + size], why)
        for start, size in zip(starts, sizes, strict=False)
    ]


def others_at_work(engine: sa.Engine, batch: StoredBatch) -> bool:
    """Whether the provider works on another batch of the same model."""
    with engine.connect() as connection:
        return _others_at_work(connection, batch)


def _others_at_work(connection: sa.Connection, batch: StoredBatch) -> bool:
    others = sa.select(t.Batch.id).where(
        t.Batch.provider == batch.provider,
        t.Batch.model == batch.model,
        t.Batch.id != batch.id,
        t.Batch.status.in_(("submitted", "cancelling")),
    )
    return bool(connection.scalar(sa.select(others.exists())))


def put_off(engine: sa.Engine, batch: StoredBatch, why: str) -> bool:
    """Plan the calls of a batch once more, to be sent when others end, while there are others.

    Returns whether there are. Of batches that fail at the same moment, one finds no other at work:
    were each put off for the sake of the other, none would ever be made smaller.
    """
    turn = sa.func.hashtextextended(f"{batch.provider} {batch.model}", 0)
    with engine.begin() as connection:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(turn)))
        if not _others_at_work(connection, batch):
            return False
        _replaced(connection, batch, (batch.calls,), why)
        return True


def sent_before(engine: sa.Engine, batch: StoredBatch) -> bool:
    """Whether calls of a planned batch were sent in a batch that was not executed."""
    sent = sa.select(t.Call.id).where(t.Call.batch_id == batch.id, t.Call.attempts > 0)
    with engine.connect() as connection:
        return bool(connection.scalar(sa.select(sent.exists())))


@contextmanager
def locked(engine: sa.Engine, batch_id: int) -> Iterator[StoredBatch | None]:
    """Lock an open batch; yields None when another process has it or it has ended.

    The lock belongs to an open transaction of a connection of its own, as in
    `judge_gym.store.locks`, and ends with it, however this process ends.
    """
    lock = sa.func.hashtextextended(sa.literal("llm_batches"), batch_id)
    with engine.connect() as connection:
        if not connection.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(lock))):
            yield None
            return
        with engine.connect() as reading:
            row = reading.execute(
                sa.select(*_COLUMNS).where(t.Batch.id == batch_id, _OPEN)
            ).one_or_none()
        yield None if row is None else StoredBatch(*row)


def open_ids(engine: sa.Engine) -> Sequence[int]:
    """Return the ids of the batches that have not ended, the oldest first."""
    with engine.connect() as connection:
        return connection.scalars(sa.select(t.Batch.id).where(_OPEN).order_by(t.Batch.id)).all()


def calls_of_batch(engine: sa.Engine, batch_id: int) -> list[BatchCall]:
    """Return a batch's calls, by id."""
    columns = (t.Call.id, t.Call.messages, t.Call.parameters, t.Call.sent_parameters)
    with engine.connect() as connection:
        chosen = sa.select(*columns).where(t.Call.batch_id == batch_id).order_by(t.Call.id)
        return [BatchCall(*row) for row in connection.execute(chosen)]


def keys_of_batch(engine: sa.Engine, batch_id: int) -> dict[int, str]:
    """Return the keys of a batch's calls, by id."""
    query = sa.select(t.Call.id, t.Call.key).where(t.Call.batch_id == batch_id)
    with engine.connect() as connection:
        return dict(connection.execute(query).tuples().all())


def other_ids(engine: sa.Engine, batch: StoredBatch) -> frozenset[str]:
    """Return the ids that the provider gave other batches."""
    known = sa.select(t.Batch.provider_batch_id).where(
        t.Batch.provider == batch.provider,
        t.Batch.id != batch.id,
        t.Batch.provider_batch_id > "",
    )
    with engine.connect() as connection:
        return frozenset(connection.scalars(known))


def announced(
    engine: sa.Engine, batch_id: int, bodies: Mapping[int, Mapping[str, Any]], file_id: str | None
) -> None:
    """Store that a batch is about to be created, from this input file if it has one.

    `bodies` are those of its calls, without the messages.
    """
    with engine.begin() as connection:
        connection.execute(_change(batch_id, input_file_id=file_id, requested_at=sa.func.now()))
        rows = ({"id": call_id, "sent_body": body} for call_id, body in bodies.items())
        connection.execute(_BODIES, packed(rows))


def refused(engine: sa.Engine, batch_id: int) -> None:
    """Store that the provider has not created a batch."""
    with engine.begin() as connection:
        connection.execute(_change(batch_id, requested_at=None))


def submitted(engine: sa.Engine, batch_id: int, theirs: ProviderBatch) -> None:
    """Store the provider's id of a batch; from here on its calls count as sent."""
    with engine.begin() as connection:
        changed = connection.execute(
            _change(
                batch_id,
                status="submitted",
                provider_batch_id=theirs.id,
                input_file_id=theirs.input_file_id,
                submitted_at=sa.func.now(),
                error=None,
            ).where(t.Batch.status == "planned")
        )
        if changed.rowcount:
            connection.execute(
                sa.update(t.Call)
                .where(t.Call.batch_id == batch_id, t.Call.status == "planned")
                .values(status="sent", attempts=t.Call.attempts + 1, sent_at=sa.func.now())
            )


def polled(engine: sa.Engine, batch_id: int, status: str) -> None:
    """Store the status of a batch that is still open."""
    with engine.begin() as connection:
        connection.execute(_change(batch_id, status=status, error=None, polled_at=sa.func.now()))


def unreachable(engine: sa.Engine, batch_id: int, error: str) -> None:
    """Store why the status of an open batch is unknown."""
    with engine.begin() as connection:
        connection.execute(_change(batch_id, error=error, polled_at=sa.func.now()))


def ended(
    engine: sa.Engine,
    batch_id: int,
    status: str,
    outcomes: Mapping[int, Answer | Failure],
    otherwise: str,
    theirs: ProviderBatch | None = None,
) -> None:
    """End a batch: its answers go into the ledger, its other calls are open again, in one commit.

    A call without an outcome gets `otherwise` as its error. An answer that is empty or cut is kept
    among the errors of its call. Calls that a cancelled batch leaves open are cancelled. A batch
    that completed without a usable answer has failed.
    """
    left_open = "cancelled" if status == "cancelled" else "planned"
    with engine.begin() as connection:
        now = connection.scalar(sa.select(sa.func.now()))
        sent = sa.select(
            t.Call.id,
            sa.func.coalesce(t.Call.sent_parameters, t.Call.parameters).label("parameters"),
            t.Call.sent_body,
        )
        calls = connection.execute(
            sent.where(t.Call.batch_id == batch_id).order_by(t.Call.id).with_for_update()
        ).all()
        limits = {call.id: Request(call.parameters).limit for call in calls}
        answers, errors = _sorted_outcomes(limits, outcomes, attempt_error("unanswered", otherwise))
        if status == "completed" and not answers:
            status, otherwise = "failed", "the batch ended without a usable answer"
        if status == "completed":
            otherwise = _commonest(errors.values())
        changed = connection.execute(
            _change(
                batch_id,
                status=status,
                ended_at=now,
                polled_at=now,
                answered=len(answers),
                failed=len(errors),
                output_file_id=theirs and theirs.output_file_id,
                error_file_id=theirs and theirs.error_file_id,
                error=otherwise or None,
            )
        )
        if changed.rowcount and calls:
            ends = (
                (
                    {"errors": [], "finished_at": now} | answer_columns(answers[call.id])
                    if call.id in answers
                    else {"errors": [errors[call.id]], "status": left_open}
                )
                | {"id": call.id, "sent_body": call.sent_body}
                for call in calls
            )
            connection.execute(CLOSED, packed(ends))


def _commonest(errors: Iterable[AttemptError]) -> str:
    """Return the message that most errors have, with how many; empty without errors."""
    counts = Counter(error["message"] for error in errors)
    return next((f"{count} failed: {said}" for said, count in counts.most_common(1)), "")


def _change(batch_id: int, **values: Any) -> sa.Update:
    return sa.update(t.Batch).where(t.Batch.id == batch_id, _OPEN).values(values)


def _sorted_outcomes(
    limits: Mapping[int, int], outcomes: Mapping[int, Answer | Failure], missing: AttemptError
) -> tuple[dict[int, Answer], dict[int, AttemptError]]:
    """Return the answers to keep, and the errors of the other calls; `limits` are of output."""
    answers: dict[int, Answer] = {}
    errors: dict[int, AttemptError] = {}
    for call_id, limit in limits.items():
        outcome = outcomes.get(call_id)
        if outcome is None:
            errors[call_id] = missing
        elif isinstance(outcome, Failure):
            errors[call_id] = attempt_error(outcome.kind, outcome.message)
        elif nothing_but_thought(outcome):
            message = f"the output limit of {limit} tokens was used up before the answer began"
            errors[call_id] = over_limit(message, limit, outcome)
        elif unusable := discarded(outcome):
            errors[call_id] = {**unusable, "cost_usd": outcome.cost_usd}
        else:
            answers[call_id] = outcome
    return answers, errors
