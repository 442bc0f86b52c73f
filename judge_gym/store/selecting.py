"""Selects what retry, cancel and clean work on: experiments, a workflow, a failure class.

A failure class is the kind of the last error of a call, such as `rate_limit`, or the word before
the colon in the failure of a row; what has none is `other`. A judgement or probe whose answer has
no text is `empty`, whatever its finish reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.names import SCORING, SWAP
from judge_gym.errors import StoreError, did_you_mean
from judge_gym.store import tables as t
from judge_gym.store.calls import UNPRICED
from judge_gym.store.experiments import database_of, experiment_tag
from judge_gym.store.spending import shared_calls, spending_scope
from judge_gym.store.units import JUDGEMENT, OTHER, in_sweep


@dataclass(frozen=True)
class Selection:
    """Experiments; empty `workflow` or `failure` is any."""

    experiments: Sequence[int]
    workflow: str = ""
    failure: str = ""
    shared_keys: Sequence[str] = ()
    """Natural keys of windows and rubrics whose calls belong to it too: those of a whole sweep."""
    sweep: str | None = None
    """The sweep whose replicates are retried; None is all."""

    def covers(self, *workflows: str) -> bool:
        """Whether one of these workflows is chosen."""
        return not self.workflow or self.workflow in workflows

    @property
    def of_experiments(self) -> "Selection":
        """Return it without the calls that experiments share."""
        return replace(self, shared_keys=())


@dataclass(frozen=True)
class ChosenExperiments:
    """The experiments of a sweep's name or an experiment's tag."""

    title: str
    experiments: dict[int, str]
    """Id → tag."""
    windows: tuple[int, ...]
    shared_keys: tuple[str, ...] = ()
    sweep: str | None = None

    def selection(self, workflow: str = "", failure: str = "") -> Selection:
        return Selection(tuple(self.experiments), workflow, failure, self.shared_keys, self.sweep)

    @property
    def locks(self) -> dict[str, list[str]]:
        """The names that runs lock while they work on any of it, by kind."""
        return {
            "experiments": list(self.experiments.values()),
            "windows": [str(window_id) for window_id in self.windows],
            "rubrics": ["all"],
        }


def chosen(session: Session, name: str) -> ChosenExperiments:
    """Return the selection of a sweep's name or an experiment's tag or number.

    Raises `StoreError` if there is neither, or both.
    """
    columns = (t.Experiment.id, t.Experiment.tag, t.Experiment.window_id)
    sweep_rows = session.execute(
        sa.select(*columns).where(in_sweep(t.Experiment.id, name)).order_by(t.Experiment.id)
    ).all()
    tag = experiment_tag(session, name)
    tagged = session.execute(sa.select(*columns).where(t.Experiment.tag == tag)).all()
    if bool(sweep_rows) == bool(tagged):
        many = "a sweep and an experiment" if sweep_rows else "no sweep and no experiment"
        raise StoreError(
            f"There is {many} {name!r}.",
            f"{_suggestion(session, name)}List sweeps with `judge-gym sweep status`, and "
            "experiments with `judge-gym analyse experiments list`. "
            f"{database_of(session)}",
        )
    rows = sweep_rows or tagged
    return ChosenExperiments(
        title=f"{'Sweep' if sweep_rows else 'Experiment'} {name}",
        experiments={row.id: row.tag for row in rows},
        windows=tuple(sorted({row.window_id for row in rows})),
        shared_keys=tuple(spending_scope(session, name).shared_keys) if sweep_rows else (),
        sweep=name if sweep_rows else None,
    )


def _suggestion(session: Session, name: str) -> str:
    names = sa.union(sa.select(t.Sweep.name), sa.select(t.Experiment.tag))
    return did_you_mean(name, session.scalars(names).all())


def last_error() -> sa.ColumnElement[str]:
    """Return the kind of a call's last error."""
    return sa.func.coalesce(t.Call.errors[-1]["kind"].astext, OTHER)


def arms(selection: Selection) -> sa.Select[Any]:
    """Return the ids of the arms whose judgements are chosen."""
    query = sa.select(t.Arm.id).where(t.Arm.experiment_id.in_(selection.experiments))
    if selection.workflow == SCORING:
        return query.where(t.Arm.arm == "own")
    if selection.workflow == SWAP:
        return query.where(t.Arm.arm != "own")
    return query


def samples(selection: Selection) -> sa.Select[Any]:
    """Return the ids of the chosen samples, limited to the replicates of a chosen sweep."""
    return JUDGEMENT.rows(t.Sample.id, sweep=selection.sweep).where(t.Arm.id.in_(arms(selection)))


def failed(selection: Selection, table: Any) -> sa.ColumnElement[bool]:
    """Return the condition that a row has status `failed`, in the selected class."""
    condition: sa.ColumnElement[bool] = table.status == "failed"
    if selection.failure:
        condition = sa.and_(condition, table.failure_kind == selection.failure)
    return condition


def calls(selection: Selection) -> sa.ColumnElement[bool]:
    """Return the condition that a ledger row belongs to what is chosen."""
    condition: sa.ColumnElement[bool] = t.Call.experiment_id.in_(selection.experiments)
    if selection.shared_keys:
        condition |= shared_calls(selection.shared_keys)
    if selection.workflow:
        condition &= t.Call.workflow == selection.workflow
    if selection.failure:
        condition &= (t.Call.status == "failed") & (last_error() == selection.failure)
    return condition


def waiting_in_batches(session: Session, condition: sa.ColumnElement[bool]) -> dict[int, int]:
    """Return batch → how many of the calls that fit `condition` wait in it."""
    rows = session.execute(
        sa.select(t.Batch.id, sa.func.count())
        .select_from(t.Call)
        .join(t.Batch, t.Batch.id == t.Call.batch_id)
        .where(t.Batch.status.in_(t.OPEN_BATCHES), condition)
        .group_by(t.Batch.id)
        .order_by(t.Batch.id)
    )
    return dict(rows.tuples().all())


@dataclass(frozen=True)
class LedgerLine:
    """Calls of one workflow, status and failure class; `cost_usd` sums the known costs."""

    workflow: str
    status: str
    failure: str
    calls: int
    cost_usd: float
    unpriced: int
    """Answers of unknown price."""


def ledger_lines(session: Session, condition: sa.ColumnElement[bool]) -> list[LedgerLine]:
    """Count the calls that fit `condition` by workflow, status and class of failure."""
    kind = sa.case((t.Call.status == "failed", last_error()), else_="")
    keys = (t.Call.workflow, t.Call.status, kind)
    rows = session.execute(
        sa.select(
            *keys,
            sa.func.count(),
            sa.func.coalesce(sa.func.sum(t.Call.cost_usd), 0),
            sa.func.count().filter(UNPRICED),
        )
        .where(condition)
        .group_by(*keys)
        .order_by(*keys)
    )
    return [
        LedgerLine(workflow, status, failure, count, float(cost_usd), unpriced)
        for workflow, status, failure, count, cost_usd, unpriced in rows
    ]
