"""Bringing a database to the current schema with the Alembic scripts under `sql/`."""

import re
from functools import cache

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from judge_gym.errors import NewerSchemaError, StoreError
from judge_gym.shipped import SQL
from judge_gym.store.pooler import mind_poolers

MIGRATIONS = SQL / "migrations"
_DEVELOPMENT = re.compile(r"\d{4}")
"""Revisions before the first release had four digits; those from r0001 on begin with r."""
_OWN = re.compile(r"r\d{4}")
_OF_NOBODY = frozenset({"alembic_version", "spatial_ref_sys"})
"""Tables that an emptied database, and one with PostGIS, may have."""
_SHOWN = 3


def upgrade(url: str, revision: str = "head") -> None:
    """Apply every migration up to `revision`; does nothing on a current database."""
    engine = mind_poolers(sa.create_engine(url))
    with engine.connect() as connection:
        command.upgrade(_config(connection), revision)
    engine.dispose()


def downgrade(url: str, revision: str) -> None:
    """Undo migrations down to `revision` (`base` for an empty schema)."""
    engine = mind_poolers(sa.create_engine(url))
    with engine.connect() as connection:
        command.downgrade(_config(connection), revision)
    engine.dispose()


def revisions(engine: sa.Engine) -> tuple[str | None, str | None]:
    """Return (the database's revision, the newest one)."""
    with engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
        head = ScriptDirectory.from_config(_config(connection)).get_current_head()
    return current, head


def check_empty(engine: sa.Engine, subject: str) -> None:
    """Raise `StoreError` if a database of no revision holds tables, which are not judge-gym's."""
    with engine.connect() as connection:
        there = sorted(set(sa.inspect(connection).get_table_names()) - _OF_NOBODY)
        # Another process may have set it up meanwhile, revision and tables at once.
        current = MigrationContext.configure(connection).get_current_revision()
    if there and current is None:
        shown = ", ".join(there[:_SHOWN]) + (", ..." if len(there) > _SHOWN else "")
        raise StoreError(
            f"{subject} holds tables that are not judge-gym's: {shown}.",
            "Name a database of its own in JUDGE_GYM_DATABASE_URL: an empty one is set up.",
        )


def known_revisions() -> set[str]:
    """Return every revision that this judge-gym knows."""
    return {revision.revision for revision in ScriptDirectory(str(MIGRATIONS)).walk_revisions()}


def unknown_revision(subject: str, revision: str | None) -> StoreError:
    """Return the error for a database, backup or bundle of a revision that is not known here."""
    if _DEVELOPMENT.fullmatch(revision or ""):
        return StoreError(
            f"{subject} is of schema {revision}, from a development version before 0.1.0, which "
            "cannot be upgraded.",
            "Start a new database: set JUDGE_GYM_DATA_DIR to another folder, or "
            "JUDGE_GYM_DATABASE_URL to a new database. To keep results, write them as CSV and "
            "Parquet with the version that made them: `judge-gym data export SWEEP --to FOLDER`.",
        )
    if not _OWN.fullmatch(revision or ""):
        return StoreError(
            f"{subject} is of another program: judge-gym has no schema {revision}.",
            "Name one of judge-gym's own. A database is named by JUDGE_GYM_DATABASE_URL.",
        )
    return NewerSchemaError(
        f"{subject} is of schema {revision}, unknown to this judge-gym.",
        "It is of a newer version: upgrade judge-gym.",
    )


def check_schema(connection: sa.Connection) -> None:
    """Raise `NewerSchemaError` if a newer judge-gym has migrated the database since it was opened.

    Costs one look at a table of one row.
    """
    revision = connection.scalar(_REVISION)
    if revision != _newest(str(MIGRATIONS)) and revision not in known_revisions():
        raise NewerSchemaError(
            f"The database was upgraded to schema {revision} by a newer judge-gym during the run.",
            "All answers received are stored. Upgrade judge-gym here, or let a newer worker resume "
            "the run: rerun the command.",
        )


_REVISION = sa.text("SELECT version_num FROM alembic_version")


@cache
def _newest(migrations: str) -> str | None:
    return ScriptDirectory(migrations).get_current_head()


def _config(connection: sa.Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
