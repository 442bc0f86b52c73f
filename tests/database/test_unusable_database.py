"""A database that cannot be used: the remedy fits the cause."""

from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.errors import OutageError, StoreError
from judge_gym.settings import Settings
from judge_gym.store.engine import connect, database_failure
from support.prefect_server import free_port


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ({"database": "no_such_database"}, "Create the database, or correct its name"),
        ({"username": "no_such_user"}, "Correct the user"),
        (
            {"host": "127.0.0.1", "port": free_port(), "query": {}},
            "Start the server, or correct host and port",
        ),
        ({"host": "no-such-host.invalid", "query": {}}, "Correct the host"),
    ],
    ids=["database", "user", "port", "host"],
)
def test_the_remedy_fits_the_cause(database: str, change: dict[str, Any], remedy: str) -> None:
    url = sa.make_url(database).set(drivername="postgresql", **change)
    given = url.render_as_string(hide_password=False)
    with pytest.raises(StoreError) as refused:
        connect(Settings.model_validate({"database_url": given}))
    assert refused.value.remedy.startswith(remedy)
    assert "unset JUDGE_GYM_DATABASE_URL" in refused.value.remedy


def failed(database: str, *statements: str) -> StoreError | None:
    """Run statements on a connection of its own; return what is said of their error."""
    engine = connect(Settings.model_validate({"database_url": database}))
    try:
        with engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
    except sa.exc.DBAPIError as error:
        return database_failure(error)
    finally:
        engine.dispose()
    raise AssertionError("no statement failed")


def test_a_database_that_no_longer_takes_writes_is_named_read_only(database: str) -> None:
    refused = failed(database, "SET TRANSACTION READ ONLY", "CREATE TABLE mine (x int)")
    assert refused is not None
    assert "read-only" in str(refused)
    assert not isinstance(refused, OutageError)


def test_a_connection_that_the_server_ends_is_an_outage_to_resume_after(database: str) -> None:
    ended = failed(database, "SELECT pg_terminate_backend(pg_backend_pid())")
    assert isinstance(ended, OutageError)


def test_an_error_of_the_statement_is_no_failure_of_the_database(database: str) -> None:
    assert failed(database, "SELECT 1 / 0") is None
