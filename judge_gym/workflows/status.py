"""How far a sweep is: what people, `--json` and other programs are told, from one place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.workflow_names import PROBE
from judge_gym.errors import StoreError
from judge_gym.model_names import is_simulated_model
from judge_gym.store import tables as t
from judge_gym.store.activity import (
    RECENT,
    Activity,
    LoweredLimit,
    Refusal,
    activity,
    lowered_limits,
    refusals,
)
from judge_gym.store.batches import waiting
from judge_gym.store.cleaning import Kept, kept_failures
from judge_gym.store.experiments import experiments_by_tag, sweep_tags
from judge_gym.store.listings import WindowLine, windows
from judge_gym.store.progress import Progress, sweep_progress
from judge_gym.store.selecting import Selection
from judge_gym.store.spending import Spent, spending_scope, spent

ENOUGH = 10
"""Calls that must have ended lately before their rate says when the rest will have."""
HOW_ESTIMATED = (
    f"what is left, one call each, at the rate of the last {RECENT // timedelta(minutes=1)} minutes"
)


@dataclass(frozen=True)
class WorkflowStatus:
    """`Progress`, its state in a word, and how many calls wait in batches."""

    workflow: str
    state: str
    done: int
    total: int | None
    failed: int
    wait_in_batches: int


@dataclass(frozen=True)
class Expected:
    """When a sweep will be done; `at` is None when that cannot be said, and `why` says why."""

    at: datetime | None
    left: int
    at_least: bool
    """Whether more work will follow from what is not done yet."""
    why: str


@dataclass(frozen=True)
class Status:
    """One sweep at one moment."""

    sweep: str
    at: datetime
    simulated: bool
    """Whether every judge is simulated, so that nothing costs anything."""
    experiments: int
    windows: Sequence[WindowLine]
    workflows: Sequence[WorkflowStatus]
    providers: Sequence[Activity]
    lowered_limits: Sequence[LoweredLimit]
    spent: Spent
    failures: Sequence[Kept]
    """Kept as failed, to be asked again by `judge-gym retry`."""
    refusals: Sequence[Refusal]
    """Failed for a reason that their whole model shares; asked again by the next run."""
    expected: Expected

    @property
    def finished(self) -> bool:
        """Whether every workflow is complete, failures on record included."""
        return all(_is_over(part.state) for part in self.workflows)


def sweep_status(session: Session, sweep: str, now: datetime | None = None) -> Status:
    """Return how far a stored sweep is; raises `StoreError` when there is none of this name."""
    now = now or datetime.now(UTC)
    experiments = experiments_by_tag(session, sweep_tags(session, sweep))
    scope = spending_scope(session, sweep)
    progress = sweep_progress(session, list(experiments))
    in_batches = waiting(session, scope)
    lately = activity(session, scope, now)
    models = {one.model for one in experiments.values()}
    return Status(
        sweep=sweep,
        at=now,
        simulated=all(map(is_simulated_model, models)),
        experiments=len(experiments),
        windows=windows(session, of=list(experiments)),
        workflows=[
            WorkflowStatus(
                name, part.state, part.done, part.total, part.failed, in_batches.get(name, 0)
            )
            for name, part in progress.items()
        ],
        providers=lately,
        lowered_limits=lowered_limits(session, [one.provider for one in lately], now),
        spent=spent(session, scope),
        failures=kept_failures(session, Selection(list(experiments))),
        refusals=refusals(session, scope),
        expected=expected(progress, lately, sum(in_batches.values()), now),
    )


def progress_of(engine: sa.Engine, sweep: str) -> dict[str, Progress] | None:
    """Return the progress of a sweep's workflows; None while it is not stored yet."""
    with Session(engine) as session:
        try:
            tags = sweep_tags(session, sweep)
        except StoreError:
            return None
        return sweep_progress(session, list(experiments_by_tag(session, tags)))


def all_sweeps(session: Session) -> list[str]:
    """Return the names of all sweeps, the newest first."""
    return list(session.scalars(sa.select(t.Sweep.name).order_by(t.Sweep.id.desc())))


def expected(
    progress: Mapping[str, Progress],
    lately: Sequence[Activity],
    in_batches: int,
    now: datetime,
) -> Expected:
    """Return when the work will be done, if it goes on as in the last minutes."""
    left = sum(max(0, (part.total or 0) - part.done) for part in progress.values())
    at_least = any(
        not _is_over(part.state) for name, part in progress.items() if name != PROBE
    ) or any(part.total is None for part in progress.values())
    if not left and not at_least:
        return Expected(None, 0, False, "nothing is left to do")
    if in_batches:
        return Expected(None, left, at_least, f"{in_batches} calls wait in batches")
    if sum(one.ended for one in lately) < ENOUGH:
        return Expected(None, left, at_least, "too few calls ended lately to tell")
    minutes = left / sum(one.per_minute for one in lately)
    return Expected(now + timedelta(minutes=minutes), left, at_least, HOW_ESTIMATED)


def _is_over(state: str) -> bool:
    return state in ("complete", "complete with failures", "nothing to do")
