"""What commands choose for Prefect, and what they leave to the user."""

import os
import sqlite3
import sys
from pathlib import Path

import pytest

from deployments.local.prefect_server import copy_template, keep_template
from deployments.local.temporary_server import own_home, set_prefect_defaults


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment of a user with an empty home folder."""
    given = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    monkeypatch.setattr(os, "environ", given)
    return given


def test_prefect_can_make_its_folder_in_a_fresh_place(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    set_prefect_defaults(tmp_path / "not" / "yet", verbose=False)
    home = Path(environment["PREFECT_HOME"])
    home.mkdir()  # as Prefect does: without parents
    assert home == tmp_path / "not" / "yet" / "prefect"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PREFECT_API_URL", "http://127.0.0.1:4200/api"),
        ("PREFECT_HOME", "mine"),
        ("PREFECT_PROFILE", "x"),
    ],
)
def test_what_the_user_chose_stays(
    tmp_path: Path, environment: dict[str, str], name: str, value: str
) -> None:
    environment[name] = value
    set_prefect_defaults(tmp_path, verbose=False)
    assert environment.get("PREFECT_HOME") == (value if name == "PREFECT_HOME" else None)
    assert environment[name] == value


def test_a_profile_of_the_users_is_used(tmp_path: Path, environment: dict[str, str]) -> None:
    profiles = tmp_path / "home" / ".prefect" / "profiles.toml"
    profiles.parent.mkdir(parents=True)
    profiles.touch()
    set_prefect_defaults(tmp_path, verbose=False)
    assert "PREFECT_HOME" not in environment


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".env", ""),
        ("prefect.toml", ""),
        ("pyproject.toml", "[tool.prefect.api]"),
        ("data/prefect/profiles.toml", ""),
    ],
)
def test_prefect_is_read_first_where_it_may_have_settings_of_its_own(
    tmp_path: Path,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    set_prefect_defaults(Path("data"), verbose=False)
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    assert own_home(Path("data")) == tmp_path / "data" / "prefect"
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text)
    assert own_home(Path("data")) is None


@pytest.mark.parametrize("variable", ["PREFECT_API_URL", "PREFECT_PROFILES_PATH", "PREFECT_HOME"])
def test_prefect_is_read_first_with_variables_of_the_users(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.chdir(tmp_path)
    set_prefect_defaults(Path(".judge-gym"), verbose=False)
    assert own_home(Path(".judge-gym")) is not None
    environment[variable] = "x"
    assert own_home(Path(".judge-gym")) is None


def test_a_new_database_of_prefect_is_copied_once_one_was_migrated(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    first, second = tmp_path / "first", tmp_path / "second"
    for home in (first, second):
        home.mkdir()
    assert copy_template(first), "there is no template yet"
    with sqlite3.connect(first / "prefect.db") as database:
        database.execute("CREATE TABLE migrated AS SELECT 1 AS revision")
    keep_template(first)
    assert not copy_template(second)
    with sqlite3.connect(second / "prefect.db") as database:
        assert database.execute("SELECT * FROM migrated").fetchall() == [(1,)]
        database.execute("INSERT INTO migrated VALUES (2)")
    assert not copy_template(second), "an existing database is never replaced"
    with sqlite3.connect(second / "prefect.db") as database:
        assert database.execute("SELECT count(*) FROM migrated").fetchone() == (2,)
    environment["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = "postgresql+asyncpg://host/prefect"
    third = tmp_path / "third"
    third.mkdir()
    assert not copy_template(third)
    assert list(third.iterdir()) == []


def test_an_environment_that_cannot_be_written_has_no_template(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    occupied = tmp_path / "venv"
    occupied.touch()
    monkeypatch.setattr(sys, "prefix", str(occupied))
    sqlite3.connect(tmp_path / "prefect.db").close()
    keep_template(tmp_path)
    (tmp_path / "prefect.db").unlink()
    assert copy_template(tmp_path)
