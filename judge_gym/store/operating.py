"""The whole ledger as its operator sees it: spending, failures and batches, of every study."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.plans import Budget
from judge_gym.errors import RefusedLoginError, StoreError, first_line
from judge_gym.store import tables as t
from judge_gym.store.calls import at_most_usd, paid_usd
from judge_gym.store.engine import is_refused_login, login_remedy, refusal_or_reason
from judge_gym.store.pooler import mind_poolers
from judge_gym.store.progress import IN_FLIGHT
from judge_gym.store.selecting import last_error
from judge_gym.store.spending import Spent, spending_scope, spent

OPEN = t.Batch.status.in_(t.OPEN_BATCHES)
STATEMENT_S = 30
"""Longest time of a query, in seconds: to look at an installation never holds it up for long."""
CONNECT_S = 5


def operating_engine(url: str) -> sa.Engine:
    """Return an engine of one connection on a migrated database that may be away."""
    options = {"connect_timeout": CONNECT_S}
    engine = sa.create_engine(
        url, pool_size=1, max_overflow=0, pool_pre_ping=True, hide_parameters=True,
        connect_args=options,
    )  # fmt: skip
    return mind_poolers(engine)


@contextmanager
def reading(engine: sa.Engine) -> Iterator[Session]:
    """Open a transaction that only reads, each of whose queries ends after `STATEMENT_S`.

    Raises `RefusedLoginError` when the database refuses the login, and `OperatingError` when it
    does not answer.
    """
    try:
        with Session(engine) as session:
            session.execute(sa.text("SET TRANSACTION READ ONLY"))
            session.execute(sa.text(f"SET LOCAL statement_timeout = '{STATEMENT_S}s'"))
            yield session
    except (sa.exc.SQLAlchemyError, OSError) as error:
        cause = getattr(error, "orig", None) or error
        if is_refused_login(cause):
            raise RefusedLoginError(refusal_or_reason(cause), login_remedy(cause)) from None
        raise OperatingError(first_line(cause)) from None


class OperatingError(StoreError):
    """The database did not answer; the message says why."""


def server_facts(session: Session) -> str:
    """Return the version of the server and the size of the database: "version 18.1, 12 MB"."""
    size = sa.func.pg_size_pretty(sa.func.pg_database_size(sa.func.current_database()))
    row = session.execute(sa.select(sa.func.current_setting("server_version"), size)).one()
    return f"version {row[0]}, {row[1]}"


@dataclass(frozen=True)
class OpenBatches:
    """Batches at providers that have not ended."""

    batches: int
    calls: int
    oldest: datetime | None


@dataclass(frozen=True)
class WorkflowSpending:
    """What one workflow sent and cost in a time."""

    workflow: str
    calls: int
    """Attempts, refused ones included."""
    cost_usd: float
    """Known costs and the bounds of unknown ones."""


@dataclass(frozen=True)
class StudySpending:
    """What a sweep has used, and the bounds in the file that it was run from."""

    sweep: str
    spent: Spent
    budget: Budget

    @property
    def left_usd(self) -> float | None:
        """What is left of the cost; None without a bound."""
        most = self.budget.max_cost_usd
        return None if most is None else max(0.0, most - self.spent.bound_usd)

    @property
    def left_calls(self) -> int | None:
        """What is left of the calls; None without a bound."""
        most = self.budget.max_calls
        return None if most is None else max(0, most - self.spent.calls)


@dataclass(frozen=True)
class FailedCalls:
    """Calls to one model that failed in the same way."""

    provider: str
    model: str
    kind: str
    calls: int
    last: datetime


def open_batches(session: Session) -> OpenBatches:
    """Return how many batches wait at providers, with how many calls, and since when."""
    row = session.execute(
        sa.select(
            sa.func.count(),
            sa.func.coalesce(sa.func.sum(t.Batch.calls), 0),
            sa.func.min(t.Batch.created_at),
        ).where(OPEN)
    ).one()
    return OpenBatches(row[0], int(row[1]), row[2])


def spending_by_workflow(session: Session, since: datetime) -> list[WorkflowSpending]:
    """Return what calls sent since a time cost, by workflow; the dearest first."""
    cost = sa.func.coalesce(sa.func.sum(sa.func.coalesce(paid_usd(), 0) + at_most_usd()), 0)
    rows = session.execute(
        sa.select(t.Call.workflow, sa.func.coalesce(sa.func.sum(t.Call.attempts), 0), cost)
        .where(t.Call.sent_at >= since)
        .group_by(t.Call.workflow)
        .order_by(cost.desc(), t.Call.workflow)
    )
    return [
        WorkflowSpending(workflow, int(calls), float(usd)) for workflow, calls, usd in rows if calls
    ]


def spending_by_study(session: Session) -> list[StudySpending]:
    """Return what each stored sweep with experiments has used, sorted by name."""
    rows = session.execute(
        sa.select(t.Sweep.name, t.Sweep.definition)
        .where(sa.exists().where(t.SweepExperiment.sweep_id == t.Sweep.id))
        .order_by(t.Sweep.name)
    )
    return [
        StudySpending(name, spent(session, spending_scope(session, name)), _budget(definition))
        for name, definition in rows.tuples().all()
    ]


def _budget(definition: dict[str, object] | None) -> Budget:
    return Budget.model_validate((definition or {}).get("budget") or {})


def failed_calls(session: Session, now: datetime, within: timedelta) -> list[FailedCalls]:
    """Return the calls that failed lately by model and kind, the newest kind first."""
    kind, last = last_error(), sa.func.max(t.Call.finished_at)
    rows = session.execute(
        sa.select(t.Call.provider, t.Call.model, kind, sa.func.count(), last)
        .where(t.Call.status == "failed", t.Call.finished_at > now - within)
        # For the index. Calls that failed before a request have no such time.
        .where(sa.or_(t.Call.sent_at > now - within - IN_FLIGHT, t.Call.sent_at.is_(None)))
        .group_by(t.Call.provider, t.Call.model, kind)
        .order_by(last.desc(), t.Call.model, kind)
    )
    return [FailedCalls(*row) for row in rows]
