"""Evidence windows on a schedule: each collected once, for the time a run was meant for."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from prefect.client.schemas.objects import State

from flows.windows import windows
from support.flow_runs import error_of, flow_run, run_scheduled
from support.postgres import selected

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("place")]
CORPUS = Path(__file__).parents[2] / "deployments" / "sweeps" / "corpora" / "valmora.jsonl"
FILE = """\
name: valmora
time_zone: UTC
entries:
  - queries: [courts, elections]
    countries: [Valmora, Ostrand]
    source: {{kind: corpus, path: {path}, allow_empty: true}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(CORPUS.read_text())
    path = tmp_path / "rolling.yaml"
    path.write_text(FILE.format(path=corpus.name))
    return path


def collected(scheduled: str, file: Path, **parameters: Any) -> State[Any]:
    """The end of a run that was scheduled for this time."""
    return run_scheduled(windows, scheduled, file=str(file), **parameters)


def rows(database: str) -> Sequence[tuple[Any, ...]]:
    """(first day, last day, windows, documents) of what was collected."""
    statement = """
        SELECT start_date::text, end_date::text, count(DISTINCT w.id), count(d.id)
        FROM windows w LEFT JOIN documents d ON d.window_id = w.id
        WHERE w.collected_at IS NOT NULL GROUP BY 1, 2 ORDER BY 1
    """
    return selected(database, statement)


def test_a_late_and_a_repeated_run_collect_the_same_day_once(database: str, file: Path) -> None:
    # 9 January has two articles; queries and countries make four windows of it.
    state = collected("2026-01-10T00:00:00+00:00", file)
    assert state.name == "Completed"
    assert state.message == "4 collected, 0 collected before, 8 documents kept"
    assert flow_run(state).name == "daily windows of rolling.yaml before 2026-01-10"
    again = collected("2026-01-10T23:59:59+00:00", file)
    assert again.message == "4 collected before"
    assert rows(database) == [("2026-01-09", "2026-01-09", 4, 8)]


def test_a_file_that_has_grown_leaves_a_day_that_was_collected_as_it_was(
    database: str, file: Path
) -> None:
    collected("2026-01-10T06:00:00+00:00", file)
    article = json.loads(CORPUS.read_text().splitlines()[0])
    for day in ("2026-01-09", "2026-01-10"):
        new = article | {"url": f"https://example.org/{day}", "date": day}
        new["text"] = f"On {day}. {article['text']}"
        with file.with_name("corpus.jsonl").open("a") as corpus:
            corpus.write(json.dumps(new) + "\n")
    state = collected("2026-01-11T06:00:00+00:00", file, catch_up=1)
    assert state.message is not None
    assert "4 collected before" in state.message
    # One article of 10 January was there before, one is new.
    assert rows(database) == [
        ("2026-01-09", "2026-01-09", 4, 8),
        ("2026-01-10", "2026-01-10", 4, 8),
    ]


@pytest.mark.slow
def test_after_an_outage_each_missed_week_is_collected_once(database: str, file: Path) -> None:
    collected("2026-01-12T07:00:00+00:00", file, cadence="weekly")
    before = rows(database)
    assert [row[:3] for row in before] == [("2026-01-05", "2026-01-11", 4)]
    state = collected("2026-02-02T07:00:00+00:00", file, cadence="weekly", catch_up=3)
    assert state.message is not None
    assert "12 collected, 4 collected before" in state.message
    after = rows(database)
    assert after[0] == before[0]
    assert [row[:3] for row in after[1:]] == [
        ("2026-01-12", "2026-01-18", 4),
        ("2026-01-19", "2026-01-25", 4),
        ("2026-01-26", "2026-02-01", 4),
    ]


def test_a_window_that_cannot_be_collected_leaves_the_others_alone(
    database: str, file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text("nothing,useful\n1,2\n")
    entry = FILE.partition("entries:\n")[2].format(path=broken.name)
    file.write_text(file.read_text() + entry.replace("[courts, elections]", "[press]"))
    state = collected("2026-01-10T06:00:00+00:00", file)
    assert state.is_failed()
    assert "broken.csv: no row can be read" in str(error_of(state))
    assert str(error_of(state)).count("broken.csv: no row can be read") == 2
    assert rows(database) == [("2026-01-09", "2026-01-09", 4, 8)]
