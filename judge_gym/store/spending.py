"""What a sweep has used so far, summed over the ledger; what it may use does not belong here."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.swap_plan import SwapPlan
from judge_gym.records.calls import SHARED
from judge_gym.store import tables as t
from judge_gym.store.experiments import experiments_by_tag, sweep_tags
from judge_gym.store.rubrics import applied_key, old_sham_key, sham_key


@dataclass(frozen=True)
class Scope:
    """Whose calls are a sweep's: those of its experiments, windows and rubrics."""

    sweep: str
    shared_keys: Sequence[str]
    """Natural keys of its windows and rubrics, which other sweeps may have paid for already."""


@dataclass(frozen=True)
class Spent:
    """Sums over a sweep's ledger rows."""

    calls: int
    """Answers asked for, discarded first answers among them."""
    cost_usd: float
    unpriced: int
    """Answers whose cost is not known; they are not in `cost_usd`."""
    ended: int
    failed: int
    """Of `ended`. A model that refuses every call ends the run by itself and is in neither."""


def spending_scope(session: Session, sweep: str) -> Scope:
    """Return whose calls are this sweep's; raises `StoreError` when it is not stored."""
    experiments = experiments_by_tag(session, sweep_tags(session, sweep)).values()
    keys = {one.window.key for one in experiments} | {applied_key(one) for one in experiments}
    swap = session.scalars(sa.select(t.Sweep.swap).where(t.Sweep.name == sweep)).one()
    if swap and SwapPlan.model_validate(swap).sham:
        own = [one for one in experiments if one.rubric.kind == "own"]
        keys |= {key(one) for one in own for key in (sham_key, old_sham_key)}
    return Scope(sweep, sorted(keys))


def calls_of(scope: Scope) -> sa.ColumnElement[bool]:
    """Return the condition that a ledger row is the sweep's."""
    chosen = (
        sa.select(t.SweepExperiment.experiment_id)
        .join(t.Sweep, t.Sweep.id == t.SweepExperiment.sweep_id)
        .where(t.Sweep.name == scope.sweep)
    )
    return t.Call.experiment_id.in_(chosen) | shared_calls(scope.shared_keys)


def shared_calls(keys: Sequence[str]) -> sa.ColumnElement[bool]:
    """Return the condition that a ledger row is of a window or rubric with one of these keys."""
    # Keys of such calls are kind/key of the window or rubric/more; an index finds the NULLs.
    return sa.and_(t.Call.experiment_id.is_(None), sa.func.split_part(t.Call.key, "/", 2).in_(keys))


def spent(session: Session, scope: Scope) -> Spent:
    """Sum what the sweep has used; one statement, whose time grows with the sweep's calls."""
    error = sa.func.jsonb_array_elements(t.Call.errors).table_valued("value")
    discarded = (
        sa.select(
            sa.func.count().filter(error.c.value.op("?")("answer")).label("answers"),
            sa.func.sum(sa.cast(error.c.value.op("->>")("cost_usd"), sa.Numeric)).label("cost_usd"),
        )
        .select_from(error)
        .lateral("discarded")
    )
    kind = t.Call.errors[-1]["kind"].astext
    failed = sa.and_(t.Call.status == "failed", kind.not_in(SHARED))
    answered = t.Call.status == "succeeded"
    cost = sa.func.coalesce(t.Call.cost_usd, 0) + sa.func.coalesce(discarded.c.cost_usd, 0)
    row = session.execute(
        sa.select(
            sa.func.count().filter(t.Call.attempts > 0),
            sa.func.coalesce(sa.func.sum(discarded.c.answers), 0),
            sa.func.coalesce(sa.func.sum(cost), 0),
            sa.func.count().filter(answered, t.Call.cost_usd.is_(None)),
            sa.func.count().filter(answered | failed),
            sa.func.count().filter(failed),
        )
        .select_from(t.Call)
        .join(discarded, sa.true())
        .where(calls_of(scope))
    ).one()
    asked, again, dollars, unpriced, ended, failures = row
    return Spent(asked + int(again), float(dollars), unpriced, ended, failures)
