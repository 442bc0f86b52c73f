"""Taking rows away on request: failures that shall be asked again, and an experiment's calls."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import tables as t


@dataclass(frozen=True)
class Removal:
    """How many rows of each kind go, or would go."""

    calls: int
    samples: int
    probes: int

    def __str__(self) -> str:
        return f"{self.calls} LLM calls, {self.samples} samples, {self.probes} probes"


def forget_failures(session: Session, experiment_ids: Sequence[int]) -> None:
    """Delete what is kept as `failed` for these experiments, so that it is planned again.

    Failed samples, probes, views and rubrics go; their calls stay in the ledger and are
    completed under the same row. A failed window view takes the views made from it along.
    """
    arms = sa.select(t.Arm.id).where(t.Arm.experiment_id.in_(experiment_ids))
    samples = sa.select(t.Sample.id).where(t.Sample.arm_id.in_(arms))
    session.execute(
        sa.delete(t.Probe).where(t.Probe.sample_id.in_(samples), t.Probe.status == "failed")
    )
    session.execute(
        sa.delete(t.Sample).where(t.Sample.arm_id.in_(arms), t.Sample.status == "failed")
    )
    windows = sa.select(t.Experiment.window_id).where(t.Experiment.id.in_(experiment_ids))
    documents = sa.select(t.Document.id).where(t.Document.window_id.in_(windows))
    session.execute(
        sa.delete(t.View).where(t.View.document_id.in_(documents), t.View.status == "failed")
    )
    session.execute(sa.delete(t.Rubric).where(t.Rubric.status == "failed"))


def removal(session: Session, experiment_id: int) -> Removal:
    """Return what cleaning an experiment would take away."""
    return Removal(
        calls=_count(session, t.Call.experiment_id == experiment_id),
        samples=_count(session, t.Arm.experiment_id == experiment_id, t.Sample),
        probes=_count(session, t.Arm.experiment_id == experiment_id, t.Probe),
    )


def clean_experiment(session: Session, experiment_id: int, *, keep_derived: bool) -> None:
    """Delete an experiment's ledger rows and, unless kept, its samples and probes.

    The experiment, its items and its rubrics stay. Without derived rows the next run asks
    everything again, and pays again.
    """
    if not keep_derived:
        # Samples and probes go with their arm.
        session.execute(sa.delete(t.Arm).where(t.Arm.experiment_id == experiment_id))
    session.execute(sa.delete(t.Call).where(t.Call.experiment_id == experiment_id))


def _count(session: Session, condition: sa.ColumnElement[bool], table: type = t.Call) -> int:
    query = sa.select(sa.func.count()).where(condition)
    if table is t.Call:
        query = query.select_from(t.Call)
    elif table is t.Sample:
        query = query.select_from(t.Sample).join(t.Arm, t.Arm.id == t.Sample.arm_id)
    else:
        query = (
            query.select_from(t.Probe)
            .join(t.Sample, t.Sample.id == t.Probe.sample_id)
            .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        )
    return session.scalar(query) or 0
