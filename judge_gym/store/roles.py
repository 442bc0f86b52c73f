"""The roles of `sql/roles.sql`: a reader for analysts, a writer for the pipeline.

Roles belong to the whole server, and most owners of a database may not create them: so they are
made on request and not by a migration (docs/decisions/0010-views.md).
"""

from pathlib import Path

import sqlalchemy as sa

from judge_gym.errors import StoreError, first_line

FILE = Path(__file__).parents[2] / "sql" / "roles.sql"
READER, WRITER = "judge_gym_reader", "judge_gym_writer"


def create_roles(engine: sa.Engine) -> None:
    """Create the roles where they are missing and give them their rights in this database.

    Raises `StoreError` when the user may not.
    """
    try:
        with engine.begin() as connection:
            script = FILE.read_text()
            connection.exec_driver_sql(script, execution_options={"no_parameters": True})
    except sa.exc.ProgrammingError as error:
        reason = first_line(error.orig)
        raise StoreError(
            f"The roles cannot be made: {reason}.",
            f"Let an administrator run CREATE ROLE {READER} NOLOGIN and CREATE ROLE {WRITER} "
            "NOLOGIN, then repeat this as the user that owns the tables.",
        ) from None
