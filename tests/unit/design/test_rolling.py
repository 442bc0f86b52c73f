"""Rolling windows: which days a collection stands for, and what a file of them may say."""

from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from judge_gym.design.window_files import Cadence, load_rolling, periods, windows_of
from judge_gym.errors import ConfigError

EXAMPLE = Path(__file__).parents[3] / "deployments" / "windows" / "valmora.yaml"


def at(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


def days(cadence: Cadence, meant_for: datetime, zone: str, catch_up: int = 0) -> list[str]:
    found = periods(cadence, meant_for, zone, catch_up)
    return [f"{one.start:%m-%d}..{one.end:%m-%d}" for one in found]


@pytest.mark.parametrize(
    ("meant_for", "zone", "day"),
    [
        # At midnight the day that has just ended is whole; a moment before, it is not.
        (at("2026-01-08T00:00"), "UTC", "01-07..01-07"),
        (at("2026-01-07T23:59:59"), "UTC", "01-06..01-06"),
        # The same moment is another day in another place.
        (at("2026-01-08T00:00"), "America/New_York", "01-06..01-06"),
        (at("2026-01-07T23:30"), "Asia/Tokyo", "01-07..01-07"),
        # Clocks went forward on 29 March and back on 25 October 2026 in Berlin: days of 23 and 25
        # hours, and 22:30 UTC is half past midnight in summer only.
        (at("2026-03-28T23:30"), "Europe/Berlin", "03-28..03-28"),
        (at("2026-03-29T22:30"), "Europe/Berlin", "03-29..03-29"),
        (at("2026-10-24T22:30"), "Europe/Berlin", "10-24..10-24"),
        (at("2026-10-25T22:30"), "Europe/Berlin", "10-24..10-24"),
        # Half past two happens twice on that night: both are the same day.
        (at("2026-10-25T00:30"), "Europe/Berlin", "10-24..10-24"),
        (at("2026-10-25T01:30"), "Europe/Berlin", "10-24..10-24"),
    ],
)
def test_a_day_ends_at_midnight_of_the_files_time_zone(
    meant_for: datetime, zone: str, day: str
) -> None:
    assert days("daily", meant_for, zone) == [day]


@pytest.mark.parametrize(
    ("meant_for", "week"),
    [
        # 5 January 2026 was a Monday.
        (at("2026-01-12T00:00"), "01-05..01-11"),
        (at("2026-01-18T23:59"), "01-05..01-11"),
        (at("2026-01-19T00:00"), "01-12..01-18"),
        # Over the end of a year.
        (at("2026-01-07T12:00"), "12-29..01-04"),
    ],
)
def test_a_week_is_monday_to_sunday_whatever_day_it_is(meant_for: datetime, week: str) -> None:
    assert days("weekly", meant_for, "UTC") == [week]


def test_catching_up_adds_the_periods_before_oldest_first_without_gap_or_overlap() -> None:
    assert days("weekly", at("2026-01-19T07:00"), "UTC", 2) == [
        "12-29..01-04",
        "01-05..01-11",
        "01-12..01-18",
    ]
    # 28 February to 1 March, over the end of a month that has no 29th.
    assert days("daily", at("2026-03-02T06:00"), "UTC", 2) == [
        "02-27..02-27",
        "02-28..02-28",
        "03-01..03-01",
    ]


def test_every_query_is_collected_in_every_country(tmp_path: Path) -> None:
    file = load_rolling(written(tmp_path, queries="[courts, press]", countries="[Here, There]"))
    [period] = periods("daily", at("2026-01-08T06:00"), file.time_zone, 0)
    windows = list(windows_of(file, period))
    assert [(one.query, one.country) for one in windows] == [
        ("courts", "Here"),
        ("courts", "There"),
        ("press", "Here"),
        ("press", "There"),
    ]
    assert {(one.start, one.end) for one in windows} == {(date(2026, 1, 7), date(2026, 1, 7))}
    assert len({one.key for one in windows}) == 4


def test_the_example_can_be_read() -> None:
    file = load_rolling(EXAMPLE)
    assert [entry.queries for entry in file.entries] == [("press freedom and courts", "elections")]
    assert len(file.entries[0].source.digest) == 64


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"time_zone": "Mars/Olympus"}, "line 2: time_zone does not fit: 'Mars/Olympus' is no"),
        ({"name": "My News"}, "line 1: name is 'My News'. Use 1 to 40 small letters"),
        ({"countries": "[]"}, "line 5: entries[0].countries is an empty list. Use a list"),
        ({"queries": "courts"}, "line 4: entries[0].queries is 'courts'. Use a list"),
        ({"source": "{kind: recorded}"}, "entries[0].source.kind is 'recorded'. Use"),
        ({"source": "{kind: corpus, path: no.jsonl}"}, "source.path cannot be used: "),
        ({"source": "{kind: firecrawl}\n    start: 2026-01-01"}, "entries[0].start is not a known"),
    ],
)
def test_a_mistake_names_file_line_and_key(
    tmp_path: Path, changes: dict[str, str], says: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load_rolling(written(tmp_path, **changes))
    assert "rolling.yaml, line" in str(error.value)
    assert says in str(error.value)


def written(folder: Path, **changes: str) -> Path:
    """A file of rolling windows, with some values changed."""
    values = {
        "name": "news",
        "time_zone": "Europe/Berlin",
        "queries": "[courts]",
        "countries": "[Valmora]",
        "source": "{kind: firecrawl}",
        **changes,
    }
    path = folder / "rolling.yaml"
    path.write_text(
        "name: {name}\ntime_zone: {time_zone}\nentries:\n  - queries: {queries}\n"
        "    countries: {countries}\n    source: {source}\n".format(**values)
    )
    return path
