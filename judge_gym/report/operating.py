"""The page and the tables of an installation: health, backlog, rates, spending, last failures."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from judge_gym.formats import ABSENT, dollars, duration
from judge_gym.lab.operating import Installation, Records, remedy_of
from judge_gym.report.files import ENVIRONMENT
from judge_gym.report.table import Row, Table, plain_table
from judge_gym.store.operating import StudySpending

PER_MINUTE = (
    "Per minute: the calls that ended in the last 5 minutes, over the time since the first of them "
    "was sent, 10 s at least and 5 minutes at most."
)
REFRESH_S = 30
"""How often the page loads itself anew."""


def operating_page(found: Installation, links: Sequence[tuple[str, str]] = ()) -> str:
    """Return the page; it loads nothing from anywhere. `links` are title and address."""
    return ENVIRONMENT.get_template("operating.html.j2").render(
        found=found, tables=operating_tables(found), links=links, refresh_s=REFRESH_S
    )


def operating_tables(found: Installation) -> list[Table]:
    """Return what there is to show, the most important first; empty tables are left out."""
    return [table for table in _tables(found) if table.rows]


def _tables(found: Installation) -> Iterator[Table]:
    yield plain_table(
        "Parts",
        ("part", "state", "detail", "what to do"),
        ((part.name, part.state, part.detail, part.remedy or ABSENT) for part in found.parts),
    )
    yield plain_table(
        "Workers",
        ("worker", "work pool", "state", "last heartbeat"),
        (
            (
                worker.name,
                worker.pool,
                "online" if worker.online else "offline",
                _ago(worker.last_heartbeat, found.at),
            )
            for worker in found.workers
        ),
    )
    yield _backlog(found)
    yield _runs(found)
    yield plain_table(
        "Runs that failed in the last day",
        ("last at", "run", "times", "kind", "message", "what to do"),
        (
            (_time(one.at), one.run, times, one.kind, one.message or ABSENT, one.remedy or ABSENT)
            for one, times in found.failures
        ),
    )
    if found.records:
        yield from _of_records(found.records)


def _backlog(found: Installation) -> Table:
    rows: list[tuple[object, ...]] = []
    if backlog := found.backlog:
        oldest = duration(backlog.oldest_wait_s) if backlog.waiting else ABSENT
        rows = [
            ("flow runs that run", backlog.running, ABSENT),
            ("flow runs that wait", backlog.waiting, oldest),
            ("of these, late: no worker took them", backlog.late, ABSENT),
            ("flow runs that wait for a person", backlog.suspended, ABSENT),
        ]
    if found.records:
        batches = found.records.batches
        rows += [
            ("open batches", batches.batches, _ago(batches.oldest, found.at)),
            ("calls in them", f"{batches.calls:,}", ABSENT),
        ]
    return plain_table("Backlog", ("what", "number", "oldest"), rows, words=1)


def _runs(found: Installation) -> Table:
    rows = tuple(
        Row((one.run, one.flow, one.state, _ago(one.since, found.at)), link=one.link)
        for one in found.runs
    )
    more = (f"{found.more_runs:,} more.",) if found.more_runs else ()
    columns = ("run", "flow", "state", "since")
    return Table("Flow runs that run or wait", "", columns, rows, notes=more, words=len(columns))


def _of_records(records: Records) -> Iterator[Table]:
    yield plain_table(
        "Calls that failed in the last day",
        ("model", "kind", "calls", "last", "what to do"),
        (
            (one.model, one.kind, f"{one.calls:,}", _time(one.last), remedy_of(one.kind))
            for one in records.failed_calls
        ),
    )
    lowered = {one.provider: one for one in records.lowered_limits}
    providers = plain_table(
        "Providers, last 5 minutes",
        ("provider", "calls ended", "per minute", "in flight", "lowered limit"),
        (
            (
                one.provider,
                one.ended,
                f"{one.per_minute:.0f}",
                one.in_flight,
                f"{lowered[one.provider].in_flight} at once" if one.provider in lowered else ABSENT,
            )
            for one in records.providers
        ),
        words=1,
    )
    yield replace(providers, notes=(PER_MINUTE,))
    yield plain_table(
        "Spending, real models, at most",
        ("time", "calls", "USD"),
        (
            ("today (UTC)", f"{records.today.calls:,}", dollars(records.today.cost_usd)),
            ("last 7 days", f"{records.week.calls:,}", dollars(records.week.cost_usd)),
        ),
        words=1,
    )
    yield plain_table(
        "Spending by sweep, since its beginning",
        ("sweep", "cost", "budget", "left", "calls", "calls left"),
        (_study(one) for one in records.studies),
        words=2,
    )
    yield plain_table(
        "Calls by workflow, last 7 days, simulated ones included",
        ("workflow", "calls", "USD at most"),
        ((one.workflow, f"{one.calls:,}", dollars(one.cost_usd)) for one in records.by_workflow),
        words=1,
    )


def _study(one: StudySpending) -> tuple[object, ...]:
    spent, most = one.spent, one.budget.max_cost_usd
    return (
        one.sweep,
        spent.cost_in_words,
        ABSENT if most is None else f"{most:g}",
        ABSENT if one.left_usd is None else dollars(one.left_usd),
        f"{spent.calls:,}",
        ABSENT if one.left_calls is None else f"{one.left_calls:,}",
    )


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _ago(at: datetime | None, now: datetime) -> str:
    return ABSENT if at is None else f"{duration(max(0.0, (now - at).total_seconds()))} ago"
