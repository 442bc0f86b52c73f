"""Retention: empties prompts of old, finished work, and deletes old records of its running.

Everything that was paid for stays: each row of the ledger with its answer, the thinking and token
probabilities that came with it, tokens, cost and times, and whatever was derived from it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.records.attempts import UNKNOWN_OUTCOME
from judge_gym.store import tables as t
from judge_gym.store.bulk import among, count_of
from judge_gym.store.cleaning import CLEANED
from judge_gym.store.units import PROBING

_EMPTY = sa.text("'[]'::jsonb")
AT_ONCE = 5000
"""Calls that are emptied in one transaction."""


@dataclass(frozen=True)
class OldPrompts:
    """Prompts of calls that are old enough to be emptied."""

    call_ids: Sequence[int]
    bytes: int
    """Their size in the database, compressed."""


@dataclass(frozen=True)
class OldRecords:
    """Records of running, of which nothing is read any more."""

    gate_changes: int
    """Of lowered limits."""
    runs: int
    """Of ended runs of sweeps, without the newest of each sweep."""


def prompts_of_experiments(
    session: Session, experiments: Collection[int], before: datetime
) -> OldPrompts:
    """Return the old prompts of W3 to W6 of these experiments.

    Without those of samples whose probe failed: its retry continues their conversation.
    """
    to_retry = (
        sa.select(t.Sample.call_id)
        .join(t.Probe, t.Probe.sample_id == t.Sample.id)
        .where(t.Sample.call_id.is_not(None), PROBING.retryable)
    )
    return _prompts(
        session,
        before,
        among(t.Call.experiment_id, experiments),
        t.Call.workflow.in_(CLEANED),
        t.Call.id.not_in(to_retry),
    )


def prompts_of_judges(session: Session, before: datetime) -> OldPrompts:
    """Return the old prompts of judges for products.

    Without those of judgements by a judge that has a certificate, an alignment, a review or a
    decision: a person may ask what it was shown.
    """
    look = t.AlignmentLook
    ruled = (look.before_id, look.chosen_id, t.JudgeReview.judge_id, t.JudgeReview.alternative_id)
    on_record = sa.union(
        *(sa.select(column).where(column.is_not(None)) for column in (*ruled, t.Decision.judge_id))
    )
    results = sa.select(
        sa.func.unnest(t.JudgeResult.call_ids).label("call_id"),
        (t.JudgeResult.created_at < before).label("is_old"),
        t.JudgeResult.judge_id.in_(on_record).label("on_record"),
    ).subquery()
    # A call may be behind several judgements: of a judge, and of an ensemble that it is in.
    free = (
        sa.select(results.c.call_id)
        .group_by(results.c.call_id)
        .having(sa.func.bool_and(results.c.is_old & ~results.c.on_record))
    )
    return _prompts(session, before, t.Call.id.in_(free))


def _prompts(session: Session, before: datetime, *of: sa.ColumnElement[bool]) -> OldPrompts:
    size = sa.func.pg_column_size(t.Call.messages)  # without reading them
    rows = session.execute(
        sa.select(t.Call.id, size)
        .where(
            *of,
            t.Call.status == "succeeded",
            t.Call.finished_at < before,
            size > sa.func.pg_column_size(_EMPTY),
            # What a lost request may have cost is estimated from its prompt.
            ~t.Call.errors.contains([{"kind": UNKNOWN_OUTCOME}]),
        )
        .order_by(t.Call.id)
    ).all()
    return OldPrompts([row[0] for row in rows], sum(row[1] for row in rows))


def empty_prompts(session: Session, call_ids: Sequence[int]) -> None:
    """Empty the prompts of these calls; nothing else of them changes."""
    session.execute(sa.update(t.Call).where(among(t.Call.id, call_ids)).values(messages=_EMPTY))


def old_records(session: Session, before: datetime) -> OldRecords:
    """Count what `delete_old_records` would delete."""
    return OldRecords(*(count_of(session, table, old) for table, old in _old(before)))


def delete_old_records(session: Session, before: datetime) -> None:
    """Delete old records of lowered limits and of runs."""
    for table, old in _old(before):
        session.execute(sa.delete(table).where(old))


def _old(before: datetime) -> list[tuple[Any, sa.ColumnElement[bool]]]:
    run, newest = t.SweepRun, sa.select(sa.func.max(t.SweepRun.id)).group_by(t.SweepRun.sweep_id)
    return [
        (t.GateChange, t.GateChange.at < before),
        (run, sa.and_(run.ended_at < before, run.id.not_in(newest))),
    ]


def unshared(session: Session, sweep: str, finished: Collection[str]) -> dict[int, str]:
    """Return id → tag of the sweep's experiments that are in no sweep but finished ones."""
    link = t.SweepExperiment
    of = sa.select(link.experiment_id).join(t.Sweep, t.Sweep.id == link.sweep_id)
    rows = session.execute(
        sa.select(t.Experiment.id, t.Experiment.tag)
        .where(
            t.Experiment.id.in_(of.where(t.Sweep.name == sweep)),
            t.Experiment.id.not_in(of.where(t.Sweep.name.not_in(finished))),
        )
        .order_by(t.Experiment.id)
    )
    return {row.id: row.tag for row in rows}


def sharing(session: Session, sweep: str, finished: Collection[str]) -> list[str]:
    """Return the unfinished sweeps that have experiments of this one, sorted."""
    link = t.SweepExperiment
    of = sa.select(link.experiment_id).join(t.Sweep, t.Sweep.id == link.sweep_id)
    rows = session.scalars(
        sa.select(t.Sweep.name)
        .join(link, link.sweep_id == t.Sweep.id)
        .where(
            link.experiment_id.in_(of.where(t.Sweep.name == sweep).correlate(None)),
            t.Sweep.name.not_in(finished),
        )
        .distinct()
    )
    return sorted(rows)
