"""Reviews of judges in the database: what was found on a day, and on the days before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import tables as t


@dataclass(frozen=True)
class ReviewRow:
    """What a review found of a judge, or of an alternative to it; `figures` as they are stored."""

    review: str
    decision: str
    figures: Mapping[str, Any]
    recommendation: str
    reason: str
    simulated: bool


def earlier_reviews(
    session: Session, review: str, judge_id: int, corpus: str, before: date
) -> dict[date, dict[str, Any]]:
    """Return day → figures of a judge in the last review before a day and, after it, in the first.

    Of reviews of this name, on these texts; one where they are the same, none without any.
    """
    day = t.JudgeReview.reviewed_on
    chosen = (
        sa.select(day, t.JudgeReview.figures)
        .where(t.JudgeReview.review == review, t.JudgeReview.corpus == corpus, day < before)
        .where(t.JudgeReview.judge_id == judge_id, t.JudgeReview.alternative_id.is_(None))
        .limit(1)
    )
    ends = (session.execute(chosen.order_by(end)).all() for end in (day.desc(), day.asc()))
    return {row.reviewed_on: row.figures for rows in ends for row in rows}


def replace_reviews(
    session: Session, review: str, day: date, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Store what a review found on a day in place of what it had found on that day before."""
    session.execute(
        sa.delete(t.JudgeReview).where(
            t.JudgeReview.review == review, t.JudgeReview.reviewed_on == day
        )
    )
    common = {"review": review, "reviewed_on": day}
    session.execute(sa.insert(t.JudgeReview), [common | dict(row) for row in rows])


def reviews_of(session: Session, day: date) -> list[ReviewRow]:
    """Return what all reviews found on a day, each judge in use followed by its alternatives."""
    found = session.scalars(
        sa.select(t.JudgeReview)
        .where(t.JudgeReview.reviewed_on == day)
        .order_by(t.JudgeReview.review, t.JudgeReview.id)
    )
    return [
        ReviewRow(
            one.review, one.decision, one.figures, one.recommendation, one.reason, one.simulated
        )
        for one in found
    ]
