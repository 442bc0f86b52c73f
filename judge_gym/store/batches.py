"""Batches for people to see: what is open, and how much of a sweep waits in them."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import tables as t
from judge_gym.store.spending import Scope, calls_of

_OPEN = t.Batch.status.in_(t.OPEN_BATCHES)


def batches(session: Session, *, ended: bool) -> Sequence[t.Batch]:
    """Return the batches that are open, and those that have ended when asked for; newest first."""
    query = sa.select(t.Batch).order_by(t.Batch.id.desc())
    return session.scalars(query if ended else query.where(_OPEN)).all()


def waiting(session: Session, scope: Scope) -> dict[str, int]:
    """Return workflow → how many of a sweep's calls wait in batches."""
    rows = session.execute(
        sa.select(t.Call.workflow, sa.func.count())
        .join(t.Batch, t.Batch.id == t.Call.batch_id)
        .where(_OPEN, calls_of(scope))
        .group_by(t.Call.workflow)
    )
    return dict(rows.tuples().all())
