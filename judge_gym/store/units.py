"""The kinds of work that leave rows: judgements, probes, marks, views, rubrics, changed texts.

A run makes the rows that are missing. Progress, retries, cleaning and the readability of answers
are queries over one of these, so a new kind of work is one entry here.
"""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.answers.readability import Answers, answers_by_judge
from judge_gym.design.names import CRITIC, EVIDENCE, PROBE, RUBRIC, SCORING, SWAP
from judge_gym.store import tables as t
from judge_gym.store.bulk import among
from judge_gym.store.calls import blank, set_aside

OTHER = "other"
EMPTY = "empty"
WORKFLOW_OF_ARM = sa.case((t.Arm.arm == "own", SCORING), else_=SWAP)
"""Swap and sham arms are one workflow's work."""
_ON: dict[Any, sa.ColumnElement[bool]] = {
    t.Arm: t.Arm.experiment_id == t.Experiment.id,
    t.Sample: t.Sample.arm_id == t.Arm.id,
    t.Probe: t.Probe.sample_id == t.Sample.id,
    t.ScoreMark: t.ScoreMark.sample_id == t.Sample.id,
    t.View: t.View.document_id == t.Document.id,
}
"""Table → which of its rows belong to a row of the table before it."""


def in_sweep(
    experiment_id: Any,
    sweep: str,
    link: type[t.SweepExperiment] | type[t.FormerSweepExperiment] = t.SweepExperiment,
) -> sa.ColumnElement[bool]:
    """Whether an experiment is in a sweep, or by `FormerSweepExperiment` was."""
    of_sweep = sa.select(link.experiment_id).join(t.Sweep, t.Sweep.id == link.sweep_id)
    named = of_sweep.where(t.Sweep.name == sweep).correlate(None)
    condition: sa.ColumnElement[bool] = experiment_id.in_(named)
    return condition


def declared_replicates(sweep: str | None) -> sa.Subquery:
    """Select experiment_id and replicates of a sweep's experiments, as its file declares.

    Without a sweep: of every experiment, the most that any sweep declares.
    """
    if sweep is None:
        every = sa.select(t.Experiment.id.label("experiment_id"), t.Experiment.replicates)
        return every.subquery("declared")
    return (
        sa.select(t.SweepExperiment.experiment_id, t.SweepExperiment.replicates)
        .join(t.Sweep, t.Sweep.id == t.SweepExperiment.sweep_id)
        .where(t.Sweep.name == sweep)
        .subquery("declared")
    )


def within(query: Any, sweep: str | None) -> Any:
    """Limit a query over arms and samples to the replicates that the sweep's file declares."""
    if sweep is None:
        return query
    declared = declared_replicates(sweep)
    return query.join(declared, declared.c.experiment_id == t.Arm.experiment_id).where(
        t.Sample.replicate < declared.c.replicates
    )


@dataclass(frozen=True)
class Unit:
    """A kind of work: each piece of it is a row of one table, whatever its outcome."""

    table: Any
    answerer: Any
    """Who answered, as messages name it; an expression over the table and those above it."""
    workflows: tuple[str, ...] = ()
    """What makes it in a sweep; empty for judges of products."""
    above: tuple[Any, ...] = ()
    """The tables that its rows are chosen by, each after the one that it refers to."""
    why: Any = None
    """Why there is no answer, where that is not the table's `failure`."""

    @property
    def failure(self) -> Any:
        """Why a piece has no answer: a kind, a colon, what happened; NULL of answered ones."""
        return self.table.failure if self.why is None else self.why

    @property
    def is_of_samples(self) -> bool:
        """Whether it is about samples: it goes with them."""
        return self.table is not t.Sample and t.Sample in self.above

    @property
    def sample_id(self) -> Any:
        """The sample that a row is, or is about."""
        return self.table.sample_id if self.is_of_samples else self.table.id

    def rows(self, *columns: Any, sweep: str | None = None) -> sa.Select[Any]:
        """Select columns of its rows and of the tables above them.

        Of a sweep, only the replicates that its file declares.
        """
        first, *others = (*self.above, self.table)
        query = sa.select(*columns).select_from(first)
        for table in others:
            query = query.join(table, _ON[table])
        limited: sa.Select[Any] = within(query, sweep)
        return limited

    def done(self, **key: Any) -> sa.ColumnElement[bool]:
        """Return the condition that the row with this key is there; missing work has none."""
        return sa.exists().where(*(getattr(self.table, name) == of for name, of in key.items()))

    @property
    def empty(self) -> sa.ColumnElement[bool]:
        """The condition that a row's answer was made for it and has no text."""
        made = t.Call.id == (sa.any_(self._calls) if self._has_several_calls else self._calls)
        without_text = sa.exists().where(made, blank(t.Call)).correlate(self.table)
        kind = self.table.failure_kind
        is_empty = (kind == EMPTY) | ((kind == "truncated") & without_text)
        return sa.and_(
            self.table.status == "unparseable",
            without_text if self._has_several_calls else is_empty,
            ~t.Sample.imported if self.table is t.Sample else sa.true(),
        )

    @property
    def retryable(self) -> sa.ColumnElement[bool]:
        """The condition that a row failed, or that its answer is empty."""
        # Without an answer there is a kind, by which an index finds the few.
        return sa.and_(
            self.table.failure_kind.is_not(None),
            sa.or_(self.table.status == "failed", self.empty),
        )

    @property
    def retryable_kind(self) -> sa.ColumnElement[str]:
        """The kind of failure of a retryable row."""
        return sa.case((self.table.status == "failed", self.table.failure_kind), else_=EMPTY)

    @property
    def _has_several_calls(self) -> bool:
        return hasattr(self.table, "call_ids")

    @property
    def _calls(self) -> Any:
        return self.table.call_ids if self._has_several_calls else self.table.call_id

    def forget(self, session: Session, condition: sa.ColumnElement[bool]) -> None:
        """Delete rows, so that they are missing again.

        Their calls that failed are planned again, under the same ledger rows. Answers that were of
        no use stay in the ledger under another key, so that they are not used again.
        """
        deleted = session.scalars(
            sa.delete(self.table).where(condition).returning(self._calls)
        ).all()
        if self._has_several_calls:  # of two answers, one may be good
            every = among(t.Call.id, (call for calls in deleted for call in calls))
            set_aside(session, every & blank(t.Call))
        else:
            set_aside(session, among(t.Call.id, (call for call in deleted if call is not None)))

    def answers(
        self, session: Session, *chosen: sa.ColumnElement[bool], sweep: str | None = None
    ) -> list[Answers]:
        """Count the rows that fit every condition by who answered and why there is no answer."""
        query = self.rows(self.answerer, self.failure, sa.func.count(), sweep=sweep)
        rows = session.execute(query.where(*chosen).group_by(self.answerer, self.failure))
        return answers_by_judge(rows.tuples().all())


_OF_SAMPLES = (t.Experiment, t.Arm, t.Sample)
JUDGEMENT = Unit(t.Sample, t.Experiment.model, (SCORING, SWAP), (t.Experiment, t.Arm))
PROBING = Unit(t.Probe, t.Experiment.model, (PROBE,), _OF_SAMPLES)
MARKING = Unit(
    t.ScoreMark, t.ScoreMark.critic_model + " (marks of reasoning)", (CRITIC,), _OF_SAMPLES
)
VIEW = Unit(t.View, t.View.method + " (" + t.View.view + " views)", (EVIDENCE,), (t.Document,))
RUBRIC_WRITING = Unit(
    t.Rubric,
    t.Rubric.owner_model + " (rubrics)",
    (RUBRIC,),
    # One that is refused for its marks was readable.
    why=sa.case((t.Rubric.status == "failed", t.Rubric.failure)),
)
RUBRIC_RATING = Unit(
    t.Rubric, t.Rubric.critic_model + " (marks of rubrics)", (RUBRIC,), why=t.Rubric.critic_failure
)
RESULT = Unit(t.JudgeResult, t.Judge.name)
REWRITING = Unit(t.PerturbedText, t.PerturbedText.model + " (changed texts)")
OF_EXPERIMENTS = (PROBING, MARKING, JUDGEMENT)
"""What experiments have, what is about samples first."""
