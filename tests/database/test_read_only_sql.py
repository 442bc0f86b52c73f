"""SQL of others: it reads the views, and whatever else it tries PostgreSQL refuses."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from judge_gym.errors import StoreError
from judge_gym.settings import Settings
from judge_gym.store import read_only, views
from judge_gym.store.read_only import READER, WRITER, QueryError, create_roles, read, reader_url
from support.logins import login
from support.postgres import temporary_database


@pytest.fixture(scope="module")
def database(postgres_server: str, migrated_template: str) -> Iterator[str]:
    with temporary_database(postgres_server, migrated_template) as url:
        create_roles(sa.create_engine(url, poolclass=sa.NullPool))
        yield url


@pytest.fixture(scope="module")
def reader(database: str) -> Iterator[str]:
    with login(database, READER) as url:
        yield plain(url)


def plain(url: str) -> str:
    made = sa.make_url(url).set(drivername="postgresql")
    return made.render_as_string(hide_password=False)


def test_views_are_found_without_their_schema(reader: str) -> None:
    assert read(reader, "SELECT count(*) AS n FROM samples").rows == [[0]]
    assert read(reader, "SELECT count(*) FROM analysis.calls").columns == ["count"]


def test_values_are_plain(reader: str) -> None:
    found = read(
        reader,
        "SELECT 1 AS one, 2.5::float8 AS f, 1.10::numeric AS n, NULL AS nothing, true AS yes,"
        " date '2026-01-02' AS d, '{1,2}'::int[] AS a, '{\"k\": \"%s\"}'::jsonb AS j",
    )
    assert found.columns == ["one", "f", "n", "nothing", "yes", "d", "a", "j"]
    assert found.rows == [[1, 2.5, "1.10", None, True, "2026-01-02", "[1, 2]", '{"k": "%s"}']]
    assert found.cut == ""


NESTED = "SELECT {}, query_to_xml('{}', true, true, '')"
"""A query that first changes something about its session, then runs text as SQL."""


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("INSERT INTO analysis.answers (answer) VALUES ('x')", "permission denied|cannot"),
        ("UPDATE analysis.answers SET answer = 'x'", "permission denied|read-only"),
        ("DELETE FROM analysis.answers", "permission denied|read-only"),
        ("DELETE FROM analysis.failures", "cannot delete from view"),
        ("CREATE TABLE mine (x int)", "permission denied|read-only|no schema"),
        ("CREATE TEMPORARY TABLE mine (x int)", "permission denied|read-only"),
        ("DROP VIEW analysis.samples", "must be owner|read-only"),
        ("COPY analysis.samples TO PROGRAM 'true'", "permission denied"),
        ("COPY analysis.samples TO '/tmp/samples'", "permission denied"),
        ("COPY (SELECT 1) TO STDOUT", "COPY"),
        ("SELECT pg_read_file('postgresql.conf')", "permission denied"),
        ("SELECT * FROM pg_ls_dir('.')", "permission denied"),
        ("SELECT lo_import('/etc/passwd')", "permission denied|read-only"),
        ("SELECT * FROM public.llm_calls", "permission denied"),
        ("SELECT * FROM public.alembic_version", "permission denied"),
        ("SELECT * FROM pg_authid", "permission denied"),
        (f"SET ROLE {WRITER}", "permission denied"),
        (f"SET SESSION AUTHORIZATION {WRITER}", "permission denied"),
        ("SELECT 1; SELECT 2", "multiple commands"),
        ("COMMIT; DROP TABLE public.samples", "multiple commands"),
        (
            NESTED.format(f"set_config('role', '{WRITER}', false)", "SELECT 1"),
            "permission denied",
        ),
        (
            NESTED.format("set_config('role', 'none', false)", "SELECT * FROM public.llm_calls"),
            "permission denied",
        ),
        (
            NESTED.format("set_config('role', 'none', false)", "DELETE FROM public.llm_calls"),
            "permission denied|read-only",
        ),
        ("SELECT set_config('transaction_read_only', 'off', true)", "read-write"),
        ("SELECT nothing FROM samples", "nothing"),
        ("", "EMPTY_QUERY"),
    ],
)
def test_everything_else_is_refused(reader: str, statement: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        read(reader, statement)


def test_nothing_outlives_a_statement(reader: str) -> None:
    read(reader, "SELECT set_config('statement_timeout', '0', false)")
    assert read(reader, "SHOW statement_timeout").rows == [[f"{read_only.LONGEST_S}s"]]
    assert read(reader, "SHOW transaction_read_only").rows == [["on"]]


def test_a_slow_statement_is_ended(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_only, "LONGEST_S", 1)
    with pytest.raises(QueryError, match="longer than 1 s"):
        read(reader, "SELECT count(*) FROM generate_series(1, 10000000000)")


def test_rows_and_values_are_bounded(reader: str) -> None:
    found = read(reader, "SELECT generate_series(1, 1000000000)", most_rows=3)
    assert found.rows == [[1], [2], [3]]
    assert "first 3 rows" in found.cut
    long = read(reader, "SELECT repeat('x', 100000)")
    assert len(long.rows[0][0]) == read_only.LONGEST_CELL
    assert str(read_only.LONGEST_CELL) in long.cut
    wide = read(reader, "SELECT repeat('x', 4000) FROM generate_series(1, 400)")
    assert len(wide.rows) == read_only.LONGEST_ANSWER / 4000


def test_a_login_that_can_do_more_is_refused(database: str) -> None:
    with pytest.raises(StoreError, match="more than read"):
        read(plain(database), "SELECT 1")
    with login(database, WRITER) as writer, pytest.raises(StoreError, match="more than read"):
        read(plain(writer), "SELECT 1")


def test_a_server_of_ones_own_needs_a_login_and_says_how(database: str) -> None:
    with pytest.raises(StoreError, match="JUDGE_GYM_READER_URL") as refused:
        reader_url(Settings.model_validate({"database_url": database}))
    assert READER in refused.value.remedy


def test_all_views_can_be_read(reader: str) -> None:
    for file in views.files():
        name = file.stem.partition("_")[2]
        assert read(reader, f"TABLE {name}", most_rows=1).columns
