"""PgBouncer in transaction mode: a session is lent to another transaction at any moment."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import SecretStr
from sqlalchemy.orm import Session

from judge_gym.analysis.running import analyse
from judge_gym.errors import StoreError
from judge_gym.settings import Settings
from judge_gym.store import tables as t
from judge_gym.store.engine import connect
from judge_gym.store.locks import exclusive, in_progress, is_in_progress, is_locked
from judge_gym.store.pooler import is_pooled
from support.command_line import sweep_text
from support.pooler import pooled
from support.rig import run
from support.waiting import until
from support.whole_sweep import whole_sweep

WORK = {"experiments": ["a", "b"]}


@pytest.fixture
def pooler(own_database: str) -> Iterator[str]:
    with pooled(own_database, sessions=6) as url:
        yield url


@pytest.fixture
def engines(pooler: str) -> Iterator[tuple[sa.Engine, sa.Engine]]:
    """The engines of two processes."""
    both = connected(pooler), connected(pooler)
    yield both
    for engine in both:
        engine.dispose()


def connected(url: str) -> sa.Engine:
    return connect(Settings(database_url=SecretStr(url)))


def test_a_pooler_is_known_by_its_process_numbers(
    engines: tuple[sa.Engine, sa.Engine], own_database: str
) -> None:
    direct = connected(own_database)
    for engine, expected in ((engines[0], True), (direct, False)):
        with engine.connect() as connection:
            driver = connection.connection.driver_connection
            assert driver is not None
            assert is_pooled(driver) == expected
            assert (driver.prepare_threshold is None) == expected
    direct.dispose()


def test_what_a_run_works_on_is_locked_for_others(engines: tuple[sa.Engine, sa.Engine]) -> None:
    mine, others = engines
    for _ in range(3):
        with exclusive(mine, WORK):
            for names in WORK, {"experiments": ["b"]}:
                with pytest.raises(StoreError, match="at work"), exclusive(others, names):
                    pass
                with Session(others) as session:
                    assert is_locked(session, names)
            with exclusive(others, {"windows": ["a"]}):
                pass  # what nobody works on
        with exclusive(others, WORK):
            pass


def test_a_run_is_seen_while_it_is_in_progress(engines: tuple[sa.Engine, sa.Engine]) -> None:
    mine, others = engines

    def seen() -> bool:
        with Session(others) as session:
            return is_in_progress(session, "trial")

    assert not seen()
    with in_progress(mine, "trial"):
        until(seen, "the run")
    until(lambda: not seen(), "its end")


def test_a_lock_keeps_back_no_change_of_tables(engines: tuple[sa.Engine, sa.Engine]) -> None:
    mine, others = engines
    with exclusive(mine, WORK), others.connect() as connection:
        connection.exec_driver_sql("SET LOCAL lock_timeout = '5s'")
        for table in t.Base.metadata.sorted_tables:
            connection.exec_driver_sql(f"LOCK TABLE {table.name} IN ACCESS EXCLUSIVE MODE")


def test_a_statement_may_be_sent_often_from_many_threads(
    engines: tuple[sa.Engine, sa.Engine],
) -> None:
    def ask(number: int) -> int:
        with engines[number % 2].connect() as connection:
            return sum(
                connection.scalar(sa.text("SELECT CAST(:number AS int)"), {"number": number}) or 0
                for _ in range(10)
            )

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(60))) == [10 * number for number in range(60)]


@pytest.mark.slow
def test_a_sweep_behind_a_pooler_stores_what_it_does_without(pooler: str, tmp_path: Path) -> None:
    file = tmp_path / "quick.yaml"
    small = (("max_documents: 5", "max_documents: 2"), ("replicates: 2", "replicates: 1"))
    file.write_text(sweep_text("quick.yaml", *small))
    run(whole_sweep(pooler, file))
    engine = connected(pooler)
    analyse(engine, "quick")
    with Session(engine) as session:
        status = sa.select(t.Call.status, sa.func.max(t.Call.attempts)).group_by(t.Call.status)
        assert [tuple(row) for row in session.execute(status)] == [("succeeded", 1)]
        judged = sa.select(sa.func.count()).select_from(t.Sample)
        # Own, swap and sham judgements of three judges about two documents.
        assert session.scalar(judged) == 3 * 2 + 2 + 3 * 2
        assert session.scalar(sa.select(sa.func.count()).select_from(t.AnalysisResult))
    engine.dispose()
