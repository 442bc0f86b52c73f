"""An installation at one moment: its parts, backlog, rates, spending and last failures.

Pages, `--json` and metrics show this one value. It holds names, numbers and messages of errors, no
text of a prompt, an answer, a document or an item, and no key.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from judge_gym.errors import RefusedLoginError, StoreError
from judge_gym.records.calls import FailureKind
from judge_gym.store.operating import (
    FailedCalls,
    OpenBatches,
    StudySpending,
    WorkflowSpending,
    failed_calls,
    open_batches,
    reading,
    server_facts,
    spending_by_study,
    spending_by_workflow,
)
from judge_gym.store.progress import Activity, LoweredLimit, activity, lowered_limits
from judge_gym.store.spending import spent_since

FAILURES_WITHIN = timedelta(days=1)
"""How long ago calls and runs failed that are listed."""
MOST_RUNS = 20
"""How many unfinished flow runs are named."""
WEEK = timedelta(days=7)
_LATER = "Nothing to do at once: `judge-gym sweep retry` makes these calls again."
REMEDIES: dict[FailureKind, str] = {
    "rate_limit": "Lower requests_per_minute of the provider in the providers file, then retry.",
    "quota": "Add money to the account of the provider, or raise its limit, then rerun.",
    "timeout": "Raise call_timeout_s if the model needs longer, then retry.",
    "connection": _LATER,
    "server": _LATER,
    "bad_request": "Read the message in the ledger (analysis.calls), and change the model's "
    "parameters in the sweep or in the providers file.",
    "authentication": "Set the provider's key for the worker, then rerun.",
    "no_access": "Ask the provider for access to the model, or use another model.",
    "not_found": "Correct the name of the model; `judge-gym models list` lists known ones.",
    "retired": "Use a newer model.",
    "unreachable": "Check the provider's address and the network of the worker, then rerun.",
    "context_too_long": "Use shorter texts, or a model with a longer context.",
    "content_policy": "None: a refusal is an outcome, and no retry makes the call again.",
    "output_limit": "Raise the limit of output tokens, then retry.",
    "unreadable": "Check that the address in the providers file is an API of that kind.",
}
OTHER_REMEDY = "Read the message in the ledger (analysis.calls)."


PartState = Literal["up", "down", "refused"]
"""`refused`: it answers, and refuses the user or the password."""


@dataclass(frozen=True)
class PartHealth:
    """A part of the installation, and whether it answers."""

    name: str
    state: PartState
    detail: str
    remedy: str = ""
    """Empty while it is healthy."""

    @property
    def healthy(self) -> bool:
        """Whether it answers."""
        return self.state == "up"


@dataclass(frozen=True)
class WorkerHealth:
    """A worker of a work pool."""

    name: str
    pool: str
    online: bool
    """As Prefect's server says: whether a heartbeat came within three intervals."""
    last_heartbeat: datetime | None


@dataclass(frozen=True)
class Backlog:
    """Work that has not begun, or waits for something."""

    running: int
    waiting: int
    """Flow runs that should have begun: late ones, and those that wait for a slot."""
    late: int
    """Of `waiting`, those that Prefect calls late: no worker has taken them."""
    suspended: int
    """Flow runs that wait for a person."""
    oldest_wait_s: float
    """How long ago the oldest of `waiting` should have begun; 0 without any."""
    batches: OpenBatches


@dataclass(frozen=True)
class Spending:
    """What calls to real models cost at most in a time."""

    since: datetime
    calls: int
    cost_usd: float


@dataclass(frozen=True)
class RunFailure:
    """A flow run that failed or crashed."""

    at: datetime
    id: str
    run: str
    """Its name."""
    kind: str
    """The name of its state."""
    message: str
    remedy: str


@dataclass(frozen=True)
class UnfinishedRun:
    """A flow run that runs, waits to begin, or waits for a person."""

    flow: str
    run: str
    """Its name."""
    id: str
    state: str
    """The name of its state in Prefect."""
    since: datetime
    """When it got the state; of one that waits to begin, when it should have begun."""
    link: str
    """Its page on Prefect's server; empty if the server's address is not known."""


@dataclass(frozen=True)
class Records:
    """What the database says."""

    providers: Sequence[Activity]
    lowered_limits: Sequence[LoweredLimit]
    batches: OpenBatches
    today: Spending
    week: Spending
    by_workflow: Sequence[WorkflowSpending]
    """Of the last seven days, simulated calls included."""
    studies: Sequence[StudySpending]
    failed_calls: Sequence[FailedCalls]


@dataclass(frozen=True)
class Installation:
    """Everything that an operator sees; what a part that is away would say is None."""

    at: datetime
    version: str
    parts: Sequence[PartHealth]
    workers: Sequence[WorkerHealth]
    backlog: Backlog | None
    runs: Sequence[UnfinishedRun]
    """Those of the backlog, `MOST_RUNS` at most: first those that run, the oldest first."""
    more_runs: int
    """How many of the backlog are not in `runs`."""
    failed_runs: Sequence[RunFailure]
    records: Records | None

    @property
    def healthy(self) -> bool:
        """Whether every part answers."""
        return all(part.healthy for part in self.parts)

    @property
    def failures(self) -> "list[tuple[RunFailure, int]]":
        """The last of the runs that failed in one way, the newest first, and how many they are."""
        ways = [(one.kind, one.message, one.remedy) for one in self.failed_runs]
        return [(self.failed_runs[ways.index(way)], n) for way, n in Counter(ways).items()]


def remedy_of(kind: str) -> str:
    """Return what to do about calls that failed in this way."""
    return next((text for known, text in REMEDIES.items() if known == kind), OTHER_REMEDY)


def read_records(engine: Engine, now: datetime) -> tuple[PartHealth, Records | None]:
    """Return whether PostgreSQL answers, and what it says."""
    try:
        with reading(engine) as session:
            detail = server_facts(session)
            return PartHealth("PostgreSQL", "up", detail), _records(session, now)
    except StoreError as error:
        return no_database(error), None


def no_database(error: StoreError) -> PartHealth:
    """Return the part for a database that does not answer, or refuses the login."""
    remedy = "Start the server; runs wait for it for 90 s, and are resumed later."
    state: PartState = "refused" if isinstance(error, RefusedLoginError) else "down"
    return PartHealth("PostgreSQL", state, error.message, error.remedy or remedy)


def _records(session: Session, now: datetime) -> Records:
    at_work = activity(session, None, now)
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return Records(
        providers=at_work,
        lowered_limits=lowered_limits(session, [one.provider for one in at_work], now),
        batches=open_batches(session),
        today=Spending(midnight, *spent_since(session, midnight)),
        week=Spending(now - WEEK, *spent_since(session, now - WEEK)),
        by_workflow=spending_by_workflow(session, now - WEEK),
        studies=spending_by_study(session),
        failed_calls=failed_calls(session, now, FAILURES_WITHIN),
    )
