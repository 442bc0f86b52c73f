"""What a sweep has used so far, summed over the ledger; budgets are checked elsewhere."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.counting import cost_in_words
from judge_gym.design.experiment import Experiment
from judge_gym.design.plans import SwapPlan
from judge_gym.design.strategies.view import VIEWS
from judge_gym.records.calls import IMPORTED, SHARED
from judge_gym.store import tables as t
from judge_gym.store.calls import (
    at_most_usd,
    discarded_answers,
    lost_requests,
    paid_usd,
    sendings_without_outcome,
    unknown_costs,
)
from judge_gym.store.experiments import experiments_of_sweep, former_experiments
from judge_gym.store.recipes import view_recipe
from judge_gym.store.rubrics import applied_key, sham_key
from judge_gym.store.units import in_sweep


@dataclass(frozen=True)
class CallSums:
    """The ledger summed over one workflow, agent and model; `cost` is None when it is unknown."""

    workflow: str
    agent: str
    model: str
    calls: int
    failed: int
    attempts: int
    prompt: int
    completion: int
    cost: Decimal | None
    unpriced: int
    lost: int
    """Of `unpriced`, those whose run was stopped before their answer."""
    simulated: bool
    imported: bool
    """Whether the answers were imported; no calls were made for them here."""
    prompts: Sequence[str] | None
    """Each template with the digest of its text."""
    first: datetime
    last: datetime | None


@dataclass(frozen=True)
class Scope:
    """Whose calls are a sweep's: those of its experiments, their views and rubrics."""

    sweep: str
    shared_keys: Sequence[str]
    """Natural keys of its windows and rubrics, which other sweeps may have paid for already."""
    views: Sequence[tuple[str, str, str]] = ()
    """Key of a window, view and recipe of the views that its experiments read."""
    former: "Scope | None" = None
    """The same of the experiments that left it as its file or a recipe changed."""


_EMBEDS = t.Call.key.startswith("embedding/")
_OF_VIEW = sa.func.split_part(t.Call.key, "/", 1) == "view"


@dataclass(frozen=True)
class Spent:
    """Sums over a sweep's ledger rows."""

    calls: int
    """Calls made, discarded first answers included."""
    cost_usd: float
    unpriced: int
    """Requests of unknown cost, answered or not; they are not in `cost_usd`."""
    ended: int
    failed: int
    """Of `ended`. A model that refuses every call ends the run by itself and is in neither."""
    simulated: bool = False
    """Whether a simulator gave every answer, whatever the models are named."""
    sent_again: int = 0
    """Sendings of unknown outcome of calls that were asked again since; not in `calls`."""
    at_most_usd: float = 0.0
    """The most that the requests of unknown cost may have cost, those of models with a price."""
    unsent: int = 0
    """Calls that failed before a request: their model does not apply what they set."""
    unread: int = field(default=0, compare=False)
    """Prompts that providers did not read to the end; as below, of what the sweep is now."""
    refused: int = field(default=0, compare=False)
    """Calls that failed for a reason that their whole model shares."""
    in_flight: int = field(default=0, compare=False)
    """Calls sent and not ended, without those in batches."""
    last_ended: datetime | None = field(default=None, compare=False)
    """When the last call outside batches was answered or failed."""
    cancelled: bool = field(default=False, compare=False)
    """Whether calls were cancelled, and none was sent since."""
    open_calls: int = field(default=0, compare=False)
    """Calls sent and not ended, of this run, of another or of one that was killed."""
    open_usd: float = field(default=0.0, compare=False)
    """The most that they can cost, without those of models without a price; in no other sum."""

    @property
    def bound_usd(self) -> float:
        """What was spent at most: what bounds of cost are compared with."""
        return self.cost_usd + self.at_most_usd

    @property
    def cost_in_words(self) -> str:
        """The cost of what was answered."""
        unknown, most = self.unpriced, self.at_most_usd
        return cost_in_words(self.cost_usd, unknown, most, simulated=self.simulated)


def spending_scope(session: Session, sweep: str) -> Scope:
    """Return whose calls are this sweep's; raises `StoreError` when it is not stored."""
    sham = writes_shams(session, sweep)
    now = experiments_of_sweep(session, sweep).values()
    former = former_experiments(session, sweep)
    return Scope(
        sweep,
        _shared_keys(now, sham=sham),
        _views_read(session, sweep, t.SweepExperiment),
        Scope(
            sweep,
            _shared_keys(former, sham=sham),
            _views_read(session, sweep, t.FormerSweepExperiment),
        )
        if former
        else None,
    )


def writes_shams(session: Session, sweep: str) -> bool:
    """Return whether each judge of a stored sweep that writes a rubric writes a second one."""
    swap = session.scalar(sa.select(t.Sweep.swap).where(t.Sweep.name == sweep))
    return bool(swap) and SwapPlan.model_validate(swap).sham


def _shared_keys(experiments: Collection[Experiment], *, sham: bool) -> list[str]:
    windows = {experiment.window.key for experiment in experiments}
    return sorted(windows | _rubric_keys(experiments, sham=sham))


_Link = type[t.SweepExperiment] | type[t.FormerSweepExperiment]


def _views_read(session: Session, sweep: str, link: _Link) -> list[tuple[str, str, str]]:
    """Return the views that experiments read, as `Scope.views`."""
    view = sa.values(sa.column("view", sa.Text), name="kinds").data([(kind,) for kind in VIEWS[1:]])
    recorded = t.Experiment.recipe.is_not(None)
    rows = session.execute(
        sa.select(t.Window.key, view.c.view, view_recipe(view.c.view))
        .select_from(link)
        .join(t.Sweep, t.Sweep.id == link.sweep_id)
        .join(t.Experiment, t.Experiment.id == link.experiment_id)
        .join(t.Window, t.Window.id == t.Experiment.window_id)
        .join(view, ~recorded | t.Experiment.view_recipes.has_key(view.c.view))
        .where(t.Sweep.name == sweep)
        .distinct()
    )
    return sorted(rows.tuples())


def calls_of(scope: Scope) -> sa.ColumnElement[bool]:
    """Return the condition that a ledger row is of what the sweep is now."""
    return _calls(scope, t.SweepExperiment)


def _calls(scope: Scope, link: _Link) -> sa.ColumnElement[bool]:
    own = in_sweep(t.Call.experiment_id, scope.sweep, link)
    shared = shared_calls(scope.shared_keys)
    return own | (shared & (~_OF_VIEW | _read(scope.views)))


def _read(views: Sequence[tuple[str, str, str]]) -> sa.ColumnElement[bool]:
    """Return the condition that a view of one of these recipes came of a call, or was to.

    The key of a call has the recipe unless it was the first for its document and view. One that
    came to no view, as it failed or was cancelled, is then of every recipe.
    """
    of_call = t.View.call_id == t.Call.id
    window, view, recipe = (sa.func.split_part(t.Call.key, "/", part) for part in (2, 4, 5))
    made = sa.exists().where(of_call, sa.tuple_(window, view, t.View.recipe).in_(views))
    to_make = sa.tuple_(window, view, recipe).in_(views) | sa.and_(
        recipe.regexp_match("^[0-9a-f]{16}$").is_not(True),
        sa.tuple_(window, view).in_([of_window[:2] for of_window in views]),
    )
    return made | (~sa.exists().where(of_call) & to_make)


def shared_calls(keys: Sequence[str]) -> sa.ColumnElement[bool]:
    """Return the condition that a ledger row is of a window or rubric with one of these keys."""
    # Keys of such calls are kind/key of the window or rubric/more; an index finds the NULLs.
    return sa.and_(t.Call.experiment_id.is_(None), sa.func.split_part(t.Call.key, "/", 2).in_(keys))


def ended_and_open(session: Session, scope: Scope, since: datetime) -> tuple[int, int]:
    """Return the calls of a sweep that ended since a time, and those sent without an answer.

    Calls in batches are not counted as sent: their answers are taken in later.
    """
    ended, opened = session.execute(
        sa.select(
            sa.func.count().filter(
                t.Call.status.in_(("succeeded", "failed")), t.Call.finished_at >= since
            ),
            sa.func.count().filter(t.Call.status == "sent", t.Call.batch_id.is_(None)),
        ).where(calls_of(scope))
    ).one()
    return ended, opened


def spent(session: Session, scope: Scope) -> Spent:
    """Sum what the sweep has ever used; one statement, whose time grows with the sweep's calls.

    `ended`, `failed` and `unsent` are of what it is now, since a run retries no other failures.
    """
    current = calls_of(scope)
    former = _calls(scope.former, t.FormerSweepExperiment) if scope.former else None
    # Of a sweep that nothing has left, every row is current, and is not tested for each count.
    now = (current,) if scope.former else ()
    kind = t.Call.errors[-1]["kind"].astext
    failed = t.Call.status == "failed"
    for_good = sa.and_(failed, kind.not_in(SHARED))
    answered = t.Call.status == "succeeded"
    direct = t.Call.route == "direct"
    row = session.execute(
        sa.select(
            sa.func.count().filter(t.Call.attempts > 0),
            sa.func.coalesce(sa.func.sum(discarded_answers()), 0),
            sa.func.coalesce(sa.func.sum(paid_usd()), 0),
            sa.func.coalesce(sa.func.sum(unknown_costs()), 0),
            sa.func.count().filter(*now, answered | for_good),
            sa.func.count().filter(*now, for_good),
            sa.func.coalesce(sa.func.bool_and(t.Call.simulated).filter(answered), sa.false()),
            sa.func.coalesce(sa.func.sum(sendings_without_outcome()), 0),
            sa.func.coalesce(sa.func.sum(at_most_usd()), 0),
            sa.func.count().filter(*now, failed, t.Call.attempts == 0, kind.is_(None)),
            sa.func.count(t.Call.prompt_words).filter(*now, sa.true()),
            sa.func.count().filter(*now, failed, kind.in_(SHARED)),
            sa.func.count().filter(*now, t.Call.status == "sent", t.Call.batch_id.is_(None)),
            sa.func.max(t.Call.finished_at).filter(*now, answered | failed, direct),
            sa.func.max(t.Call.finished_at).filter(*now, t.Call.status == "cancelled"),
            sa.func.max(t.Call.sent_at).filter(*now, sa.true()),
            sa.func.count().filter(t.Call.status == "sent"),
            sa.func.coalesce(sa.func.sum(t.Call.at_most_usd).filter(t.Call.status == "sent"), 0),
        ).where(current if former is None else current | former)
    ).one()
    calls, again, dollars, unknown, ended, failures, simulated, lost, at_most, unsent, *rest = row
    unread, refused, in_flight, last_ended, cancelled_at, sent_at, open_calls, open_usd = rest
    return Spent(
        calls + int(again),
        float(dollars),
        int(unknown),
        ended,
        failures,
        simulated,
        int(lost),
        float(at_most),
        unsent,
        unread,
        refused,
        in_flight,
        last_ended,
        cancelled_at is not None and (sent_at is None or sent_at <= cancelled_at),
        open_calls,
        float(open_usd),
    )


def spent_since(session: Session, since: datetime) -> tuple[int, float]:
    """Return the calls sent to real models since a time, and their cost in US dollars at most.

    A call's attempts count at its last one, refused ones too. The provider's name says what is
    simulated, as before a call is sent: through another name the simulator's calls count.
    """
    calls, cost = session.execute(
        sa.select(
            sa.func.coalesce(sa.func.sum(t.Call.attempts), 0),
            sa.func.coalesce(sa.func.sum(sa.func.coalesce(paid_usd(), 0) + at_most_usd()), 0),
        ).where(*_sent_to_real_models(since))
    ).one()
    return int(calls), float(cost)


def sent_since(session: Session, since: datetime) -> list[tuple[datetime, int, float]]:
    """Return when each call that `spent_since` sums was sent, its attempts and its cost; by time.

    The cost of a call in US dollars is its bound while it is unknown, 0 in flight.
    """
    rows = session.execute(
        sa.select(t.Call.sent_at, t.Call.attempts, sa.func.coalesce(paid_usd(), 0) + at_most_usd())
        .where(*_sent_to_real_models(since))
        .order_by(t.Call.sent_at)
    )
    return [(sent_at, attempts, float(cost)) for sent_at, attempts, cost in rows if sent_at]


def _sent_to_real_models(since: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        t.Call.sent_at >= since,
        t.Call.provider != "sim",
        ~t.Call.provider.startswith("sim-", autoescape=True),
    )


# The tokens of a reused answer were spent once, by the call that got it.
_PAID = t.Call.route != "cache"


def _whole(counts: Any) -> sa.ColumnElement[int]:
    """Return the sum of counts; PostgreSQL's own has decimals."""
    return sa.cast(sa.func.sum(counts), sa.BigInteger)


_SUMS: Mapping[str, tuple[sa.ColumnElement[Any], Callable[[Any], sa.ColumnElement[Any]]]] = {
    "calls": (sa.func.count(), _whole),
    "failed": (sa.func.count().filter(t.Call.status == "failed"), _whole),
    "attempts": (sa.func.coalesce(sa.func.sum(t.Call.attempts), 0), _whole),
    "prompt": (sa.func.coalesce(sa.func.sum(t.Call.prompt_tokens).filter(_PAID), 0), _whole),
    "completion": (
        sa.func.coalesce(sa.func.sum(t.Call.completion_tokens).filter(_PAID), 0),
        _whole,
    ),
    "cost": (sa.func.sum(paid_usd()), sa.func.sum),
    "unpriced": (sa.func.coalesce(sa.func.sum(unknown_costs()), 0), _whole),
    "lost": (sa.func.coalesce(sa.func.sum(lost_requests()), 0), _whole),
    "simulated": (sa.func.coalesce(sa.func.bool_or(t.Call.simulated), sa.false()), sa.func.bool_or),
    "imported": (sa.func.bool_or(t.Call.route == IMPORTED), sa.func.bool_or),
    "first": (sa.func.min(t.Call.created_at), sa.func.min),
    "last": (sa.func.max(t.Call.finished_at), sa.func.max),
}
"""Field of `CallSums` → its sum over calls, and how sums of parts are put together."""


def call_sums(
    session: Session, experiments: Mapping[int, Experiment], *, sham: bool = False
) -> list[CallSums]:
    """Return the sums of the ledger over these experiments (by id), by workflow, agent and model.

    Judgements and probes name their experiment; views and rubrics are found by what they made.
    `sham` says whether each judge that writes a rubric writes a second one.
    """
    ids = list(experiments)
    views = (
        sa.select(t.View.call_id)
        .join(t.Document, t.Document.id == t.View.document_id)
        .join(t.Experiment, t.Experiment.window_id == t.Document.window_id)
        .where(t.Experiment.id.in_(ids), view_recipe(t.View.view) == t.View.recipe)
    )
    embedded = {one.window.key for one in experiments.values() if one.bundles.embeddings}
    # By prompt first: collecting the distinct texts of a group would sort all of its calls.
    by_prompt = (
        sa.select(
            *(column.label(column.key) for column in (t.Call.workflow, t.Call.agent, t.Call.model)),
            t.Call.template,
            sa.func.left(t.Call.template_hash, 12).label("hash"),
            *(value.label(name) for name, (value, _) in _SUMS.items()),
        )
        .where(
            sa.or_(
                t.Call.experiment_id.in_(ids),
                t.Call.id.in_(views),
                _EMBEDS & sa.func.split_part(t.Call.key, "/", 2).in_(embedded),
                sa.func.split_part(t.Call.key, "/", 2).in_(
                    _rubric_keys(experiments.values(), sham=sham)
                ),
            )
        )
        .group_by(t.Call.workflow, t.Call.agent, t.Call.model, t.Call.template, sa.text("hash"))
        .subquery()
    )
    of = by_prompt.c
    prompt = sa.func.concat_ws(" ", of.template, of.hash)
    totals = {name: total(of[name]) for name, (_, total) in _SUMS.items()}
    first, last = totals.pop("first"), totals.pop("last")
    sums = (
        sa.select(
            *(of.workflow, of.agent, of.model),
            *totals.values(),
            sa.func.array_agg(sa.distinct(prompt)).filter(of.template != ""),
            *(first, last),
        )
        .group_by(of.workflow, of.agent, of.model)
        .order_by(of.workflow, of.agent, of.model)
    )
    return [CallSums(*row) for row in session.execute(sums)]


def _rubric_keys(experiments: Collection[Experiment], *, sham: bool) -> set[str]:
    """Return the natural keys of the rubrics that these experiments apply, or are compared with."""
    keys = set(map(applied_key, experiments))
    if sham:
        own = [experiment for experiment in experiments if experiment.rubric.kind == "own"]
        keys |= set(map(sham_key, own))
    return keys
