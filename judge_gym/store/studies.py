"""Points of rolling studies: one per period, each an analysis run of a sweep of its own."""

from dataclasses import dataclass
from datetime import date

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.store import tables as t


@dataclass(frozen=True)
class Point:
    """A period of a study, its sweep, and the analysis run that its figures are from."""

    first_day: date
    last_day: date
    sweep: str
    run_id: int
    simulated: bool


def points_of(session: Session, study: str) -> list[Point]:
    """Return the points of a study, the oldest first; none for an unknown one."""
    rows = session.execute(
        sa.select(
            t.StudyPoint.first_day,
            t.StudyPoint.last_day,
            t.Sweep.name,
            t.StudyPoint.run_id,
            t.AnalysisRun.simulated,
        )
        .join(t.Sweep, t.Sweep.id == t.StudyPoint.sweep_id)
        .join(t.AnalysisRun, t.AnalysisRun.id == t.StudyPoint.run_id)
        .where(t.StudyPoint.study == study)
        .order_by(t.StudyPoint.first_day, t.StudyPoint.last_day)
    )
    return [Point(*row) for row in rows]


def save_point(session: Session, study: str, first_day: date, last_day: date, run_id: int) -> None:
    """Store the point of a period, unless it has one; a point is never replaced."""
    sweep_id = sa.select(t.AnalysisRun.sweep_id).where(t.AnalysisRun.id == run_id)
    values = {"study": study, "first_day": first_day, "last_day": last_day, "run_id": run_id}
    statement = insert(t.StudyPoint).values(**values, sweep_id=sweep_id.scalar_subquery())
    session.execute(statement.on_conflict_do_nothing())
