"""What an operator sees of an installation: figures of a ledger made by hand, and parts away."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy.orm import Session

from deployments.cli.metrics import installation_text
from deployments.local.status_pages import InstallationReader
from deployments.operation import as_json, read_installation
from judge_gym.design.experiment import Experiment
from judge_gym.design.window import CorpusSource, Window
from judge_gym.errors import StoreError
from judge_gym.lab.operating import (
    Installation,
    PartHealth,
    RunFailure,
    no_database,
    read_records,
    remedy_of,
)
from judge_gym.records.calls import FailureKind
from judge_gym.report.operating import operating_page, operating_tables
from judge_gym.store import tables as t
from judge_gym.store.experiments import register_sweep
from judge_gym.store.operating import operating_engine

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
WINDOW = Window(
    name="spring", query="q", country="Freedonia", source=CorpusSource(path=Path("c.jsonl"))
)
EXPERIMENT = Experiment(concept="order", window=WINDOW, model="acme/calm-1")
PROMPT = "the text of an item"
ANSWER = "the words of an answer"


def a_row(key: str, ago: timedelta, **changes: Any) -> t.Call:
    """A call that was answered two seconds after it was sent."""
    given: dict[str, Any] = {
        "key": key,
        "workflow": "w3-scoring",
        "agent": "scorer",
        "provider": "acme",
        "model": "acme/calm-1",
        "messages": [{"role": "user", "content": PROMPT}],
        "template": "score",
        "template_hash": "0" * 16,
        "parameters": {},
        "status": "succeeded",
        "answer": ANSWER,
        "attempts": 1,
        "cost_usd": 0.25,
        "simulated": False,
        "sent_at": NOW - ago - timedelta(seconds=2),
        "finished_at": NOW - ago,
    }
    return t.Call(**(given | changes))


def failed(kind: str) -> dict[str, Any]:
    said = [{"kind": kind, "message": f"{PROMPT}: refused"}]
    return {"status": "failed", "answer": None, "cost_usd": None, "errors": said}


@pytest.fixture
def records(database: str) -> sa.Engine:
    """Two answers today, one yesterday, one too long ago; failures; a batch of three calls."""
    engine = sa.create_engine(database)
    minutes, days = timedelta(minutes=1), timedelta(days=1)
    batch = t.Batch(
        key="b1", provider="acme", model="acme/calm-1", status="submitted", calls=3,
        provider_batch_id="batch_1", created_at=NOW - 90 * minutes,
    )  # fmt: skip
    rows = [
        a_row("now", minutes, attempts=2),
        a_row("noon", 3 * minutes),
        a_row("yesterday", days, workflow="judge", cost_usd=2),
        a_row("long ago", 8 * days, cost_usd=100),
        a_row("free", minutes, provider="sim", model="sim/calm-1", simulated=True, cost_usd=0),
        a_row("key", 20 * minutes, **failed("authentication")),
        a_row("key again", 10 * minutes, **failed("authentication")),
        a_row("server", 30 * minutes, **failed("server")),
        a_row("old", 2 * days, **failed("timeout")),
        a_row("out", minutes, status="sent", answer=None, cost_usd=None, finished_at=None),
    ]
    with Session(engine) as session, session.begin():
        bounds = {"budget": {"max_cost_usd": 5, "max_calls": 3}}
        register_sweep(session, "study", "", None, [EXPERIMENT], definition=bounds)
        rows[0].experiment_id = rows[3].experiment_id = session.scalars(
            sa.select(t.Experiment.id)
        ).one()
        rows[3].cost_usd = 4
        session.add_all([batch, *rows])
        session.add(t.Sweep(name="empty", description="", swap=None))
    yield engine
    engine.dispose()


def read(engine: sa.Engine) -> Installation:
    part, found = read_records(engine, NOW)
    return replace(read_installation(None, lost=part, prefect=False), at=NOW, records=found)


def test_spending_failures_and_rates_are_those_of_the_ledger(records: sa.Engine) -> None:
    found = read(records)
    assert found.healthy
    kept = found.records
    assert kept is not None
    # 2 + 1 attempts and 3 of failed calls, at 0.25 each of two answers; then yesterday's too.
    assert (kept.today.calls, kept.today.cost_usd) == (7, 0.5)
    assert (kept.week.calls, kept.week.cost_usd) == (9, 2.5)
    assert [(one.workflow, one.calls, one.cost_usd) for one in kept.by_workflow] == [
        ("judge", 1, 2.0),
        ("w3-scoring", 9, 0.5),
    ]
    assert [(one.model, one.kind, one.calls, one.last) for one in kept.failed_calls] == [
        ("acme/calm-1", "authentication", 2, NOW - timedelta(minutes=10)),
        ("acme/calm-1", "server", 1, NOW - timedelta(minutes=30)),
    ]
    rates = {one.provider: (one.ended, one.in_flight) for one in kept.providers}
    assert rates == {"acme": (2, 1), "sim": (1, 0)}
    # Two calls since the first was sent, 182 s ago.
    assert kept.providers[0].per_minute == pytest.approx(2 / (182 / 60))
    assert (kept.batches.batches, kept.batches.calls) == (1, 3)
    [study] = kept.studies
    # 0.25 of one answer now and 4 of one long ago, of 5; two calls of three.
    assert (study.left_usd, study.left_calls) == (0.75, 1)


def test_runs_that_fail_alike_are_counted_at_the_last_of_them(records: sa.Engine) -> None:
    runs = [
        RunFailure(NOW - timedelta(hours=hours), str(hours), f"run {hours}", "failed", why, "Mend.")
        for hours, why in [(1, "disk"), (2, "key"), (3, "disk"), (4, "disk")]
    ]
    found = replace(read(records), failed_runs=runs)
    assert [(one.run, times) for one, times in found.failures] == [("run 1", 3), ("run 2", 1)]
    [table] = [one for one in operating_tables(found) if one.title.startswith("Runs that")]
    assert [row.cells[1:3] for row in table.rows] == [("run 1", "3"), ("run 2", "1")]
    assert len(as_json(found)["failed_runs"]) == 4


def test_json_page_and_metrics_have_the_same_figures_and_no_text(records: sa.Engine) -> None:
    found = read(records)
    told = json.dumps(as_json(found))
    page, metrics = operating_page(found), installation_text(found)
    for text in (told, page, metrics):
        assert PROMPT not in text
        assert ANSWER not in text
    values = json.loads(told)
    assert values["healthy"] is True
    assert values["records"]["week"] == {"since": "2026-03-03T12:00:00+00:00", "calls": 9,
                                         "cost_usd": 2.5}  # fmt: skip
    assert values["records"]["studies"][0]["left_usd"] == 0.75
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(metrics)
        for sample in family.samples
    }
    assert samples["judge_gym_part_up", "PostgreSQL"] == 1
    assert samples["judge_gym_spent_usd", "7d"] == 2.5
    assert samples["judge_gym_calls_failed_last_day", "acme", "acme/calm-1", "authentication"] == 2
    assert samples["judge_gym_study_budget_left_usd", "study"] == 0.75
    assert samples["judge_gym_oldest_batch_seconds",] == 90 * 60
    # Two calls since the first was sent, 182 s ago: 2 / (182 / 60) = 0.65934 a minute.
    assert 'judge_gym_calls_per_minute{provider="acme"} 0.66\n' in metrics
    assert "judge_gym_oldest_batch_seconds 5400\n" in metrics
    assert 'judge_gym_spent_usd{time="7d"} 2.5\n' in metrics
    tables = {table.title: table for table in operating_tables(found)}
    assert "the first of them was sent" in tables["Providers, last 5 minutes"].notes[0]
    [today, week] = tables["Spending, real models, at most"].rows
    assert (today.cells[1:], week.cells[1:]) == (("7", "0.5"), ("9", "2.5"))
    assert "Set the provider" in tables["Calls that failed in the last day"].rows[0].cells[-1]


def test_names_of_others_are_text_on_the_page_and_a_label_in_metrics(records: sa.Engine) -> None:
    hostile = '<script>alert(1)</script>"\n} judge_gym_spent_usd 0'
    with Session(records) as session, session.begin():
        named = sa.update(t.Sweep).where(t.Sweep.name == "study")
        session.execute(named.values(name=hostile))
    found = read(records)
    assert "<script>alert" not in operating_page(found)
    names = [
        sample.labels["sweep"]
        for family in text_string_to_metric_families(installation_text(found))
        for sample in family.samples
        if sample.name == "judge_gym_study_cost_usd"
    ]
    assert names == [hostile]


def test_a_database_that_is_away_is_a_part_that_is_down() -> None:
    engine = operating_engine("postgresql+psycopg://someone:secret-word@127.0.0.1:1/x")
    part, found = read_records(engine, NOW)
    assert (part.healthy, found) == (False, None)
    told = read_installation(None, lost=part, prefect=False)
    assert not told.healthy
    shown = operating_page(told) + json.dumps(as_json(told)) + installation_text(told)
    assert "secret-word" not in shown
    assert 'judge_gym_part_up{part="PostgreSQL"} 0\n' in shown
    assert no_database(StoreError("gone")).detail == "gone"


def test_every_kind_of_failure_has_its_remedy() -> None:
    kinds = FailureKind.__args__  # type: ignore[attr-defined]
    assert len({remedy_of(kind) for kind in kinds}) >= len(kinds) - 1
    assert "ledger" in remedy_of("something new")


def test_readers_at_the_same_time_cost_one_reading() -> None:
    counted = []

    def once() -> Installation:
        counted.append(1)
        return read_installation(None, lost=PartHealth("PostgreSQL", "up", ""), prefect=False)

    reading = InstallationReader(once)
    assert reading.now() is reading.now()
    assert len(counted) == 1
