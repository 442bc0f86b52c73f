"""Real databases for tests: `postgres_server`, `migrated_template`, `database`, `database_url`.

One server serves a whole run (`support.servers`): the one of JUDGE_GYM_TEST_DATABASE_URL (whose
user must be allowed to create databases), else an embedded one in a temporary folder. Every
database has a random name and is dropped in the end, so that runs can share a server.
"""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.store import embedded
from judge_gym.store.embedded_account import current_account, unprivileged_account
from support.servers import SERVERS

# Tests need no durability. Several workers connect at a time, each with several engines.
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "400",
}


@contextmanager
def running_postgres() -> Iterator[str]:
    """The URL of a server for tests, naming a database that they leave alone."""
    given = os.environ.get("JUDGE_GYM_TEST_DATABASE_URL")
    if given:
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="judge-gym-test-"))
    try:
        url = embedded.start(folder).url
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with engine.connect() as connection:
            for name, value in _SETTINGS.items():
                connection.exec_driver_sql(f"ALTER SYSTEM SET {name} = {value}")
        # The number of connections is read at the start.
        embedded.release(folder)
        yield embedded.start(folder).url
    finally:
        embedded.remove(folder)
        shutil.rmtree(folder)


@contextmanager
def server_of(programs: Path) -> Iterator[str]:
    """The URL of a server of the version of these programs, on a socket of its own."""
    account = unprivileged_account() if os.geteuid() == 0 else current_account()
    folder = Path(tempfile.mkdtemp(prefix="judge-gym-test-", dir="/tmp"))
    os.chown(folder, account.uid, account.gid)
    cluster = folder / "cluster"
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    control = [programs / "pg_ctl", "-D", cluster, "-w"]

    def run(*command: str | Path) -> None:
        with (folder / "output").open("ab") as output:
            ended = account.run(command, output=output)
        assert ended.returncode == 0, (folder / "output").read_text()

    try:
        run(programs / "initdb", "-D", cluster, "-U", "postgres", "-A", "trust", "-E", "UTF8")
        run(*control, "-o", options, "start")
        yield f"postgresql+psycopg://postgres@/postgres?host={folder}"
    finally:
        account.run([*control, "-m", "immediate", "stop"])
        shutil.rmtree(folder)


@contextmanager
def migrated_database(server_url: str) -> Iterator[str]:
    """The name of a database with the current schema and no rows; never connect to it."""
    from judge_gym.store.migrate import upgrade

    with temporary_database(server_url) as url:
        upgrade(url)
        name = sa.make_url(url).database
        assert name is not None
        yield name


def selected(url: str, statement: str, **values: Any) -> list[tuple[Any, ...]]:
    """The rows that a statement selects from a database."""
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        return [tuple(row) for row in connection.execute(sa.text(statement), values)]


@contextmanager
def temporary_database(server_url: str, template: str = "template0") -> Iterator[str]:
    """The URL of a new database made from `template`; dropped on leaving, whoever is connected."""
    name = f"test_{uuid.uuid4().hex}"
    server = sa.create_engine(server_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with server.connect() as connection:
        # By default every page of the template is logged, which takes twice as long.
        connection.exec_driver_sql(
            f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy'
        )
    try:
        yield sa.make_url(server_url).set(database=name).render_as_string(hide_password=False)
    finally:
        _drop(server_url, name)


@contextmanager
def prefect_records(server_url: str) -> Iterator[str]:
    """The URL of an empty database for a Prefect server; dropped on leaving."""
    from deployments.local.prefect_server import prefect_database

    with temporary_database(server_url) as beside:
        url = prefect_database(beside)
        try:
            yield url
        finally:
            _drop(server_url, str(sa.make_url(url).database))


def _drop(server_url: str, name: str) -> None:
    server = sa.create_engine(server_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with server.connect() as connection:
        connection.exec_driver_sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> str:
    """The URL of the run's server, naming a database that tests leave alone."""
    return pytestconfig.stash[SERVERS].postgres


@pytest.fixture(scope="session")
def database_url(postgres_server: str) -> Iterator[str]:
    """An empty database, shared by the session: for tests of migrations and of the engine."""
    with temporary_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def migrated_template(pytestconfig: pytest.Config) -> str:
    """The name of a database with the current schema and no rows; never connect to it."""
    return pytestconfig.stash[SERVERS].template


@pytest.fixture
def own_database(postgres_server: str, migrated_template: str) -> Iterator[str]:
    """The URL of a database with the current schema and no rows, for one test alone."""
    with temporary_database(postgres_server, migrated_template) as url:
        yield url


@pytest.fixture
def database(own_database: str) -> str:
    """The database of a test; tests/database have another one."""
    return own_database
