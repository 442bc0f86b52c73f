"""Decisions of people: costs and rubrics that they approved, and which judges they keep."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import tables as t
from judge_gym.store.bulk import among

SpendingDecision = Literal["approve", "refuse"]
ReviewDecision = Literal["keep", "reconsider"]


@dataclass(frozen=True)
class Decided:
    """A decision, who made it and why."""

    decision: str
    person: str
    reason: str
    at: datetime


def save_spending(
    session: Session,
    subject: str,
    decision: SpendingDecision,
    person: str,
    reason: str,
    details: Mapping[str, Any],
) -> None:
    """Store that a person approved or refused what a sweep or a study of judges still spends."""
    _save(session, t.SPENDING, subject, decision, person, reason, details)


@dataclass(frozen=True)
class Approved:
    """What people approved to spend on a subject so far."""

    usd: float = 0.0
    """The highest sum, US dollars spent before included."""
    unpriced: frozenset[str] = frozenset()
    """Models without a price whose cost was approved as unknown."""


def approved(session: Session, subject: str) -> Approved:
    """Return what people approved to spend on a subject so far."""
    details = session.scalars(
        sa.select(t.Decision.details).where(
            t.Decision.kind == t.SPENDING,
            t.Decision.subject == subject,
            t.Decision.decision == "approve",
        )
    ).all()
    return Approved(
        max((float(one["approved_usd"]) for one in details), default=0.0),
        frozenset(model for one in details for model in one["unpriced"]),
    )


def save_reading(
    session: Session,
    rubric_key: str,
    decision: SpendingDecision,
    person: str,
    reason: str,
    details: Mapping[str, Any],
) -> None:
    """Store that a person approved or refused a rubric, which holds for whatever applies it.

    A refused one is no longer `ready`, until somebody approves it.
    """
    _save(session, t.READING, rubric_key, decision, person, reason, details)
    failure = f"refused by {person}{f': {reason}' if reason else ''}"
    refused = {"status": "refused", "failure": failure}
    session.execute(
        sa.update(t.Rubric)
        .where(t.Rubric.key == rubric_key)
        .values(refused if decision == "refuse" else {"status": "ready", "failure": None})
    )


def readings(session: Session, rubric_keys: Iterable[str]) -> dict[str, Decided]:
    """Return rubric key → the newest decision of a person who read it."""
    rows = session.scalars(
        sa.select(t.Decision)
        .where(t.Decision.kind == t.READING, among(t.Decision.subject, rubric_keys))
        .order_by(t.Decision.id)
    )
    return {row.subject: _decided(row) for row in rows}


def _decided(row: t.Decision) -> Decided:
    return Decided(row.decision, row.person, row.reason, row.created_at.astimezone(UTC))


def decisions_in(session: Session, flow_run: str) -> int:
    """Return how many decisions were made in a flow run."""
    made = t.Decision.details["flow_run"].astext == flow_run
    return session.scalar(sa.select(sa.func.count()).where(made)) or 0


def save_review(
    session: Session,
    review: str,
    judge_id: int,
    decision: ReviewDecision,
    person: str,
    reason: str,
    details: Mapping[str, Any],
) -> None:
    """Store that a person keeps a judge in use, or reconsiders it, after a review."""
    _save(session, t.REVIEW, review, decision, person, reason, details, judge_id)


def review_decisions(session: Session, day: date) -> dict[tuple[str, int], Decided]:
    """Return (review, judge in use) → the newest decision about it after the reviews of a day."""
    rows = session.scalars(
        sa.select(t.Decision)
        .where(t.Decision.kind == t.REVIEW, t.Decision.details["day"].astext == day.isoformat())
        .order_by(t.Decision.id)
    )
    return {(row.subject, row.judge_id): _decided(row) for row in rows if row.judge_id is not None}


GATE = "judge gate"
"""What decisions about a judge after its gate are about, where after a review its name stands."""


@dataclass(frozen=True)
class Kept:
    """That a person kept a judge after the review of a day: later reviews count from it."""

    day: date
    person: str
    look: str = ""
    """After a gate, the `review_day` of the answers that were kept."""


def last_kept(
    session: Session,
    review: str,
    judge_id: int,
    before: date,
    looks: Collection[str] | None = None,
) -> Kept | None:
    """Return the newest review before a day after which a person kept a judge; None without one.

    Of several decisions about one day the newest counts. Of a gate, only decisions about its own
    `looks`, by their `review_day`.
    """
    rows = session.scalars(
        sa.select(t.Decision)
        .where(t.Decision.kind == t.REVIEW, t.Decision.subject == review)
        .where(t.Decision.judge_id == judge_id)
        .order_by(t.Decision.id)
    )
    by_day = {
        date.fromisoformat(row.details["day"]): row
        for row in rows
        if looks is None or row.details.get("look") in looks
    }
    kept = [day for day, row in by_day.items() if row.decision == "keep" and day < before]
    if not kept:
        return None
    newest = by_day[max(kept)]
    return Kept(max(kept), newest.person, newest.details.get("look", ""))


def _save(
    session: Session,
    kind: str,
    subject: str,
    decision: str,
    person: str,
    reason: str,
    details: Mapping[str, Any],
    judge_id: int | None = None,
) -> None:
    session.add(
        t.Decision(
            kind=kind,
            subject=subject,
            judge_id=judge_id,
            decision=decision,
            person=person,
            reason=reason,
            details=dict(details),
        )
    )
