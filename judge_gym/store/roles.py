"""The roles of `sql/roles.sql`: a reader for analysts, a writer for the pipeline.

Roles belong to the whole server, and most owners of a database may not create them: so they are
made on request and not by a migration (docs/decisions/0010-views.md).
"""

from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from judge_gym.errors import StoreError, first_line

FILE = Path(__file__).parents[2] / "sql" / "roles.sql"
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
