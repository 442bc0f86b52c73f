"""Read-only SQL on the analysis views: the reader's role, its login, and running one statement.

PostgreSQL itself refuses the rest: the connection is a login's whose only rights are those of
the role judge_gym_reader, the transaction is read-only and rolled back. `SET ROLE` on a powerful
login would not do, since a query can undo it from within (docs/decisions/0012-operating.md).
"""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql

from judge_gym.counting import counted
from judge_gym.errors import StoreError, first_line
from judge_gym.settings import Settings
from judge_gym.shipped import SQL
from judge_gym.store import views
from judge_gym.store.engine import connect, database_url, parsed_url

LOGIN = "judge_gym_query"
"""The embedded database's login of the reader's rights; its server is reached by a socket alone."""
LONGEST_S = 10
"""Seconds that a statement may take."""
MOST_ROWS = 500
LONGEST_CELL = 4_000
"""Characters of one value; answers of models and pages are longer."""
LONGEST_ANSWER = 60_000
"""Characters of all values together."""


class QueryError(StoreError):
    """A statement that PostgreSQL refuses, or that takes too long."""


@dataclass(frozen=True)
class Rows:
    """The rows of a statement; `cut` says whether rows or parts of values are missing, and why."""

    columns: list[str]
    rows: list[list[Any]]
    cut: str


def reader_url(settings: Settings) -> str:
    """Return the URL of a login that may read the views; makes one in the embedded database.

    Raises `StoreError` when a database of one's own has none yet.
    """
    if settings.reader_url is not None:
        url = parsed_url(settings.reader_url, "reader_url")
        return url.set(drivername="postgresql").render_as_string(hide_password=False)
    if settings.database_url is not None:
        raise StoreError(
            "SQL needs a login that can only read, and JUDGE_GYM_READER_URL names none.",
            f"Run `judge-gym database roles`, then in psql: CREATE ROLE some_login LOGIN PASSWORD "
            f"'...'; GRANT {READER} TO some_login; and set JUDGE_GYM_READER_URL to its URL.",
        )
    engine = connect(settings)
    create_roles(engine)
    close_cluster(engine)
    with engine.begin() as connection:
        role = connection.scalar(sa.text("SELECT to_regrole(:name)"), {"name": LOGIN})
        if role is None:
            connection.exec_driver_sql(f"CREATE ROLE {LOGIN} LOGIN IN ROLE {READER}")
    engine.dispose()
    url = sa.make_url(database_url(settings)).set(drivername="postgresql", username=LOGIN)
    return url.render_as_string(hide_password=False)


def read(url: str, statement: str, most_rows: int = MOST_ROWS) -> Rows:
    """Run one statement by a reader's login; values are numbers, truth values, text and None.

    Raises `QueryError` with PostgreSQL's reason, and `StoreError` for a login that may do more
    than read.
    """
    try:
        opened = psycopg.connect(url)
    except psycopg.OperationalError as error:
        raise StoreError(f"The reader's login cannot connect: {first_line(error)}.") from None
    try:
        with closing(opened) as connection:
            connection.read_only = True
            _check(connection)
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL statement_timeout = '{LONGEST_S}s'")
                cursor.execute(f"SET LOCAL search_path = {views.SCHEMA}")
                return _fetched(cursor, statement, min(most_rows, MOST_ROWS))
    except psycopg.errors.QueryCanceled:
        raise QueryError(
            f"The statement took longer than {LONGEST_S} s.",
            "Ask for less: a sweep's or an experiment's rows, fewer columns, a LIMIT.",
        ) from None
    except psycopg.Error as error:
        raise QueryError(f"PostgreSQL refuses the statement: {first_line(error)}.") from None


def _fetched(cursor: psycopg.Cursor[Any], statement: str, most_rows: int) -> Rows:
    # Row by row, so that a large result is never in memory; and as one statement, never several.
    rows: list[list[Any]] = []
    cut, room = "", LONGEST_ANSWER
    for row in cursor.stream(statement.encode()):
        if len(rows) == most_rows or room <= 0:
            cut = f"Only the first {counted(len(rows), 'row')}."
            break
        cells = [_plain(value) for value in row]
        shown = [_cut(cell) for cell in cells]
        if shown != cells:
            cut = f"Values are cut after {LONGEST_CELL} characters."
        room -= sum(len(str(cell)) for cell in shown)
        rows.append(shown)
    return Rows(_columns(cursor, statement), rows, cut)


def _columns(cursor: psycopg.Cursor[Any], statement: str) -> list[str]:
    if cursor.description:
        return [column.name for column in cursor.description]
    # Without a row the driver gives no names, but the server does.
    server = cursor.connection.pgconn
    server.prepare(b"described", statement.encode())
    described = server.describe_prepared(b"described")
    return [(described.fname(place) or b"").decode() for place in range(described.nfields)]


def _check(connection: psycopg.Connection[Any]) -> None:
    """Raise `StoreError` unless the login can read the views and nothing of judge-gym besides."""
    powers = connection.execute(
        sql.SQL(
            "SELECT rolsuper OR rolcreaterole OR rolbypassrls OR EXISTS (SELECT FROM pg_class "
            "WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND "
            "(has_table_privilege(oid, 'SELECT') OR has_table_privilege(oid, 'INSERT'))) "
            "FROM pg_roles WHERE rolname = session_user"
        )
    ).fetchone()
    if powers is None or powers[0]:
        raise StoreError(
            "The login of JUDGE_GYM_READER_URL can do more than read the analysis views.",
            f"Use one that has been granted {READER} and nothing else.",
        )


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | dict):
        return json.dumps(value, default=str)
    return str(value)


def _cut(value: Any) -> Any:
    return value[:LONGEST_CELL] if isinstance(value, str) else value


FILE = SQL / "roles.sql"
READER, WRITER = "judge_gym_reader", "judge_gym_writer"


_LOCKS = sa.text("SELECT has_function_privilege(:role, 'pg_advisory_lock(bigint)', 'EXECUTE')")
_OTHERS = sa.text(
    "SELECT quote_ident(datname) FROM pg_database WHERE datallowconn "
    "AND datname <> current_database() AND has_database_privilege(:role, oid, 'CONNECT') ORDER BY 1"
)


def create_roles(engine: sa.Engine) -> list[str]:
    """Create the roles where they are missing and give them their rights in this database.

    Returns what readers can do besides reading the views, and how to end it: sentences, none
    where nothing is left. Raises `StoreError` when the user may not.
    """
    try:
        with engine.begin() as connection:
            script = FILE.read_text()
            connection.exec_driver_sql(script, execution_options={"no_parameters": True})
            return list(_left(connection))
    except sa.exc.ProgrammingError as error:
        reason = first_line(error.orig)
        raise StoreError(
            f"The roles cannot be made: {reason}.",
            f"Let an administrator run CREATE ROLE {READER} NOLOGIN and CREATE ROLE {WRITER} "
            "NOLOGIN, then repeat this as the user that owns the tables.",
        ) from None


def close_cluster(engine: sa.Engine) -> None:
    """Let readers connect to no other database of the server, which has to be judge-gym's own."""
    with engine.begin() as connection:
        for name in connection.scalars(_OTHERS, {"role": READER}).all():
            connection.exec_driver_sql(f"REVOKE ALL ON DATABASE {name} FROM PUBLIC")


def _left(connection: sa.Connection) -> Iterator[str]:
    if connection.scalar(_LOCKS, {"role": READER}):
        yield (
            f"{READER} can still take advisory locks, which make runs wait, and make large "
            "objects. Only a superuser can end that: let one run `judge-gym database roles`."
        )
    for name in connection.scalars(_OTHERS, {"role": READER}):
        yield (
            f"{READER} can still connect to the database {name}, as every login can. To end "
            f"that, in psql: REVOKE CONNECT, TEMPORARY ON DATABASE {name} FROM PUBLIC;"
        )
