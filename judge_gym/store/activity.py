"""What has been going on lately: answers a minute, lowered limits, failures by class."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.records.calls import RECOVERED, SHARED
from judge_gym.store import tables as t
from judge_gym.store.selecting import last_error
from judge_gym.store.spending import Scope, calls_of

RECENT = timedelta(minutes=5)
"""What counts as lately."""
LOWERED = timedelta(hours=1)
"""How long a lowered limit is shown that nobody has said to have recovered."""
SHORTEST = timedelta(seconds=10)
"""A rate is never reckoned over less: a first burst says little."""


@dataclass(frozen=True)
class Activity:
    """What a provider did for a sweep in the last `RECENT`."""

    provider: str
    ended: int
    """Calls that ended, with an answer or without; those in batches are left out."""
    per_minute: float
    in_flight: int
    """Calls sent and not ended. A killed run leaves its calls in flight stored as sent."""


@dataclass(frozen=True)
class LoweredLimit:
    """A process that has fewer requests in flight than it may, and since when."""

    provider: str
    process: str
    in_flight: int
    reason: str
    at: datetime


@dataclass(frozen=True)
class Refusal:
    """Calls that failed as every other to the model would; the next run asks them again."""

    workflow: str
    failure: str
    calls: int


def activity(session: Session, scope: Scope, now: datetime) -> list[Activity]:
    """Return what each provider did for a sweep lately, by name."""
    recent = sa.and_(
        t.Call.finished_at > now - RECENT,
        t.Call.route == "direct",
        t.Call.status.in_(("succeeded", "failed")),
    )
    in_flight = sa.and_(t.Call.status == "sent", t.Call.batch_id.is_(None))
    rows = session.execute(
        sa.select(
            t.Call.provider,
            sa.func.count().filter(recent),
            sa.func.min(t.Call.sent_at).filter(recent),
            sa.func.count().filter(in_flight),
        )
        .where(calls_of(scope))
        .group_by(t.Call.provider)
        .order_by(t.Call.provider)
    )
    return [
        Activity(provider, ended, _per_minute(ended, first, now), sent)
        for provider, ended, first, sent in rows
        if ended or sent
    ]


def _per_minute(ended: int, first_sent: datetime | None, now: datetime) -> float:
    """Return the rate since the first of these calls was sent, `RECENT` ago at most."""
    if first_sent is None:
        return 0.0
    span = min(RECENT, max(SHORTEST, now - first_sent))
    return ended / (span / timedelta(minutes=1))


def lowered_limits(session: Session, providers: Sequence[str], now: datetime) -> list[LoweredLimit]:
    """Return the limits that rate limits have lowered and nobody has said to have recovered."""
    newest = (
        sa.select(t.GateChange)
        .distinct(t.GateChange.provider, t.GateChange.process)
        .where(t.GateChange.provider.in_(providers), t.GateChange.at > now - LOWERED)
        .order_by(t.GateChange.provider, t.GateChange.process, t.GateChange.id.desc())
    )
    return [
        LoweredLimit(row.provider, row.process, row.in_flight, row.reason, row.at)
        for row in session.scalars(newest)
        if row.reason != RECOVERED
    ]


def refusals(session: Session, scope: Scope) -> list[Refusal]:
    """Return the calls that failed for a reason that all calls to their model share."""
    kind = last_error()
    rows = session.execute(
        sa.select(t.Call.workflow, kind, sa.func.count())
        .where(calls_of(scope), t.Call.status == "failed", kind.in_(SHARED))
        .group_by(t.Call.workflow, kind)
        .order_by(t.Call.workflow, kind)
    )
    return [Refusal(*row) for row in rows]
