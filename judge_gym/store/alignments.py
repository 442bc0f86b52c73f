"""Looks of alignments at their test sets: which texts are used up, when, and by which judge."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session, aliased

from judge_gym.store import tables as t


@dataclass(frozen=True)
class Look:
    """A look at a test set."""

    id: int
    alignment: str
    before: str
    """Key of the judge before."""
    chosen: str
    """Key of the candidate."""
    test_digest: str
    items_digest: str
    items: frozenset[str]
    """Keys of the texts that were looked at."""
    at: datetime


def looks(session: Session, *, simulated: bool) -> list[Look]:
    """Return the looks, of simulated or of real judges, the first first."""
    before, chosen = aliased(t.Judge), aliased(t.Judge)
    rows = session.execute(
        sa.select(t.AlignmentLook, before.key, chosen.key)
        .join(before, before.id == t.AlignmentLook.before_id)
        .join(chosen, chosen.id == t.AlignmentLook.chosen_id)
        .where(t.AlignmentLook.simulated == simulated)
        .order_by(t.AlignmentLook.id)
    )
    return [
        Look(
            row.id,
            row.alignment,
            before_key,
            chosen_key,
            row.test_digest,
            row.items_digest,
            frozenset(row.item_keys),
            row.created_at,
        )
        for row, before_key, chosen_key in rows
    ]


def lock_looks(session: Session) -> None:
    """Keep other processes from adding a look until the transaction ends."""
    session.execute(sa.text("LOCK TABLE alignment_looks IN SHARE ROW EXCLUSIVE MODE"))


def save_look(
    session: Session,
    *,
    alignment: str,
    before_id: int,
    chosen_id: int,
    test_digest: str,
    items_digest: str,
    items: Sequence[str],
    simulated: bool,
) -> None:
    """Store a look, before anything is judged for it."""
    session.add(
        t.AlignmentLook(
            alignment=alignment,
            before_id=before_id,
            chosen_id=chosen_id,
            test_digest=test_digest,
            items_digest=items_digest,
            item_keys=sorted(items),
            simulated=simulated,
        )
    )
    session.flush()
