"""Upgrading a database that is in use: its rows stay, and each step can be undone."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from sqlalchemy.orm import Session

from judge_gym.lab import judging, scoring
from judge_gym.records.calls import Answer
from judge_gym.seeds import digest
from judge_gym.simulator.launch import running
from judge_gym.store import migrate
from judge_gym.store.calls import outcomes_of
from judge_gym.store.rechecks import rechecks
from support.migrations import LATER, add_later_migration, newest
from support.postgres import temporary_database
from support.rig import calls, run, runtime_at
from support.study import Study, corpus, missing_by, window

STEPS = [one.revision for one in ScriptDirectory(str(migrate.MIGRATIONS)).walk_revisions()][::-1]
BASELINE = STEPS[0]
BASELINE_ROWS = Path(__file__).with_name("baseline_rows.sql")
ADD = "ALTER TABLE llm_calls ADD COLUMN region text NOT NULL DEFAULT 'eu'"
DROP = "ALTER TABLE llm_calls DROP COLUMN region"

Rows = dict[str, list[dict[str, Any]]]
"""Table → its rows."""


@pytest.fixture
def filled(postgres_server: str) -> Iterator[str]:
    """A database at the baseline with rows in every table."""
    with temporary_database(postgres_server) as url:
        migrate.upgrade(url, BASELINE)
        execute(url, BASELINE_ROWS.read_text())
        yield url


def execute(url: str, script: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(script, execution_options={"no_parameters": True})


def rows(url: str) -> Rows:
    """Every row of every table of judge-gym."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    metadata = sa.MetaData()
    metadata.reflect(engine)
    with engine.connect() as connection:
        return {
            name: [dict(row) for row in connection.execute(sa.select(table)).mappings()]
            for name, table in metadata.tables.items()
            if name != "alembic_version"
        }


def revision(url: str) -> str | None:
    return migrate.revisions(sa.create_engine(url, poolclass=sa.NullPool))[0]


def kept(before: Rows, after: Rows) -> bool:
    """Whether every value of before, table by table and row by row, is there after."""
    return all(
        len(found) == len(after[name])
        and all(old.items() <= new.items() for old, new in zip(found, after[name], strict=True))
        for name, found in before.items()
    )


def check_readable(url: str) -> None:
    """Check that the newest code and views read what the baseline's rows say."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with Session(engine) as session:
        [answer] = outcomes_of(session, ["c"]).values()
    assert isinstance(answer, Answer)
    assert (answer.text, answer.cost_usd, answer.body, answer.chances) == (
        "VERDICT: B", 0.25, None, (),
    )  # fmt: skip
    with engine.connect() as connection:
        [probe] = connection.exec_driver_sql(
            "SELECT s.sweep, p.probability FROM analysis.sweeps AS s "
            "JOIN analysis.probes AS p USING (experiment_id)"
        ).all()
    assert tuple(probe) == ("s", 0.75)


def test_rows_of_the_baseline_are_there_after_the_upgrade(filled: str) -> None:
    before = rows(filled)
    assert [name for name, of_table in before.items() if not of_table] == []
    migrate.upgrade(filled)
    assert revision(filled) == newest()
    assert kept(before, rows(filled))
    check_readable(filled)


RECHECKS = """
INSERT INTO judge_items (key, corpus, name, text, context) VALUES ('b', '', '2', 'B.', ''),
    ('a', '', '3', 'A.', '');
INSERT INTO judge_results (judge_id, item_id, repeat, status, score, subscores, reason, call_ids,
    review_day)
SELECT 1, i.id, r.repeat, 'scored', 0.5, '{}', '', '{}', r.day
FROM (VALUES ('gate 2026-11-27', 0), ('gate 2026-11-27', 1), ('gate 0f0f0f0f0f0f0f0f', 0),
    ('gate 2026-11-27 #2', 0)) AS r (day, repeat)
JOIN judge_items AS i ON i.key IN ('a', 'b') AND (i.key = 'a' OR r.day <> 'gate 2026-11-27 #2');
"""


def test_rechecks_of_gates_before_are_of_the_texts_that_were_judged(filled: str) -> None:
    execute(filled, RECHECKS)
    migrate.upgrade(filled)
    engine = sa.create_engine(filled, poolclass=sa.NullPool)
    with Session(engine) as session:
        whole = rechecks(session, "j", digest("a", "b"))
        part = rechecks(session, "j", digest("a"))
        assert rechecks(session, "j", digest("b")) == []
    assert [(one.review_day, one.day, one.number) for one in whole] == [
        ("gate 2026-11-27", date(2026, 11, 27), 1), ("gate 0f0f0f0f0f0f0f0f", None, 1),
    ]  # fmt: skip
    assert [(one.review_day, one.when) for one in part] == [("gate 2026-11-27 #2", "2026-11-27 #2")]


OPEN_CHECKS = """
UPDATE calibration_checks SET result = 'inconclusive';
UPDATE judge_reviews SET figures =
    '{"checks": [{"reason": "\\"result\\"", "result": "inconclusive"}]}';
"""


def test_checks_that_were_inconclusive_cannot_tell(filled: str) -> None:
    execute(filled, OPEN_CHECKS)
    migrate.upgrade(filled)
    after = rows(filled)
    assert [check["result"] for check in after["calibration_checks"]] == ["cannot tell"]
    assert [review["figures"] for review in after["judge_reviews"]] == [
        {"checks": [{"reason": '"result"', "result": "cannot tell"}]}
    ]


def test_a_later_migration_keeps_the_rows_and_fills_its_column(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_later_migration(monkeypatch, tmp_path, ADD, DROP)
    before = rows(filled)
    migrate.upgrade(filled)
    after = rows(filled)
    assert revision(filled) == LATER
    assert kept(before, after)
    assert [call["region"] for call in after["llm_calls"]] == ["eu"]
    check_readable(filled)


@pytest.mark.parametrize("loss", ["DELETE FROM probes", "UPDATE llm_calls SET cost_usd = 0"])
def test_a_migration_that_loses_something_is_noticed(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    """What the other tests compare can differ."""
    before = rows(filled)
    add_later_migration(monkeypatch, tmp_path, loss)
    migrate.upgrade(filled)
    assert not kept(before, rows(filled))


def test_a_migration_that_fails_changes_nothing(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate.upgrade(filled)
    before, current = rows(filled), newest()
    add_later_migration(monkeypatch, tmp_path, f"{ADD}; SELECT 1 / 0")
    with pytest.raises(sa.exc.DataError, match="division by zero"):
        migrate.upgrade(filled)
    assert revision(filled) == current
    assert rows(filled) == before
    check_readable(filled)


@pytest.mark.slow
def test_every_step_down_and_up_again_keeps_the_rows(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_later_migration(monkeypatch, tmp_path, ADD, DROP)
    steps = [*STEPS, LATER]
    migrate.upgrade(filled)
    top = rows(filled)
    for lower in reversed(steps[:-1]):
        migrate.downgrade(filled, lower)
    bottom = rows(filled)
    assert kept(bottom, top)
    for higher in steps[1:]:
        migrate.upgrade(filled, higher)
    assert kept(bottom, rows(filled))
    assert rows(filled).keys() == top.keys()


@dataclass(frozen=True)
class Half:
    """A sweep of which two judgements are made."""

    corpus: Path
    tags: list[str]
    calls: dict[str, Any]


@pytest.mark.slow
def test_a_half_finished_sweep_resumes_after_an_upgrade(
    own_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was answered before the migration is kept, and no call is paid for twice."""

    async def judge_two(provider: str) -> Half:
        async with runtime_at(own_database, provider) as runtime:
            study = Study(runtime, window(corpus(tmp_path, 3)))
            experiment = study.experiment("sim/calm-1")
            tags = study.register(experiment)
            await study.collect()
            await study.write_rubrics([experiment])
            missing, _ = missing_by(runtime, scoring.plan_scoring, tags)
            await judging.judge(runtime, missing.by_model["sim/calm-1"][:2])
            return Half(tmp_path / "corpus.jsonl", tags, calls(runtime.engine))

    async def run_rest(provider: str, half: Half) -> tuple[int, dict[str, Any]]:
        async with runtime_at(own_database, provider) as runtime:
            study = Study(runtime, window(half.corpus))
            ended = await study.score(half.tags)
            await study.probe(half.tags)
            return ended.total(), calls(runtime.engine)

    with running() as provider:
        half = run(judge_two(provider))
        migrate.downgrade(own_database, BASELINE)
        add_later_migration(monkeypatch, tmp_path, ADD, DROP)
        migrate.upgrade(own_database)
        judged, after = run(run_rest(provider, half))
    assert judged == 3 * 2 - 2
    assert half.calls.keys() < after.keys()
    assert len(half.calls) >= 4
    for key, row in half.calls.items():
        now = after[key]
        assert (now.id, now.answer, now.finished_at) == (row.id, row.answer, row.finished_at)
    assert {row.attempts for row in after.values()} == {1}
