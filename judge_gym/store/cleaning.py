"""Deletes rows on request: failures to be retried, calls without an answer, calls to clean."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.counting import counted, in_batches
from judge_gym.design.names import CRITIC, EVIDENCE, PROBE, RUBRIC, SCORING, SWAP
from judge_gym.errors import ConfigError, StoreError
from judge_gym.records.calls import FailureKind
from judge_gym.store import tables as t
from judge_gym.store.bulk import among, count_of
from judge_gym.store.calls import plan_again, set_aside
from judge_gym.store.recipes import view_recipe
from judge_gym.store.selecting import (
    LedgerLine,
    Selection,
    arms,
    calls,
    failed,
    ledger_lines,
    samples,
    waiting_in_batches,
)
from judge_gym.store.units import (
    EMPTY,
    JUDGEMENT,
    MARKING,
    OF_EXPERIMENTS,
    OTHER,
    PROBING,
    RUBRIC_WRITING,
    VIEW,
    Unit,
)

KINDS: tuple[str, ...] = get_args(FailureKind)
CLEANED = (SCORING, SWAP, PROBE, CRITIC)
"""Workflows whose calls belong to one experiment; evidence and rubrics are shared, and stay."""


@dataclass(frozen=True)
class Removal:
    """How many rows of each kind go, or would go."""

    calls: int
    samples: int
    probes: int
    marks: int
    """Marks of samples' reasoning."""

    @property
    def is_empty(self) -> bool:
        return not (self.calls or self.samples or self.probes or self.marks)

    def __str__(self) -> str:
        counts = [(self.calls, "LLM call"), (self.samples, "sample"), (self.probes, "probe")]
        counts += [(self.marks, "mark")] if self.marks else []
        return ", ".join(counted(number, noun) for number, noun in counts)


@dataclass(frozen=True)
class StoredFailures:
    """Stored failures of one workflow and class."""

    workflow: str
    failure: str
    count: int


@dataclass(frozen=True)
class EmptyAnswers:
    """Empty answers of one judge, and the known cost of their calls."""

    judge: str
    count: int
    cost_usd: float
    unpriced: int
    """Calls of unknown price."""


def kept_failures(session: Session, selection: Selection) -> list[StoredFailures]:
    """Count the failures that `forget_failures` would delete, by workflow and class."""
    kept = []
    for workflow, unit, kind, condition in _failures(selection):
        rows = session.execute(
            sa.select(kind, sa.func.count())
            .select_from(unit.table)
            .where(condition)
            .group_by(kind)
            .order_by(kind)
        )
        kept += [StoredFailures(workflow, *row) for row in rows]
    return kept


def empty_answers(session: Session, selection: Selection) -> list[EmptyAnswers]:
    """Count the empty answers among `kept_failures` by judge, with what they cost."""
    found = [
        unit.rows(t.Experiment.model, unit.table.call_id).where(condition, unit.empty)
        for _, unit, _, condition in _failures(selection)
        if unit in OF_EXPERIMENTS
    ]
    if not found:
        return []
    rows = sa.union_all(*found).subquery()
    query = (
        sa.select(
            rows.c.model,
            sa.func.count(),
            sa.func.coalesce(sa.func.sum(t.Call.cost_usd), 0),
            sa.func.count().filter(t.Call.cost_usd.is_(None)),
        )
        .select_from(rows)
        .outerjoin(t.Call, t.Call.id == rows.c.call_id)
        .group_by(rows.c.model)
        .order_by(rows.c.model)
    )
    return [
        EmptyAnswers(judge, count, float(cost_usd), unpriced)
        for judge, count, cost_usd, unpriced in session.execute(query)
    ]


def check_failure(session: Session, selection: Selection) -> None:
    """Raise `ConfigError` for a class of failure that neither calls nor what is chosen can have."""
    every = replace(selection, failure="")
    present = {row.failure for row in kept_failures(session, every)}
    present |= {line.failure for line in ledger_lines(session, calls(every)) if line.failure}
    if selection.failure and selection.failure not in (allowed := {*KINDS, EMPTY, OTHER, *present}):
        raise ConfigError(
            f"There is no class of failure {selection.failure!r}.",
            f"Use {', '.join(sorted(allowed))}.",
        )


def forget_failures(session: Session, selection: Selection) -> None:
    """Delete rows with status `failed` and those of empty answers, so that they are planned again.

    Failed samples, probes, views and rubrics go, and rubrics refused for want of marks. Calls
    that failed are planned again, to be completed under the same row. Answers that were of no
    use (an empty answer, a faulty rubric) stay in the ledger under another key, so that they
    are not used again. A failed window view takes the views made from it along.
    """
    for workflow, unit, _, condition in _failures(selection):
        if workflow == RUBRIC:
            _forget_rubrics(session, condition)
        else:
            unit.forget(session, condition)
    plan_again(
        session, calls(Selection(selection.experiments, selection.workflow, selection.failure))
    )


def _failures(selection: Selection) -> Iterator[tuple[str, Unit, Any, sa.ColumnElement[bool]]]:
    """Yield (workflow, unit, class, condition) of failures, what is about samples first."""
    for unit in OF_EXPERIMENTS:
        for workflow in unit.workflows:
            if selection.covers(workflow):
                arms_of = replace(selection, workflow="" if unit.is_of_samples else workflow)
                condition = unit.sample_id.in_(samples(arms_of)) & unit.retryable
                if selection.failure:
                    condition &= unit.retryable_kind == selection.failure
                yield workflow, unit, unit.retryable_kind, condition
    if selection.covers(EVIDENCE):
        yield EVIDENCE, VIEW, t.View.failure_kind, _failed_views(selection)
    if selection.covers(RUBRIC):
        yield RUBRIC, RUBRIC_WRITING, _KIND, _failed_rubrics(selection)


_UNMARKED = sa.and_(
    t.Rubric.status == "refused",
    t.Rubric.critic_failure.is_not(None),
    # What a person has read and refused is not written again.
    ~sa.exists().where(t.Decision.kind == t.READING, t.Decision.subject == t.Rubric.key),
)
_KIND = sa.func.coalesce(t.Rubric.critic_failure_kind, t.Rubric.failure_kind)


def _failed_views(selection: Selection) -> sa.ColumnElement[bool]:
    """Failed views of a document that has one in the chosen class: they follow from one another."""
    first = sa.orm.aliased(t.View)
    documents = (
        sa.select(first.document_id)
        .where(failed(selection, first))
        .where(_is_read(selection, first))
    )
    is_failed = (t.View.status == "failed") & t.View.document_id.in_(documents)
    return is_failed & _is_read(selection, t.View)


def _is_read(selection: Selection, table: Any) -> sa.ColumnElement[bool]:
    """Whether a view is of a window and recipe of the chosen experiments."""
    return (
        sa.exists()
        .where(
            t.Document.id == table.document_id,
            t.Experiment.window_id == t.Document.window_id,
            t.Experiment.id.in_(selection.experiments),
            view_recipe(table.view) == table.recipe,
        )
        .correlate(table)
    )


def _failed_rubrics(selection: Selection) -> sa.ColumnElement[bool]:
    needed = sa.exists().where(
        t.Experiment.id.in_(selection.experiments),
        t.Experiment.concept == t.Rubric.concept,
        t.Experiment.country == t.Rubric.country,
        t.Experiment.scale_size == t.Rubric.scale_size,
        t.Experiment.rubric_recipe == t.Rubric.recipe,
    )
    condition = needed & ((t.Rubric.status == "failed") | _UNMARKED)
    if selection.failure:
        condition &= selection.failure == _KIND
    return condition


def _forget_rubrics(session: Session, condition: sa.ColumnElement[bool]) -> None:
    deleted = session.execute(
        sa.delete(t.Rubric).where(condition).returning(t.Rubric.key, t.Rubric.status)
    ).all()
    for key, status in deleted:
        # The rubric itself is good when only its marks are missing.
        call_keys = f"^rubric/{key}/[0-9]+$" if status == "failed" else f"^critic/{key}$"
        set_aside(session, t.Call.key.regexp_match(call_keys))


def removal(session: Session, selection: Selection) -> Removal:
    """Return what `clean` would take away; raises `StoreError` as that does."""
    return Removal(
        calls=count_of(session, t.Call, _calls(session, selection, keep_derived=False)),
        samples=count_of(session, t.Sample, _going(selection, JUDGEMENT)),
        probes=count_of(session, t.Probe, _going(selection, PROBING)),
        marks=count_of(session, t.ScoreMark, _going(selection, MARKING)),
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
        for unit in OF_EXPERIMENTS:
            session.execute(sa.delete(unit.table).where(_going(selection, unit)))
        if not selection.failure and selection.covers(SCORING, SWAP):
            session.execute(sa.delete(t.Arm).where(t.Arm.id.in_(arms(selection))))
    session.execute(sa.delete(t.Call).where(among(t.Call.id, going)))


def _calls(session: Session, selection: Selection, *, keep_derived: bool) -> sa.ColumnElement[bool]:
    if not selection.covers(*CLEANED):
        raise StoreError(
            f"{selection.workflow} is shared by experiments, so it cannot be cleaned of some.",
            f"Use {', '.join(CLEANED)}; `judge-gym sweep retry` asks again for what failed in it.",
        )
    condition = calls(selection.of_experiments)
    if not keep_derived:
        # Probes and marks go with their sample, and so do the calls that made them.
        for unit in (PROBING, MARKING):
            going = sa.select(unit.table.call_id).where(_going(selection, unit))
            condition |= t.Call.id.in_(going)
    if waiting := waiting_in_batches(session, condition):
        raise StoreError(
            f"Of these calls, {in_batches(sum(waiting.values()))}: answers would be lost.",
            "Cancel them with `judge-gym sweep cancel`, or run the sweep until they are in.",
        )
    return condition


def _samples(selection: Selection) -> sa.ColumnElement[bool]:
    if not selection.covers(SCORING, SWAP):
        return sa.false()
    condition: sa.ColumnElement[bool] = t.Sample.arm_id.in_(arms(selection))
    if selection.failure:
        condition &= failed(selection, t.Sample)
    return condition


def _going(selection: Selection, unit: Unit) -> sa.ColumnElement[bool]:
    """Return which rows go: the chosen samples; of what is about them, the chosen and theirs."""
    if not unit.is_of_samples:
        return _samples(selection)
    condition: sa.ColumnElement[bool] = unit.sample_id.in_(
        sa.select(t.Sample.id).where(_samples(selection))
    )
    if selection.covers(*unit.workflows):
        in_arms = t.Sample.arm_id.in_(arms(Selection(selection.experiments)))
        own: sa.ColumnElement[bool] = unit.sample_id.in_(sa.select(t.Sample.id).where(in_arms))
        if selection.failure:
            own &= failed(selection, unit.table)
        condition |= own
    return condition


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
