"""A database into a file and into another database, by PostgreSQL's own programs."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from judge_gym.errors import StoreError
from judge_gym.settings import Settings
from judge_gym.store import migrate
from judge_gym.store.backup import backup, restore
from support.postgres import temporary_database


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


@pytest.mark.slow
def test_a_backup_of_an_older_judge_gym_is_brought_to_the_newest_schema(
    others: str, postgres_server: str, tmp_path: Path
) -> None:
    import subprocess

    from judge_gym.store.embedded_account import current_account, postgres_binaries

    migrate.upgrade(others, "0007")
    fill(others)
    url = sa.make_url(others).set(drivername="postgresql").render_as_string(hide_password=False)
    program = postgres_binaries(current_account()) / "pg_dump"
    file = tmp_path / "old.dump"
    subprocess.run([program, "--format=custom", f"--file={file}", url], check=True)
    with temporary_database(postgres_server) as newer:
        restore(configured(newer), file)
        assert windows(newer) == windows(others)
        engine = sa.create_engine(newer, poolclass=sa.NullPool)
        assert len(set(migrate.revisions(engine))) == 1


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
