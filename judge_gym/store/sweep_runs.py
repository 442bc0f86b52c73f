"""Runs of sweeps: when each began, and why it ended."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.errors import JudgeGymError, StoreError, first_line, masked
from judge_gym.store import tables as t

LONGEST = 2000
"""Characters of a message: errors may repeat what a provider has said."""


_IN_WORDS = {
    "CancelledError": "It was cancelled.",
    "KeyboardInterrupt": "It was stopped by Ctrl-C.",
    "Pause": "It waits for a person's approval.",
    "TerminationSignal": "It was cancelled, or its process was stopped (SIGTERM).",
}
"""Exceptions that are no errors, Prefect's among them, by name: this room does not import it."""


@dataclass
class RunEnd:
    """What the caller says of the end of a run."""

    message: str = field(default="")


@contextmanager
def recorded_run(engine: sa.Engine, sweep: str) -> Iterator[RunEnd]:
    """Record a run of a stored sweep during the block: its begin, its end and its message.

    An exception that ends the block is the message.
    """
    with Session(engine) as session, session.begin():
        of_sweep = sa.select(t.Sweep.id).where(t.Sweep.name == sweep).scalar_subquery()
        statement = sa.insert(t.SweepRun).values(sweep_id=of_sweep).returning(t.SweepRun.id)
        run = session.scalars(statement).one()
    end = RunEnd()
    try:
        yield end
    except BaseException as error:
        end.message = _in_words(error)
        raise
    finally:
        # A database that is away is what the error is about.
        with (
            suppress(sa.exc.SQLAlchemyError, StoreError),
            Session(engine) as session,
            session.begin(),
        ):
            session.execute(
                sa.update(t.SweepRun)
                .where(t.SweepRun.id == run)
                .values(ended_at=datetime.now(UTC), message=masked(end.message)[:LONGEST])
            )


def _in_words(error: BaseException) -> str:
    if isinstance(error, JudgeGymError):
        return str(error)
    name = type(error).__name__
    return _IN_WORDS.get(name) or f"{name}: {first_line(error)}"


@dataclass(frozen=True)
class LastRun:
    """The newest run of a sweep."""

    began_at: datetime
    ended_at: datetime | None
    """None while it runs, and for a run whose process was killed."""
    message: str | None


def last_run(session: Session, sweep: str) -> LastRun | None:
    """Return the newest recorded run of a sweep; None without one."""
    row = session.execute(
        sa.select(t.SweepRun.began_at, t.SweepRun.ended_at, t.SweepRun.message)
        .join(t.Sweep)
        .where(t.Sweep.name == sweep)
        .order_by(t.SweepRun.id.desc())
        .limit(1)
    ).first()
    return None if row is None else LastRun(*row)
