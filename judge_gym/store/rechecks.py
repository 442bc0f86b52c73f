"""Rechecks: the times that gates judged their sentinel sets again, by judge and set of texts."""

from dataclasses import dataclass
from datetime import date

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.store import tables as t


@dataclass(frozen=True)
class Recheck:
    """A time that a gate judged its sentinel set again."""

    review_day: str
    """That of its judgements: their key, which nothing is read from."""
    day: date | None = None
    """The day on which it began, of `--recheck`; None of one that another model began."""
    number: int = 1
    """Which one of the day."""

    @property
    def when(self) -> str:
        """The day, from the second one with its number; empty without a day."""
        if self.day is None:
            return ""
        return f"{self.day} #{self.number}" if self.number > 1 else str(self.day)


def rechecks(session: Session, judge_key: str, texts: str) -> list[Recheck]:
    """Return those of a judge and a set of texts, by their digest, that have a judgement.

    In the order in which they began.
    """
    row, result = t.GateRecheck, t.JudgeResult
    judged = sa.exists().where(result.judge_id == row.judge_id, result.review_day == row.review_day)
    rows = session.scalars(
        sa.select(row)
        .join(t.Judge, t.Judge.id == row.judge_id)
        .where(t.Judge.key == judge_key, row.texts_digest == texts, judged)
        .order_by(row.id)
    )
    return [Recheck(one.review_day, one.day, one.number) for one in rows]


def save_recheck(session: Session, judge_id: int, texts: str, recheck: Recheck) -> None:
    """Store one before its texts are judged; one that is there is resumed."""
    session.execute(
        insert(t.GateRecheck)
        .values(
            judge_id=judge_id,
            texts_digest=texts,
            review_day=recheck.review_day,
            day=recheck.day,
            number=recheck.number,
        )
        .on_conflict_do_nothing()
    )
