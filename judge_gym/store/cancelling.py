"""Cancelling calls that have no answer yet; a run that is started again asks for them again."""

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import tables as t
from judge_gym.store.selecting import Selection, calls

_IN_BATCHES = sa.select(t.Batch.id).where(t.Batch.status.in_(t.OPEN_BATCHES))


def without_answer(selection: Selection) -> sa.ColumnElement[bool]:
    """Return the condition that a call is chosen, planned or sent, and waits in no batch."""
    return (
        calls(selection)
        & t.Call.status.in_(("planned", "sent"))
        & t.Call.batch_id.in_(_IN_BATCHES).is_not(True)
    )


def cancel_calls(session: Session, selection: Selection) -> int:
    """Mark the calls without an answer as cancelled; returns how many there were.

    Those in batches are cancelled with their batch.
    """
    ids = session.scalars(
        sa.update(t.Call)
        .where(without_answer(selection))
        .values(status="cancelled", finished_at=sa.func.now())
        .returning(t.Call.id)
    ).all()
    return len(ids)
