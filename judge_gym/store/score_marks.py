"""Marks of samples' reasoning: which critic a sweep declares, what is missing, and how they ended.

A critic's marks by another template are other marks, so two prompts never mix in one figure.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.records.judgements import ScoreCritic
from judge_gym.store import tables as t
from judge_gym.store.units import JUDGEMENT, MARKING


def critic_of_sweep(session: Session, sweep: str | None) -> ScoreCritic | None:
    """Return the critic that a sweep declared when it was last stored; None without one."""
    if sweep is None:
        return None
    stored = session.scalar(sa.select(t.Sweep.score_critic).where(t.Sweep.name == sweep))
    return ScoreCritic(**stored) if stored else None


def is_by(critic: ScoreCritic) -> sa.ColumnElement[bool]:
    """Return the condition that a row of marks is this critic's."""
    return (t.ScoreMark.critic_model == critic.model) & (t.ScoreMark.template == critic.template)


def to_mark() -> sa.ColumnElement[bool]:
    """Return the condition that a sample's reasoning is marked: it was scored, and here."""
    return sa.and_(t.Sample.status == "scored", ~t.Sample.imported)


def unmarked_samples(
    session: Session,
    experiment_ids: Sequence[int],
    critic: ScoreCritic,
    sweep: str | None = None,
) -> list[int]:
    """Return the ids of scored samples that lack this critic's marks, in a stable order."""
    done = MARKING.done(sample_id=t.Sample.id, critic_model=critic.model, template=critic.template)
    query = JUDGEMENT.rows(t.Sample.id, sweep=sweep).where(
        t.Experiment.id.in_(experiment_ids), to_mark(), ~done
    )
    return list(session.scalars(query.order_by(t.Experiment.id, t.Sample.id)))


def save_marks(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store outcomes that need no call; one that exists is kept."""
    if rows:
        session.execute(insert(t.ScoreMark).on_conflict_do_nothing(), rows)
