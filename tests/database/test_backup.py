"""A database into a file and into another database, by PostgreSQL's own programs."""

import asyncio
import dataclasses
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from aiohttp import web

from judge_gym.errors import StoreError
from judge_gym.settings import Settings
from judge_gym.simulator.server import serving
from judge_gym.store import backup as backup_module
from judge_gym.store import migrate
from judge_gym.store import tables as t
from judge_gym.store.backup import backup, restore
from judge_gym.store.embedded_account import current_account, postgres_binaries
from judge_gym.store.engine import server_version
from support.migrations import LATER, add_later_migration
from support.misbehaving import answers, misbehaving
from support.postgres import server_of, temporary_database
from support.rig import calls, count, run, runtime_at
from support.study import Study, corpus, window


@pytest.fixture
def others(postgres_server: str) -> Iterator[str]:
    """An empty database without a schema."""
    with temporary_database(postgres_server) as url:
        yield url


def configured(url: str) -> Settings:
    return Settings.model_validate({"database_url": url})


def fill(url: str) -> None:
    statement = (
        "INSERT INTO windows (key, name, query, country, max_documents, source) "
        "VALUES ('w', 'Unicode: ü–漢', 'q', 'Freedonia', 5, '{\"path\": \"x\"}')"
    )
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        connection.exec_driver_sql(statement)


def windows(url: str) -> list[tuple[str, str]]:
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        rows = connection.exec_driver_sql("SELECT key, name FROM windows")
        return [(row.key, row.name) for row in rows]


def test_what_was_backed_up_is_restored_and_can_go_on(
    own_database: str, others: str, tmp_path: Path
) -> None:
    fill(own_database)
    backup(configured(own_database), tmp_path / "whole.dump")
    # It has all prompts and answers.
    assert stat.S_IMODE((tmp_path / "whole.dump").stat().st_mode) == 0o600
    migrate.upgrade(others)  # as any command would have done
    restore(configured(others), tmp_path / "whole.dump")
    assert windows(others) == windows(own_database) == [("w", "Unicode: ü–漢")]
    engine = sa.create_engine(others, poolclass=sa.NullPool)
    assert len(set(migrate.revisions(engine))) == 1
    with engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM analysis.sweeps").scalar() == 0
        # Numbers go on after those that are there.
        connection.exec_driver_sql("UPDATE windows SET key = 'old'")
    fill(others)
    assert len(windows(others)) == 2


def dumped(url: str, file: Path) -> Path:
    """A backup as another version of judge-gym writes it."""
    plain = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    program = postgres_binaries(current_account()) / "pg_dump"
    subprocess.run([program, "--format=custom", f"--file={file}", plain], check=True)
    return file


@pytest.mark.slow
def test_a_backup_of_an_older_judge_gym_is_brought_to_the_newest_schema(
    others: str, postgres_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate.upgrade(others)
    fill(others)
    file = dumped(others, tmp_path / "old.dump")
    later = "ALTER TABLE windows ADD COLUMN region text NOT NULL DEFAULT 'eu'"
    add_later_migration(monkeypatch, tmp_path, later, "ALTER TABLE windows DROP COLUMN region")
    with temporary_database(postgres_server) as newer:
        restore(configured(newer), file)
        assert windows(newer) == windows(others)
        engine = sa.create_engine(newer, poolclass=sa.NullPool)
        assert migrate.revisions(engine) == (LATER, LATER)


@pytest.mark.parametrize(
    ("revision", "reason"), [("r9999", "upgrade judge-gym"), ("0056", "JUDGE_GYM_DATA_DIR")]
)
def test_a_backup_of_a_newer_or_unreleased_judge_gym_is_refused_and_changes_nothing(
    own_database: str, others: str, tmp_path: Path, revision: str, reason: str
) -> None:
    fill(own_database)
    engine = sa.create_engine(own_database, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(
            sa.text("UPDATE alembic_version SET version_num = :it"), {"it": revision}
        )
    file = dumped(own_database, tmp_path / "new.dump")
    migrate.upgrade(others)
    with pytest.raises(StoreError, match=f"is of schema {revision}") as refused:
        restore(configured(others), file)
    assert "\n" not in str(refused.value)
    assert reason in refused.value.remedy
    assert windows(others) == []
    assert len(set(migrate.revisions(sa.create_engine(others, poolclass=sa.NullPool)))) == 1


HELD_FROM = 20
"""Requests that are answered before the backup is whole, at most."""


@pytest.mark.slow
def test_a_backup_during_a_run_can_go_on_and_pays_only_for_what_it_lacks(
    own_database: str, others: str, tmp_path: Path
) -> None:
    """PostgreSQL's own program reads while the run writes; the rest of the run comes after it."""

    async def work() -> None:
        requests = 0
        is_backed_up = asyncio.Event()
        answered = answers("VERDICT: A")

        async def step(request: web.Request) -> web.StreamResponse:
            nonlocal requests
            requests += 1
            if requests > HELD_FROM:
                await is_backed_up.wait()
            return await answered(request)

        async with serving() as simulator, runtime_at(own_database, simulator) as runtime:
            study = Study(runtime, window(corpus(tmp_path, 10)))
            experiment = study.experiment("sim/calm-1", replicates=6)
            tags = study.register(experiment)
            await study.collect()
            await study.write_rubrics([experiment])
        file = tmp_path / "during.dump"
        async with misbehaving(step) as judge:
            async with runtime_at(own_database, judge.base_url) as runtime:
                scoring = asyncio.create_task(Study(runtime, study.window).score(tags))
                while requests <= HELD_FROM / 2:
                    await asyncio.sleep(0.01)
                await asyncio.to_thread(backup, configured(own_database), file)
                is_backed_up.set()
                assert (await scoring).total() == 60
                whole = calls(runtime.engine)
            migrate.upgrade(others)
            restore(configured(others), file)
            before = requests
            async with runtime_at(others, judge.base_url) as runtime:
                restored = calls(runtime.engine)
                had = {key for key, row in restored.items() if row.status == "succeeded"}
                samples = count(runtime.engine, t.Sample)
                assert (await Study(runtime, study.window).score(tags)).total() == 60 - samples
                again = calls(runtime.engine)
            assert again.keys() == whole.keys()
            assert {row.status for row in again.values()} == {"succeeded"}
            assert {key: again[key].answer for key in again} == {
                key: whole[key].answer for key in whole
            }
            # A judgement and its call are in one transaction: the backup has both or neither.
            judged = [key for key in had if whole[key].agent == "scorer"]
            assert len(judged) == samples <= HELD_FROM
            assert requests - before == 60 - samples

    run(work())


def test_a_database_in_use_is_not_overwritten(own_database: str, tmp_path: Path) -> None:
    fill(own_database)
    backup(configured(own_database), tmp_path / "whole.dump")
    with pytest.raises(StoreError, match="windows") as refused:
        restore(configured(own_database), tmp_path / "whole.dump")
    assert "JUDGE_GYM_DATA_DIR" in refused.value.remedy
    assert len(windows(own_database)) == 1


def test_a_file_that_is_no_backup_changes_nothing(own_database: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no backup")
    for name, said in (("notes.txt", "pg_restore failed"), ("nothing.dump", "no file")):
        with pytest.raises(StoreError, match=said):
            restore(configured(own_database), tmp_path / name)
    assert windows(own_database) == []


def test_a_file_is_not_overwritten(own_database: str, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    with pytest.raises(StoreError, match="exists"):
        backup(configured(own_database), tmp_path / "kept")
    assert (tmp_path / "kept").read_text() == "kept"


def _installed() -> list[Path]:
    """Folders of PostgreSQL's programs on this machine that can run a server, the wheel's first."""
    found = [
        postgres_binaries(current_account()),
        *sorted(Path("/usr/lib/postgresql").glob("*/bin")),
    ]
    return [folder for folder in found if (folder / "postgres").exists()]


@pytest.fixture(params=_installed(), ids=lambda folder: folder.parts[-2])
def versioned(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a server of one installed version."""
    with server_of(request.param) as url:
        yield url


def test_a_backup_goes_back_into_the_server_it_came_from(versioned: str, tmp_path: Path) -> None:
    """Whatever the version of the server is: the programs are those of the wheel."""
    with temporary_database(versioned) as source, temporary_database(versioned) as target:
        migrate.upgrade(source)
        fill(source)
        said = backup(configured(source), tmp_path / "whole.dump")
        version = server_version(sa.create_engine(source, poolclass=sa.NullPool)).split()[0]
        assert f"PostgreSQL {version}, by pg_dump" in said
        migrate.upgrade(target)
        assert restore(configured(target), tmp_path / "whole.dump").endswith(f"into {version}")
        assert windows(target) == windows(source)


def test_a_backup_of_the_embedded_database_goes_into_an_own_server_and_back(
    own_database: str, versioned: str, postgres_server: str, tmp_path: Path
) -> None:
    fill(own_database)
    backup(configured(own_database), tmp_path / "there.dump")
    with temporary_database(versioned) as own, temporary_database(postgres_server) as back:
        restore(configured(own), tmp_path / "there.dump")
        backup(configured(own), tmp_path / "back.dump")
        restore(configured(back), tmp_path / "back.dump")
        assert windows(back) == windows(own) == windows(own_database)


def test_a_cut_backup_leaves_the_database_empty(
    own_database: str, others: str, tmp_path: Path
) -> None:
    """The script of a cut file ends early, and nothing before its end is committed."""
    engine = sa.create_engine(own_database, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO windows (key, name, query, country, max_documents, source) "
            "SELECT n::text, md5(n::text), 'q', 'Freedonia', 5, '{\"path\": \"x\"}' "
            "FROM generate_series(1, 5000) n"
        )
    backup(configured(own_database), tmp_path / "whole.dump")
    whole = (tmp_path / "whole.dump").read_bytes()
    (tmp_path / "cut.dump").write_bytes(whole[: len(whole) * 9 // 10])
    migrate.upgrade(others)
    with pytest.raises(StoreError, match="restore"):
        restore(configured(others), tmp_path / "cut.dump")
    with sa.create_engine(others, poolclass=sa.NullPool).connect() as connection:
        assert not sa.inspect(connection).has_table("windows")


def test_a_server_newer_than_every_program_is_refused_before_a_file_is_written(
    own_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = backup_module._server(own_database)
    newer = dataclasses.replace(found, version="99.1", major=99)
    monkeypatch.setattr(backup_module, "_server", lambda url: newer)
    with pytest.raises(StoreError, match=r"PostgreSQL 99\.1") as refused:
        backup(configured(own_database), tmp_path / "never.dump")
    assert "postgresql-client-99" in refused.value.remedy
    assert not (tmp_path / "never.dump").exists()
