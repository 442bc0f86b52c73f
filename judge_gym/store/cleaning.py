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

    Failed samples, probes, views and rubrics go, and rubrics refused for want of marks. Calls
    that failed are planned again, to be completed under the same row. Answers that were of no
    use (an empty summary, a faulty rubric) stay in the ledger under another key, so that they
    are not used again. A failed window view takes the views made from it along.
    """
    arms = sa.select(t.Arm.id).where(t.Arm.experiment_id.in_(experiment_ids))
    samples = sa.select(t.Sample.id).where(t.Sample.arm_id.in_(arms))
    session.execute(
        sa.delete(t.Probe).where(t.Probe.sample_id.in_(samples), t.Probe.status == "failed")
    )
    session.execute(
        sa.delete(t.Sample).where(t.Sample.arm_id.in_(arms), t.Sample.status == "failed")
    )
    _plan_again(session, t.Call.experiment_id.in_(experiment_ids))
    windows = sa.select(t.Experiment.window_id).where(t.Experiment.id.in_(experiment_ids))
    documents = sa.select(t.Document.id).where(t.Document.window_id.in_(windows))
    useless = session.scalars(
        sa.delete(t.View)
        .where(t.View.document_id.in_(documents), t.View.status == "failed")
        .returning(t.View.call_id)
    ).all()
    _free(session, t.Call.id.in_([one for one in useless if one is not None]))
    _forget_rubrics(session, experiment_ids)


def _forget_rubrics(session: Session, experiment_ids: Sequence[int]) -> None:
    asked_for = sa.exists().where(
        t.Experiment.id.in_(experiment_ids),
        t.Experiment.concept == t.Rubric.concept,
        t.Experiment.country == t.Rubric.country,
        t.Experiment.scale_size == t.Rubric.scale_size,
    )
    unmarked = sa.and_(t.Rubric.status == "refused", t.Rubric.critic_failure.is_not(None))
    gone = session.execute(
        sa.delete(t.Rubric)
        .where(asked_for, sa.or_(t.Rubric.status == "failed", unmarked))
        .returning(t.Rubric.key, t.Rubric.status)
    ).all()
    for key, status in gone:
        # The rubric itself is good when only its marks are missing.
        calls = f"^rubric/{key}/[0-9]+$" if status == "failed" else f"^critic/{key}$"
        _free(session, t.Call.key.regexp_match(calls))


def _free(session: Session, calls: sa.ColumnElement[bool]) -> None:
    """Have these calls made anew; the rows of answered ones stay, with what they cost."""
    _plan_again(session, calls)
    session.execute(
        sa.update(t.Call)
        .where(calls, t.Call.status == "succeeded")
        .values(
            key=sa.func.concat(t.Call.key, "/set-aside/", t.Call.id),
            request_digest=None,  # no other call shall be given it either
        )
    )


def _plan_again(session: Session, calls: sa.ColumnElement[bool]) -> None:
    session.execute(
        sa.update(t.Call).where(calls, t.Call.status == "failed").values(status="planned")
    )


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
