"""Analysis plans: stored with digest and time, so that results can say which came first."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.design.analysis_plan import AnalysisPlan, Standing, StoredPlan, standing
from judge_gym.store import tables as t


@dataclass(frozen=True)
class Planned:
    """The plan of a sweep as its file has it now, its row, and what its outcomes are."""

    plan: AnalysisPlan | None
    plan_id: int | None
    standing: Standing


@dataclass(frozen=True)
class PlanOfRun:
    """The analysis plan that an analysis run followed."""

    name: str
    sha256: str
    stored_at: datetime


def plan_of_run(session: Session, run_id: int) -> PlanOfRun | None:
    """Return the plan of an analysis run; None when it had none."""
    row = session.execute(
        sa.select(t.AnalysisPlan.content, t.AnalysisPlan.sha256, t.AnalysisPlan.stored_at)
        .join(t.AnalysisRun, t.AnalysisRun.plan_id == t.AnalysisPlan.id)
        .where(t.AnalysisRun.id == run_id)
    ).one_or_none()
    if row is None:
        return None
    content, sha256, stored_at = row
    return PlanOfRun(content["name"], sha256, stored_at)


def register_plan(session: Session, sweep: str, plan: AnalysisPlan | None) -> None:
    """Make `plan` the plan of a stored sweep; a plan that was stored before keeps its time."""
    sha256 = plan.sha256 if plan else None
    sweep_id = session.scalars(
        sa.update(t.Sweep).where(t.Sweep.name == sweep).values(plan=sha256).returning(t.Sweep.id)
    ).one()
    if plan is not None:
        content = plan.model_dump(mode="json")
        statement = insert(t.AnalysisPlan).values(sweep_id=sweep_id, sha256=sha256, content=content)
        session.execute(statement.on_conflict_do_nothing())


def planned(session: Session, sweep: str) -> Planned:
    """Return the plan of a sweep, and whether it was stored before the sweep's first judgement."""
    row = session.scalars(
        sa.select(t.AnalysisPlan)
        .join(
            t.Sweep,
            sa.and_(t.Sweep.id == t.AnalysisPlan.sweep_id, t.Sweep.plan == t.AnalysisPlan.sha256),
        )
        .where(t.Sweep.name == sweep)
    ).one_or_none()
    if row is None:
        return Planned(None, None, standing(None, None, None))
    first = session.scalar(
        sa.select(sa.func.min(t.Sample.created_at))
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.SweepExperiment, t.SweepExperiment.experiment_id == t.Arm.experiment_id)
        .join(t.Sweep, t.Sweep.id == t.SweepExperiment.sweep_id)
        .where(t.Sweep.name == sweep)
    )
    plan = AnalysisPlan.model_validate(row.content)
    stored = StoredPlan(row.sha256, row.stored_at)
    return Planned(plan, row.id, standing(plan, stored, first))
