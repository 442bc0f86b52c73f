"""A database that goes away during a run and comes back, as in a failover."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from flows.study import study
from flows.sweep import sweep
from judge_gym.errors import OutageError
from judge_gym.settings import settings
from judge_gym.store import engine
from judge_gym.store.locks import is_locked, locked
from support.failover import Failover, failing_over
from support.flow_runs import configured, error_of, run_flow, run_scheduled
from support.natural_rows import natural_rows
from support.simulation import Simulator
from support.studies import weekly_study
from support.sweeps import scoring_sweep
from support.waiting import until

pytestmark = pytest.mark.slow
MODELS = ("sim/calm-1", "sim/high-1")
AWAY_S = 4.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "outage.yaml"
    path.write_text(scoring_sweep("outage", *MODELS, documents=10, replicates=8))
    return path


def taken_away(database: Failover, url: str, calls: int, back: bool) -> threading.Thread:
    """Take the database away once so many calls are answered; bring it back later."""
    answered = "SELECT count(*) FROM llm_calls WHERE status = 'succeeded'"

    def watch() -> None:
        with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:

            def enough() -> bool:
                connection.rollback()
                return bool(connection.exec_driver_sql(answered).scalar_one() >= calls)

            until(enough, f"{calls} answers", every=0.02)
        database.go_away()
        if back:
            threading.Event().wait(AWAY_S)  # the length of the outage, not a wait for anything
            database.come_back()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_run_waits_for_its_database_and_pays_nothing_twice(
    database: str, simulator: Simulator, file: Path, tmp_path: Path
) -> None:
    asked = simulator.answered()
    with failing_over(database) as away:
        watching = taken_away(away, database, 40, back=True)
        with configured(
            tmp_path, JUDGE_GYM_DATABASE_URL=away.url, JUDGE_GYM_SIMULATOR_URL=simulator.url
        ):
            state = run_flow(sweep, file)
        watching.join()
    assert state.is_completed(), state.message
    rows = natural_rows(database)
    assert len(rows["samples"]) == 2 * 10 * 8
    assert {row["status"] for row in rows["llm_calls"].values()} == {"succeeded"}
    assert simulator.answered() - asked == len(rows["llm_calls"])


def test_a_database_that_stays_away_ends_the_run_with_one_clear_message(
    database: str,
    simulator: Simulator,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "PATIENCE_S", 1.0)
    with failing_over(database) as away:
        watching = taken_away(away, database, 40, back=False)
        with configured(
            tmp_path, JUDGE_GYM_DATABASE_URL=away.url, JUDGE_GYM_SIMULATOR_URL=simulator.url
        ):
            state = run_flow(sweep, file)
        watching.join()
    assert state.is_crashed()  # so that the automation resumes a run of a deployment
    error = error_of(state)
    assert isinstance(error, OutageError)
    assert "The database" in error.message
    assert "rerun the command" in error.remedy


def test_an_outage_in_a_period_of_a_study_crashes_its_run(
    database: str, simulator: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed period waits for the next week; a crashed run of a deployment is resumed."""
    monkeypatch.setattr(engine, "PATIENCE_S", 1.0)
    file = weekly_study(tmp_path)
    with failing_over(database) as away:
        watching = taken_away(away, database, 3, back=False)
        with configured(
            tmp_path, JUDGE_GYM_DATABASE_URL=away.url, JUDGE_GYM_SIMULATOR_URL=simulator.url
        ):
            state = run_scheduled(study, "2026-01-12T08:00:00+00:00", file=str(file), catch_up=0)
        watching.join()
    assert state.is_crashed()
    assert isinstance(error_of(state), OutageError)


def test_a_lock_is_taken_again_after_an_outage(database: str, tmp_path: Path) -> None:
    def held() -> bool:
        with sa.orm.Session(sa.create_engine(database, poolclass=sa.NullPool)) as session:
            return is_locked(session, {"experiments": ["a"]})

    async def reaches(state: bool) -> None:
        waiting: Callable[[], bool] = lambda: held() == state  # noqa: E731
        await asyncio.to_thread(until, waiting, f"the lock to be {state}", every=0.1)

    async def hold(away: Failover) -> None:
        connected = engine.connect(settings())
        async with locked(connected, {"experiments": ["a"]}, lambda: None):
            assert held()
            away.go_away()
            await reaches(False)
            away.come_back()
            await reaches(True)
        assert not held()
        connected.dispose()

    with (
        failing_over(database) as away,
        configured(tmp_path, JUDGE_GYM_DATABASE_URL=away.url),
    ):
        asyncio.run(hold(away))
