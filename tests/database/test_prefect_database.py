"""Where `judge-gym up` keeps Prefect's records: beside the verdicts, or where the user says."""

import os
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from deployments.local.prefect_server import prefect_database
from judge_gym.errors import StoreError
from support.logins import login


@pytest.fixture
def made(own_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[sa.URL]:
    """The URL of a database, beside which Prefect's may be made; that one is dropped in the end."""
    for name in [name for name in os.environ if name.endswith("_DATABASE_CONNECTION_URL")]:
        monkeypatch.delenv(name)
    url = sa.make_url(own_database)
    yield url
    owner = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with owner.connect() as connection:
        connection.exec_driver_sql(f'DROP DATABASE IF EXISTS "{url.database}_prefect"')


def test_it_is_made_once_in_the_same_server_and_can_do_what_prefect_needs(made: sa.URL) -> None:
    given = made.render_as_string(hide_password=False)
    first, again = prefect_database(given), prefect_database(given)
    assert first == again
    own = sa.make_url(first)
    assert own.drivername == "postgresql+asyncpg"
    assert own.database == f"{made.database}_prefect"
    # The same server, by the driver of these tests.
    there = sa.create_engine(made.set(database=own.database), poolclass=sa.NullPool)
    with there.begin() as connection:
        connection.exec_driver_sql("CREATE EXTENSION pg_trgm")
    with (
        login(there.url.render_as_string(hide_password=False), "pg_monitor") as other,
        pytest.raises(sa.exc.OperationalError, match="permission denied"),
    ):
        sa.create_engine(other, poolclass=sa.NullPool).connect()


def test_the_users_choice_goes_first(made: sa.URL, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = "sqlite+aiosqlite:///elsewhere.db"
    monkeypatch.setenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", chosen)
    assert prefect_database(made.render_as_string(hide_password=False)) == chosen


def test_a_user_who_may_not_make_it_is_told(made: sa.URL) -> None:
    given = made.render_as_string(hide_password=False)
    with (
        login(given, "pg_read_all_data") as url,
        pytest.raises(StoreError, match=r"_prefect cannot be made: permission denied"),
    ):
        prefect_database(url)
