"""What the doctor says of workers and of schedules in zones whose clock changes.

The changes are those of Europe/Lisbon in 2027: on 28 March at 01:00 UTC from 01:00 to 02:00, on
31 October at 01:00 UTC from 02:00 back to 01:00.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from prefect.client.schemas.objects import Worker
from prefect.server.schemas.schedules import CronSchedule

from deployments.cli.doctor_lines import State
from deployments.cli.doctor_server import clock_line, next_change, worker_lines

LISBON = "Europe/Lisbon"
NOW = datetime(2027, 10, 29, 12, tzinfo=UTC)
BACK = datetime(2027, 10, 31, 1, tzinfo=UTC)
SPRING = datetime(2027, 3, 27, 12, tzinfo=UTC)


def a_worker(name: str, status: str, seconds_ago: float) -> Worker:
    seen = NOW - timedelta(seconds=seconds_ago)
    return Worker(name=name, work_pool_id=uuid4(), status=status, last_heartbeat_time=seen)


def test_a_worker_that_is_gone_is_named_beside_one_at_work() -> None:
    workers = [a_worker("b", "ONLINE", 5), a_worker("a", "OFFLINE", 100)]
    gone, there = worker_lines(workers, "judge-gym", 0, NOW)
    assert (gone.subject, gone.state) == ("worker a", State.MISSING)
    assert "--name 'a'" in gone.remedy
    assert (there.subject, there.state) == ("worker b", State.FINE)


def test_one_that_is_gone_for_long_was_stopped() -> None:
    assert worker_lines([a_worker("a", "OFFLINE", 4000)], "judge-gym", 0, NOW) == []


@pytest.mark.parametrize(
    ("status", "state"), [("ONLINE", State.MISSING), ("OFFLINE", State.BROKEN)]
)
def test_late_runs_are_a_problem_where_no_worker_is_online(status: str, state: State) -> None:
    *_, runs = worker_lines([a_worker("a", status, 10)], "judge-gym", 3, NOW)
    assert (runs.subject, runs.detail, runs.state) == (
        "runs", "3 runs of deployments late", state,
    )  # fmt: skip


def test_a_change_of_the_clock_is_found_to_the_second() -> None:
    assert next_change(ZoneInfo(LISBON), NOW, NOW + timedelta(days=7)) == BACK
    assert next_change(ZoneInfo(LISBON), BACK, BACK + timedelta(days=7)) is None


@pytest.mark.parametrize(
    ("cron", "now", "said"),
    [
        ("30 1 * * *", NOW, "back: times between 01:00 and 02:00 come twice"),
        ("*/20 * * * *", NOW, "back: times between 01:00 and 02:00 come twice"),
        ("30 1 * * *", SPRING, "forward: runs between 01:00 and 02:00"),
    ],
)
def test_a_schedule_that_it_moves_is_named(cron: str, now: datetime, said: str) -> None:
    line = asyncio.run(clock_line("schedule of x", cron, LISBON, now))
    assert line is not None
    assert said in line.detail
    assert line.remedy


@pytest.mark.parametrize(
    ("cron", "zone", "now"),
    [
        ("0 3 * * *", LISBON, NOW),  # at another hour
        ("0 2 * * *", LISBON, NOW),  # the second round is over
        ("30 1 * * *", "UTC", NOW),
        ("30 1 * * *", LISBON, NOW - timedelta(days=30)),  # long before
        ("30 1 * * 1", LISBON, NOW),  # 31 October is a Sunday
    ],
)
def test_one_that_it_leaves_alone_is_not(cron: str, zone: str, now: datetime) -> None:
    assert asyncio.run(clock_line("schedule of x", cron, zone, now)) is None


@pytest.mark.parametrize(
    ("cron", "start", "planned"),
    [
        # The repeated hour has no runs: the next after 00:40 UTC (01:40) is 02:00 UTC (02:00).
        ("*/20 * * * *", "2027-10-31T00:10", ["00:20", "00:40", "02:00", "02:20"]),
        # No hour is without runs in spring.
        ("*/20 * * * *", "2027-03-27T23:50", ["00:00", "00:20", "00:40", "01:00", "01:20"]),
        # Once in autumn, in the first round; once in spring, when the clock shows 00:30.
        ("30 1 * * *", "2027-10-30T12:00", ["00:30", "01:30"]),
        ("30 1 * * *", "2027-03-27T12:00", ["00:30", "00:30"]),
        ("0 3 * * *", "2027-10-30T12:00", ["03:00", "03:00"]),
        ("0 3 * * *", "2027-03-27T12:00", ["02:00", "02:00"]),
    ],
)
def test_prefect_plans_what_the_schedules_page_says(
    cron: str, start: str, planned: list[str]
) -> None:
    schedule = CronSchedule(cron=cron, timezone=LISBON)
    began = datetime.fromisoformat(start).replace(tzinfo=UTC)
    dates = asyncio.run(schedule.get_dates(n=len(planned), start=began))
    assert [f"{date.astimezone(UTC):%H:%M}" for date in dates] == planned
