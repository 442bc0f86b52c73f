"""A database that cannot be used: the remedy fits the cause."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from judge_gym.errors import ConfigError, OutageError, StoreError
from judge_gym.settings import Settings
from judge_gym.store.engine import connect, database_failure, parsed_url
from support.postgres import temporary_database
from support.prefect_server import free_port


@pytest.mark.parametrize(
    ("change", "remedy", "bad_input"),
    [
        ({"database": "no_such_database"}, "Create the database, or correct its name", True),
        ({"username": "no_such_user"}, "Correct the user", True),
        (
            {"host": "127.0.0.1", "port": free_port(), "query": {}},
            "Start the server, or correct host and port",
            False,
        ),
        ({"host": "no-such-host.invalid", "query": {}}, "Correct the host", True),
    ],
    ids=["database", "user", "port", "host"],
)
def test_the_remedy_fits_the_cause_and_a_wrong_setting_is_bad_input(
    database: str, change: dict[str, Any], remedy: str, bad_input: bool
) -> None:
    url = sa.make_url(database).set(drivername="postgresql", **change)
    given = url.render_as_string(hide_password=False)
    with pytest.raises(StoreError) as refused:
        connect(Settings.model_validate({"database_url": given}))
    assert refused.value.remedy.startswith(remedy)
    assert "unset JUDGE_GYM_DATABASE_URL" in refused.value.remedy
    assert isinstance(refused.value, ConfigError) is bad_input


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("postgresql://judge:hunter2", "postgresql://judge:***."),
        ("postgresql://judge:hunter2@localhost:abc/lab", "postgresql://judge:***@localhost:abc/"),
        ("postgresql://judge:p@hunter2/x@localhost/lab", "postgresql://judge:***@localhost/lab."),
        ("postgresql://judge@a@localhost/lab?password=hunter2", "judge:***@localhost/lab."),
        ("postgresql://judge@localhost/lab?password=p@hunter2", "postgresql://judge@localhost"),
        ("mysql://judge:hunter2@localhost/lab", "mysql://judge:***@localhost/lab."),
        ("hunter2", "is not a database URL."),
    ],
)
def test_a_wrong_url_is_bad_input_and_shown_without_its_password(given: str, named: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parsed_url(SecretStr(given), "database_url")
    assert named in refused.value.message
    assert "hunter2" not in str(refused.value)


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


@pytest.mark.parametrize(
    "statements",
    [
        ["SET TRANSACTION READ ONLY", "CREATE TABLE mine (x int)"],
        ["SELECT pg_terminate_backend(pg_backend_pid())"],
        ["DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$"],
    ],
    ids=["read-only", "ended", "full"],
)
def test_what_may_be_paid_for_twice_is_said(database: str, statements: Sequence[str]) -> None:
    """An answer that comes while the database takes none is lost, and its call is made again."""
    refused = failed(database, *statements)
    assert refused is not None
    assert "paid for twice" in refused.remedy


def test_a_connection_that_the_server_ends_is_an_outage_to_resume_after(database: str) -> None:
    ended = failed(database, "SELECT pg_terminate_backend(pg_backend_pid())")
    assert isinstance(ended, OutageError)


def test_an_error_of_the_statement_is_no_failure_of_the_database(database: str) -> None:
    assert failed(database, "SELECT 1 / 0") is None


@pytest.fixture
def foreign(postgres_server: str) -> Iterator[tuple[str, sa.Engine]]:
    """An empty database without judge-gym's schema: its address, and an engine on it."""
    with temporary_database(postgres_server) as url:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        yield url, engine
        engine.dispose()


def connected(url: str) -> sa.Engine:
    return connect(Settings.model_validate({"database_url": url}))


def test_a_database_with_tables_of_another_program_is_left_as_it_is(
    foreign: tuple[str, sa.Engine],
) -> None:
    url, engine = foreign
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE orders (id int)")
    with pytest.raises(StoreError, match="orders") as refused:
        connected(url)
    assert "JUDGE_GYM_DATABASE_URL" in refused.value.remedy
    assert sa.inspect(engine).get_table_names() == ["orders"]


def test_a_database_of_another_program_with_migrations_is_no_newer_version(
    foreign: tuple[str, sa.Engine],
) -> None:
    url, engine = foreign
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num varchar(32))")
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES ('d4a7e1c93f52')")
    with pytest.raises(StoreError, match="of another program") as refused:
        connected(url)
    assert "upgrade judge-gym" not in refused.value.remedy


def test_an_emptied_database_is_set_up_again(foreign: tuple[str, sa.Engine]) -> None:
    url, engine = foreign
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num varchar(32))")
    connected(url).dispose()
    assert "samples" in sa.inspect(engine).get_table_names()
