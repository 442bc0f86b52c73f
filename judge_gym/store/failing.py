"""Providers whose newest calls all failed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.records.calls import IMPORTED, SHARED
from judge_gym.store import tables as t

NEWEST = 500
"""Calls that are looked at, by id, which is cheap in a ledger of any size."""
ENOUGH = 3
"""Failures in a row from which on a provider fails."""
LATELY = timedelta(minutes=15)
"""How old the newest of them may be."""


@dataclass(frozen=True)
class FailingProvider:
    """A provider whose newest calls failed, and how the newest one did."""

    provider: str
    kind: str
    message: str
    failures: int
    """Since its last success."""
    since: datetime


def failing_providers(session: Session, now: datetime) -> list[FailingProvider]:
    """Return the providers whose newest calls failed, three or more, the newest one lately.

    A refused key ends a run at its first call, so one such failure is enough.
    """
    last = t.Call.errors[-1]
    newest = (
        sa.select(
            t.Call.provider,
            (t.Call.status == "failed").label("failed"),
            last["kind"].astext.label("kind"),
            last["message"].astext.label("message"),
            t.Call.finished_at,
        )
        .where(t.Call.route.not_in(("cache", IMPORTED)), t.Call.finished_at.is_not(None))
        .order_by(t.Call.id.desc())
        .limit(NEWEST)
        .subquery()
    )
    rows = session.execute(sa.select(newest).order_by(newest.c.finished_at.desc())).all()
    found = []
    for provider in sorted({row.provider for row in rows}):
        failed = list(
            takewhile(lambda row: row.failed, (row for row in rows if row.provider == provider))
        )
        if not failed or failed[0].finished_at < now - LATELY:
            continue
        first, kind = failed[0], failed[0].kind or "server"
        if len(failed) >= ENOUGH or kind in SHARED:
            since = failed[-1].finished_at
            found.append(FailingProvider(provider, kind, first.message or "", len(failed), since))
    return found
