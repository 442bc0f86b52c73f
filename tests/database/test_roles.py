"""The roles, with real logins: what each may do, and that it may do nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from deployments.local.prefect_server import prefect_database
from judge_gym.errors import StoreError
from judge_gym.settings import Settings
from judge_gym.simulator.server import serving
from judge_gym.store import migrate, views
from judge_gym.store import tables as t
from judge_gym.store.engine import connect
from judge_gym.store.locks import exclusive
from judge_gym.store.read_only import READER, WRITER, create_roles
from support.logins import login
from support.migrations import add_later_migration
from support.postgres import temporary_database
from support.rig import run, runtime_at
from support.study import Study, corpus, window


@pytest.fixture(scope="module")
def database(postgres_server: str, migrated_template: str) -> Iterator[str]:
    """A database of these tests with the roles made twice, since that must do no harm."""
    with temporary_database(postgres_server, migrated_template) as url:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        create_roles(engine)
        create_roles(engine)
        yield url


@pytest.fixture(scope="module")
def reader(database: str) -> Iterator[str]:
    with login(database, READER) as url:
        yield url


@pytest.fixture(scope="module")
def writer(database: str) -> Iterator[str]:
    with login(database, WRITER) as url:
        yield url


def refused(url: str, statement: str) -> str:
    """Why the database refuses a statement; fails when it does not."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with pytest.raises(sa.exc.ProgrammingError) as error, engine.begin() as connection:
        connection.exec_driver_sql(statement)
    return str(error.value.orig)


def test_a_reader_can_select_every_view(reader: str) -> None:
    with sa.create_engine(reader, poolclass=sa.NullPool).connect() as connection:
        found = views.names(connection)
        assert len(found) == len(views.files())
        for view in found:
            assert connection.exec_driver_sql(f"TABLE analysis.{view}").keys()


@pytest.mark.parametrize("table", [*t.Base.metadata.tables, "alembic_version"])
def test_a_reader_can_select_no_table(reader: str, table: str) -> None:
    assert "permission denied" in refused(reader, f"SELECT FROM public.{table}")


HOSTILE = (
    # writing
    "INSERT INTO analysis.answers (answer) VALUES ('x')",
    "UPDATE analysis.answers SET answer = 'x'",
    "DELETE FROM analysis.answers",
    "SELECT * FROM analysis.answers FOR UPDATE",
    "COPY analysis.answers FROM STDIN",
    "LOCK TABLE analysis.answers IN ACCESS EXCLUSIVE MODE",
    "LOCK TABLE public.llm_calls IN ACCESS SHARE MODE",
    "TRUNCATE public.samples",
    "SELECT nextval('public.samples_id_seq')",
    # making things
    "CREATE TABLE analysis.mine (x int)",
    "CREATE TABLE public.mine (x int)",
    "CREATE TEMPORARY TABLE mine (x int)",
    "CREATE FUNCTION pg_temp.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE FUNCTION analysis.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE SCHEMA mine",
    "ALTER DATABASE postgres CONNECTION LIMIT 1",
    "CREATE FOREIGN DATA WRAPPER mine",
    "CREATE PUBLICATION mine FOR ALL TABLES",
    "DO 'BEGIN END'",
    "DROP VIEW analysis.samples",
    "COMMENT ON VIEW analysis.samples IS 'mine'",
    # locks and waiting
    "SELECT pg_advisory_lock(5)",
    "SELECT pg_advisory_lock_shared(5, 6)",
    "SELECT pg_advisory_xact_lock(5)",
    "SELECT pg_advisory_xact_lock_shared(5)",
    "SELECT pg_try_advisory_lock(5, 6)",
    "SELECT pg_try_advisory_xact_lock_shared(5, 6)",
    "SELECT pg_advisory_unlock_all()",
    "SELECT query_to_xml('SELECT pg_advisory_lock(5)', true, true, '')",
    "SELECT pg_sleep(60)",
    "SELECT pg_sleep_for('1 hour')",
    "SELECT pg_export_snapshot()",
    # large objects and the log
    "SELECT lo_create(0)",
    "SELECT lo_creat(-1)",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_unlink(1)",
    "SELECT pg_logical_emit_message(true, 'mine', 'x')",
    "SELECT pg_notify('mine', 'x')",
    # files and programs of the server
    "COPY analysis.samples TO PROGRAM 'true'",
    "COPY (SELECT 1) TO '/tmp/mine'",
    "SELECT pg_read_file('postgresql.conf')",
    "SELECT pg_ls_dir('.')",
    "SELECT pg_stat_file('postgresql.conf')",
    # the server, and powers of others
    "SELECT pg_switch_wal()",
    "SELECT pg_reload_conf()",
    "CHECKPOINT",
    "SELECT pg_terminate_backend({owners_process})",
    "SELECT pg_cancel_backend({owners_process})",
    f"SET ROLE {WRITER}",
    "SELECT set_config('role', 'pg_read_server_files', false)",
    "CREATE ROLE mine",
    f"ALTER ROLE {WRITER} LOGIN",
    f"GRANT {WRITER} TO CURRENT_USER",
    "SELECT * FROM pg_authid",
    "SELECT * FROM pg_largeobject",
)


@pytest.mark.parametrize("statement", HOSTILE)
def test_a_reader_can_do_nothing_else(database: str, reader: str, statement: str) -> None:
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as owner:
        process = owner.scalar(sa.text("SELECT pg_backend_pid()"))
        said = refused(reader, statement.format(owners_process=process))
        assert any(word in said for word in ("permission denied", "must be ", "cannot delete"))
        assert owner.scalar(sa.text("SELECT count(*) FROM pg_largeobject_metadata")) == 0


def test_a_reader_connects_to_no_other_database_of_ours(database: str, reader: str) -> None:
    other = prefect_database(database)
    name = str(sa.make_url(other).database)
    try:
        url = sa.make_url(reader).set(database=name)
        with pytest.raises(sa.exc.OperationalError, match="permission denied"):
            sa.create_engine(url, poolclass=sa.NullPool).connect()
        # One of an earlier judge-gym is closed by making the roles again.
        owner = sa.create_engine(database, poolclass=sa.NullPool)
        with owner.begin() as connection:
            connection.exec_driver_sql(f'GRANT CONNECT ON DATABASE "{name}" TO PUBLIC')
        assert not any(name in sentence for sentence in create_roles(owner))
        with pytest.raises(sa.exc.OperationalError, match="permission denied"):
            sa.create_engine(url, poolclass=sa.NullPool).connect()
    finally:
        owner = sa.create_engine(database, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with owner.connect() as connection:
            connection.exec_driver_sql(f'DROP DATABASE "{name}"')


def test_what_only_a_superuser_can_take_from_readers_is_said(
    database: str, postgres_server: str
) -> None:
    with (
        login(database, "pg_monitor") as lesser,
        temporary_database(postgres_server) as own,
        login(own, READER) as reader,
    ):
        server = sa.create_engine(own, poolclass=sa.NullPool)
        with server.begin() as connection:
            owner = sa.make_url(lesser).username
            name = sa.make_url(own).database
            connection.exec_driver_sql(f'ALTER DATABASE "{name}" OWNER TO {owner}')
        url = sa.make_url(lesser).set(database=name).render_as_string(hide_password=False)
        migrate.upgrade(url)
        said = " ".join(create_roles(sa.create_engine(url, poolclass=sa.NullPool)))
        assert "can still take advisory locks" in said
        assert "REVOKE CONNECT, TEMPORARY ON DATABASE postgres FROM PUBLIC;" in said

        # A superuser ends it, and the owner still claims its work.
        assert "advisory" not in " ".join(create_roles(server))
        assert "permission denied" in refused(reader, "SELECT pg_advisory_lock(5)")
        with exclusive(sa.create_engine(url, poolclass=sa.NullPool), {"experiments": ["a"]}):
            pass


def test_views_made_anew_can_still_be_read(database: str, reader: str) -> None:
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.begin() as connection:
        views.drop(connection)
        views.create(connection)
    with sa.create_engine(reader, poolclass=sa.NullPool).connect() as connection:
        assert len(views.names(connection)) == len(views.files())
        assert connection.exec_driver_sql("SELECT * FROM analysis.samples").all() == []


def test_a_writer_runs_an_experiment(writer: str, tmp_path: Path) -> None:
    """W1 to W5, through the same connection check as every command."""
    connect(Settings.model_validate({"database_url": writer})).dispose()

    async def work() -> None:
        async with serving() as base_url, runtime_at(writer, base_url) as runtime:
            study = Study(runtime, window(corpus(tmp_path, 2)))
            tags = await study.up_to_scores(study.experiment("sim/calm-1"))
            await study.probe(tags)
            statuses = study.all(sa.select(t.Sample.status))
            assert len(statuses) == 4
            assert "scored" in statuses

    run(work())


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE samples",
        "ALTER TABLE samples ADD COLUMN mine int",
        "TRUNCATE samples",
        "CREATE TABLE public.mine (x int)",
        "UPDATE alembic_version SET version_num = '0001'",
        "DROP VIEW analysis.samples",
        "CREATE ROLE mine",
    ],
)
def test_a_writer_cannot_change_the_schema(writer: str, statement: str) -> None:
    assert any(
        word in refused(writer, statement) for word in ("permission denied", "must be owner")
    )


def test_tables_that_come_later_are_the_writers_too(database: str, writer: str) -> None:
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE later (x int)")
    with sa.create_engine(writer, poolclass=sa.NullPool).begin() as connection:
        connection.exec_driver_sql("INSERT INTO later VALUES (1)")


def test_a_login_without_a_role_cannot_even_connect(database: str) -> None:
    with login(database, "pg_monitor") as url, pytest.raises(sa.exc.OperationalError):
        sa.create_engine(url, poolclass=sa.NullPool).connect()


def test_who_may_not_make_roles_is_told_what_to_do(reader: str) -> None:
    with pytest.raises(StoreError, match="permission denied") as refusal:
        create_roles(sa.create_engine(reader, poolclass=sa.NullPool))
    assert READER in refusal.value.remedy


def test_a_writer_cannot_migrate_and_is_told_so(
    writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_later_migration(monkeypatch, tmp_path, "ALTER TABLE sweeps ADD COLUMN later text")
    with pytest.raises(StoreError, match=r"must be owner|permission denied"):
        connect(Settings.model_validate({"database_url": writer}))
