"""The `analysis` schema: views for analysts, one commented SQL file each under `sql/views`.

Views are made anew after each migration to the newest schema (docs/decisions/0010-views.md). To
change one: edit its file and add a migration that holds nothing but `VIEWS`, the digest of the
files, by which databases that exist learn of it.
"""

from pathlib import Path

import sqlalchemy as sa

from judge_gym.errors import StoreError
from judge_gym.seeds import digest as digest_of

FOLDER = Path(__file__).parents[2] / "sql" / "views"
SCHEMA = "analysis"


def files() -> list[Path]:
    """Return the view files in the order of their names, each view after those it reads."""
    return sorted(FOLDER.glob("*.sql"))


def digest() -> str:
    """Return 16 digits that change with any view file."""
    return digest_of("views", [(file.name, file.read_text()) for file in files()])


def names(connection: sa.Connection) -> list[str]:
    """Return the views that this user may read, sorted; none where there is no such schema."""
    listed = sa.text(
        "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(:schema) "
        "AND relkind = 'v' AND has_table_privilege(oid, 'SELECT') ORDER BY relname COLLATE \"C\""
    )
    return list(connection.scalars(listed, {"schema": SCHEMA}))


def drop(connection: sa.Connection) -> None:
    """Drop every view of the schema, so that tables below them can change.

    Raises `StoreError` when somebody has built on them: what is not judge-gym's is never dropped.
    """
    found = names(connection)
    if not found:
        return
    try:
        connection.exec_driver_sql(f"DROP VIEW {', '.join(f'{SCHEMA}.{name}' for name in found)}")
    except sa.exc.InternalError as error:
        detail = " ".join(str(error.orig).split())
        raise StoreError(
            f"The views of schema {SCHEMA} cannot be made anew: {detail}",
            "Drop what depends on them, and create it again afterwards.",
        ) from None


def create(connection: sa.Connection) -> None:
    """Create every view from its file."""
    for file in files():
        # Several statements in one go, which the driver takes only without parameters.
        connection.exec_driver_sql(file.read_text(), execution_options={"no_parameters": True})
