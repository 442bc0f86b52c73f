"""The database's side of batches: planned with their calls, claimed, and ended with their answers.

Whatever is done at a provider is written here first (what shall be done) or right after (the id
it got), each in a transaction of its own.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from judge_gym.llm.attempts import (
    AttemptError,
    attempt_error,
    discarded,
    nothing_but_thought,
    over_limit,
)
from judge_gym.llm.capabilities import Request
from judge_gym.llm.ledger import CLOSED, answered
from judge_gym.records.calls import Answer, Failure
from judge_gym.store.recordset import packed
from judge_gym.store.tables import OPEN_BATCHES, Batch, Call

if TYPE_CHECKING:  # it imports litellm
    from judge_gym.llm.client_batches import ProviderBatch

_IS_OPEN = Batch.status.in_(OPEN_BATCHES)


def plan(engine: sa.Engine, provider: str, model: str, call_ids: Sequence[int]) -> int | None:
    """Write a batch and link its calls; returns its id, None when no call is free any more.

    A call that another process has sent or planned meanwhile is left to that one.
    """
    free = (
        sa.select(Call.id)
        .where(Call.id.in_(call_ids), Call.batch_id.is_(None), Call.status == "planned")
        .order_by(Call.id)
        .with_for_update()
    )
    with engine.begin() as connection:
        linked = connection.scalars(free).all()
        if not linked:
            return None
        batch_id = connection.execute(
            sa.insert(Batch)
            .values(
                key=uuid.uuid4().hex,
                provider=provider,
                model=model,
                status="planned",
                calls=len(linked),
            )
            .returning(Batch.id)
        ).scalar_one()
        connection.execute(
            sa.update(Call).where(Call.id.in_(linked)).values(batch_id=batch_id, route="batch")
        )
    return int(batch_id)


@contextmanager
def claimed(engine: sa.Engine, batch_id: int) -> Iterator[Any]:
    """Hold an open batch against other processes; its row, None when it is theirs or has ended.

    The lock belongs to a connection of its own and goes with it, however this process ends.
    """
    lock = sa.func.hashtextextended(sa.literal("llm_batches"), batch_id)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if not connection.scalar(sa.select(sa.func.pg_try_advisory_lock(lock))):
            yield None
            return
        try:
            yield connection.execute(
                sa.select(Batch.__table__).where(Batch.id == batch_id, _IS_OPEN)
            ).one_or_none()
        finally:
            connection.execute(sa.select(sa.func.pg_advisory_unlock(lock)))


def open_ids(engine: sa.Engine) -> Sequence[int]:
    """Return the ids of the batches that have not ended, the oldest first."""
    with engine.connect() as connection:
        return connection.scalars(sa.select(Batch.id).where(_IS_OPEN).order_by(Batch.id)).all()


def calls_of(engine: sa.Engine, batch_id: int) -> Sequence[Any]:
    """Return id, messages and parameters, asked and as sent, of a batch's calls, by id."""
    columns = (Call.id, Call.messages, Call.parameters, Call.sent_parameters)
    with engine.connect() as connection:
        chosen = sa.select(*columns).where(Call.batch_id == batch_id).order_by(Call.id)
        return connection.execute(chosen).all()


def call_ids_of(engine: sa.Engine, batch_id: int) -> set[int]:
    """Return the ids of a batch's calls."""
    with engine.connect() as connection:
        return set(connection.scalars(sa.select(Call.id).where(Call.batch_id == batch_id)))


def uploaded(engine: sa.Engine, batch_id: int, file_id: str) -> None:
    """Note the input file."""
    with engine.begin() as connection:
        connection.execute(_change(batch_id, input_file_id=file_id))


def submitted(engine: sa.Engine, batch_id: int, theirs: "ProviderBatch") -> None:
    """Note what the provider calls it; from here on its calls count as sent."""
    with engine.begin() as connection:
        changed = connection.execute(
            _change(
                batch_id,
                status="submitted",
                provider_batch_id=theirs.id,
                input_file_id=theirs.input_file_id,
                submitted_at=sa.func.now(),
                error=None,
            ).where(Batch.status == "planned")
        )
        if changed.rowcount:
            connection.execute(
                sa.update(Call)
                .where(Call.batch_id == batch_id, Call.status == "planned")
                .values(status="sent", attempts=Call.attempts + 1, sent_at=sa.func.now())
            )


def polled(engine: sa.Engine, batch_id: int, status: str) -> None:
    """Note that the provider was asked and the batch is still open."""
    with engine.begin() as connection:
        connection.execute(_change(batch_id, status=status, error=None, polled_at=sa.func.now()))


def unreachable(engine: sa.Engine, batch_id: int, error: str) -> None:
    """Note why nothing could be learnt of an open batch."""
    with engine.begin() as connection:
        connection.execute(_change(batch_id, error=error, polled_at=sa.func.now()))


def ended(
    engine: sa.Engine,
    batch_id: int,
    status: str,
    outcomes: Mapping[int, Answer | Failure],
    otherwise: str,
    theirs: "ProviderBatch | None" = None,
) -> None:
    """End a batch: its answers go into the ledger, its other calls are open again, in one commit.

    A call without an outcome gets `otherwise` as its error. An answer that is empty or cut is kept
    among the errors of its call. Calls that a cancelled batch leaves open are cancelled.
    """
    left_open = "cancelled" if status == "cancelled" else "planned"
    with engine.begin() as connection:
        now = connection.scalar(sa.select(sa.func.now()))
        sent = sa.select(Call.id, sa.func.coalesce(Call.sent_parameters, Call.parameters))
        limits = {
            call_id: Request(parameters).limit
            for call_id, parameters in connection.execute(
                sent.where(Call.batch_id == batch_id).order_by(Call.id).with_for_update()
            )
        }
        ids = list(limits)
        answers, errors = _told_apart(limits, outcomes, attempt_error("unanswered", otherwise))
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
                error=None if status == "completed" else otherwise,
            )
        )
        if changed.rowcount and ids:
            ends = (
                {"id": one, "errors": [], "finished_at": now} | answered(answers[one])
                if one in answers
                else {"id": one, "errors": [errors[one]], "status": left_open}
                for one in ids
            )
            connection.execute(CLOSED, packed(ends))


def _change(batch_id: int, **values: Any) -> sa.Update:
    return sa.update(Batch).where(Batch.id == batch_id, _IS_OPEN).values(values)


def _told_apart(
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
            errors[call_id] = over_limit(message, limit, outcome.cost_usd)
        elif unusable := discarded(outcome):
            errors[call_id] = {**unusable, "cost_usd": outcome.cost_usd}
        else:
            answers[call_id] = outcome
    return answers, errors
