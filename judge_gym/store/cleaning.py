"""Deletes rows on request: failures to be retried, calls without an answer, calls to clean."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.design.plans import EVIDENCE, PROBE, RUBRIC, SCORING, SWAP
from judge_gym.errors import StoreError
from judge_gym.records.calls import FailureKind
from judge_gym.store import tables as t
from judge_gym.store.selecting import (
    OTHER,
    LedgerLine,
    Selection,
    arms,
    calls,
    failed,
    failure_class,
    ledger_lines,
    waiting_in_batches,
)

KINDS: tuple[str, ...] = get_args(FailureKind)
CLEANED = (SCORING, SWAP, PROBE)
"""Workflows whose calls belong to one experiment; evidence and rubrics are shared, and stay."""


@dataclass(frozen=True)
class Removal:
    """How many rows of each kind go, or would go."""

    calls: int
    samples: int
    probes: int

    def __str__(self) -> str:
        counts = ((self.calls, "LLM call"), (self.samples, "sample"), (self.probes, "probe"))
        return ", ".join(counted(number, noun) for number, noun in counts)


@dataclass(frozen=True)
class Kept:
    """Stored failures of one workflow and class."""

    workflow: str
    failure: str
    count: int


def kept_failures(session: Session, selection: Selection) -> list[Kept]:
    """Count the failures that `forget_failures` would delete, by workflow and class."""
    kept = []
    for workflow, table, failure, condition in _failures(selection):
        kind = failure_class(failure)
        rows = session.execute(
            sa.select(kind, sa.func.count())
            .select_from(table)
            .where(condition)
            .group_by(kind)
            .order_by(kind)
        )
        kept += [Kept(workflow, *row) for row in rows]
    return kept


def check_failure(session: Session, selection: Selection) -> None:
    """Raise `StoreError` for a class of failure that neither calls nor what is chosen can have."""
    every = replace(selection, failure="")
    there = {one.failure for one in kept_failures(session, every)}
    there |= {one.failure for one in ledger_lines(session, calls(every)) if one.failure}
    if selection.failure and selection.failure not in (known := {*KINDS, OTHER, *there}):
        raise StoreError(
            f"There is no class of failure {selection.failure!r}.",
            f"Use {', '.join(sorted(known))}.",
        )


def forget_failures(session: Session, selection: Selection) -> None:
    """Delete rows with status `failed`, so that they are planned again.

    Failed samples, probes, views and rubrics go, and rubrics refused for want of marks. Calls
    that failed are planned again, to be completed under the same row. Answers that were of no
    use (an empty summary, a faulty rubric) stay in the ledger under another key, so that they
    are not used again. A failed window view takes the views made from it along.
    """
    gone: list[int] = []
    for workflow, table, _, condition in _failures(selection):
        if workflow == RUBRIC:
            _forget_rubrics(session, condition)
            continue
        of_calls = session.scalars(sa.delete(table).where(condition).returning(table.call_id)).all()
        if workflow == EVIDENCE:
            gone += [one for one in of_calls if one is not None]
    _plan_again(
        session, calls(Selection(selection.experiments, selection.workflow, selection.failure))
    )
    _free(session, t.Call.id.in_(gone))


def _failures(selection: Selection) -> Iterator[tuple[str, Any, Any, sa.ColumnElement[bool]]]:
    """Yield (workflow, table, failure column, condition) of stored failures, probes first."""
    if selection.covers(PROBE):
        of_arms = arms(Selection(selection.experiments))
        samples = sa.select(t.Sample.id).where(t.Sample.arm_id.in_(of_arms))
        of_probes = t.Probe.sample_id.in_(samples) & failed(selection, t.Probe, t.Probe.failure)
        yield PROBE, t.Probe, t.Probe.failure, of_probes
    for workflow in (SCORING, SWAP):
        if selection.covers(workflow):
            of_workflow = arms(Selection(selection.experiments, workflow))
            chosen = failed(selection, t.Sample, t.Sample.failure)
            yield workflow, t.Sample, t.Sample.failure, t.Sample.arm_id.in_(of_workflow) & chosen
    if selection.covers(EVIDENCE):
        yield EVIDENCE, t.View, t.View.failure, _failed_views(selection)
    if selection.covers(RUBRIC):
        yield RUBRIC, t.Rubric, _WHY, _failed_rubrics(selection)


_UNMARKED = sa.and_(t.Rubric.status == "refused", t.Rubric.critic_failure.is_not(None))
_WHY = sa.func.coalesce(t.Rubric.critic_failure, t.Rubric.failure)


def _failed_views(selection: Selection) -> sa.ColumnElement[bool]:
    """Failed views of a document that has one in the chosen class: they follow from one another."""
    windows = sa.select(t.Experiment.window_id).where(t.Experiment.id.in_(selection.experiments))
    first = sa.orm.aliased(t.View)
    documents = (
        sa.select(first.document_id)
        .join(t.Document, t.Document.id == first.document_id)
        .where(t.Document.window_id.in_(windows), failed(selection, first, first.failure))
    )
    return (t.View.status == "failed") & t.View.document_id.in_(documents)


def _failed_rubrics(selection: Selection) -> sa.ColumnElement[bool]:
    asked_for = sa.exists().where(
        t.Experiment.id.in_(selection.experiments),
        t.Experiment.concept == t.Rubric.concept,
        t.Experiment.country == t.Rubric.country,
        t.Experiment.scale_size == t.Rubric.scale_size,
    )
    condition = asked_for & ((t.Rubric.status == "failed") | _UNMARKED)
    if selection.failure:
        condition &= failure_class(_WHY) == selection.failure
    return condition


def _forget_rubrics(session: Session, condition: sa.ColumnElement[bool]) -> None:
    gone = session.execute(
        sa.delete(t.Rubric).where(condition).returning(t.Rubric.key, t.Rubric.status)
    ).all()
    for key, status in gone:
        # The rubric itself is good when only its marks are missing.
        of_calls = f"^rubric/{key}/[0-9]+$" if status == "failed" else f"^critic/{key}$"
        _free(session, t.Call.key.regexp_match(of_calls))


def _free(session: Session, condition: sa.ColumnElement[bool]) -> None:
    """Plan these calls again; rows of answered calls stay, with their cost."""
    _plan_again(session, condition)
    session.execute(
        sa.update(t.Call)
        .where(condition, t.Call.status == "succeeded")
        .values(
            key=sa.func.concat(t.Call.key, "/set-aside/", t.Call.id),
            request_digest=None,  # no other call shall be given it either
        )
    )


def _plan_again(session: Session, condition: sa.ColumnElement[bool]) -> None:
    session.execute(
        sa.update(t.Call).where(condition, t.Call.status == "failed").values(status="planned")
    )


def removal(session: Session, selection: Selection) -> Removal:
    """Return what `clean` would take away; raises `StoreError` as that does."""
    return Removal(
        calls=_count(session, t.Call, _calls(session, selection, keep_derived=False)),
        samples=_count(session, t.Sample, _samples(selection)),
        probes=_count(session, t.Probe, _probes(selection)),
    )


def removed_calls(
    session: Session, selection: Selection, *, keep_derived: bool
) -> list[LedgerLine]:
    """Count the ledger rows that `clean` would delete, by workflow and status."""
    return ledger_lines(session, _calls(session, selection, keep_derived=keep_derived))


def clean(session: Session, selection: Selection, *, keep_derived: bool) -> None:
    """Delete ledger rows and, unless kept, the samples and probes derived from them.

    Experiments, items, evidence and rubrics stay. Without derived rows the next run asks
    everything again, and pays again. Raises `StoreError` when calls wait in batches, whose
    answers would find no place.
    """
    going = session.scalars(
        sa.select(t.Call.id).where(_calls(session, selection, keep_derived=keep_derived))
    ).all()
    if not keep_derived:
        session.execute(sa.delete(t.Probe).where(_probes(selection)))
        session.execute(sa.delete(t.Sample).where(_samples(selection)))
        if not selection.failure and selection.workflow != PROBE:
            session.execute(sa.delete(t.Arm).where(t.Arm.id.in_(arms(selection))))
    session.execute(sa.delete(t.Call).where(t.Call.id == sa.any_(sa.literal(going, _IDS))))


_IDS = sa.ARRAY(sa.BigInteger)


def _calls(session: Session, selection: Selection, *, keep_derived: bool) -> sa.ColumnElement[bool]:
    if not selection.covers(*CLEANED):
        raise StoreError(
            f"{selection.workflow} is shared by experiments, so it cannot be cleaned of some.",
            f"Use {', '.join(CLEANED)}; `judge-gym sweep retry` asks again for what failed in it.",
        )
    condition = calls(selection.of_experiments)
    if not keep_derived:
        # Probes go with their sample, and so do the calls that made them.
        condition |= t.Call.id.in_(sa.select(t.Probe.call_id).where(_probes(selection)))
    if waiting := waiting_in_batches(session, condition):
        raise StoreError(
            f"{sum(waiting.values())} of these calls wait in batches, and their answers would be "
            "lost.",
            "Cancel them with `judge-gym sweep cancel`, or run the sweep until they are in.",
        )
    return condition


def _samples(selection: Selection) -> sa.ColumnElement[bool]:
    if not selection.covers(SCORING, SWAP):
        return sa.false()
    condition: sa.ColumnElement[bool] = t.Sample.arm_id.in_(arms(selection))
    if selection.failure:
        condition &= failed(selection, t.Sample, t.Sample.failure)
    return condition


def _probes(selection: Selection) -> sa.ColumnElement[bool]:
    """Probes of the samples that go, and those that are chosen themselves."""
    gone = sa.select(t.Sample.id).where(_samples(selection))
    condition: sa.ColumnElement[bool] = t.Probe.sample_id.in_(gone)
    if selection.covers(PROBE):
        of_arms = t.Sample.arm_id.in_(arms(Selection(selection.experiments)))
        own: sa.ColumnElement[bool] = t.Probe.sample_id.in_(sa.select(t.Sample.id).where(of_arms))
        if selection.failure:
            own &= failed(selection, t.Probe, t.Probe.failure)
        condition |= own
    return condition


def _count(session: Session, table: Any, condition: sa.ColumnElement[bool]) -> int:
    return session.scalar(sa.select(sa.func.count()).select_from(table).where(condition)) or 0


_IN_BATCHES = sa.select(t.Batch.id).where(t.Batch.status.in_(t.OPEN_BATCHES))


def without_answer(selection: Selection) -> sa.ColumnElement[bool]:
    """Return the condition that a call is chosen, planned or sent, and waits in no batch."""
    return (
        calls(selection)
        & t.Call.status.in_(("planned", "sent"))
        & t.Call.batch_id.in_(_IN_BATCHES).is_not(True)
    )


def cancel_calls(session: Session, selection: Selection) -> int:
    """Mark the calls without an answer as cancelled; returns how many there were.

    Those in batches are cancelled with their batch.
    """
    ids = session.scalars(
        sa.update(t.Call)
        .where(without_answer(selection))
        .values(status="cancelled", finished_at=sa.func.now())
        .returning(t.Call.id)
    ).all()
    return len(ids)
