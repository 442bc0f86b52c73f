"""Bringing a database to the current schema with the Alembic scripts under `sql/`."""

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from judge_gym.shipped import SQL

MIGRATIONS = SQL / "migrations"


def upgrade(url: str, revision: str = "head") -> None:
    """Apply every migration up to `revision`; does nothing on a current database."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        command.upgrade(_config(connection), revision)
    engine.dispose()


def downgrade(url: str, revision: str) -> None:
    """Undo migrations down to `revision` (`base` for an empty schema)."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        command.downgrade(_config(connection), revision)
    engine.dispose()


def revisions(engine: sa.Engine) -> tuple[str | None, str | None]:
    """Return (the database's revision, the newest one)."""
    with engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
        head = ScriptDirectory.from_config(_config(connection)).get_current_head()
    return current, head


def known_revisions() -> set[str]:
    """Return every revision that this judge-gym knows."""
    return {revision.revision for revision in ScriptDirectory(str(MIGRATIONS)).walk_revisions()}


def _config(connection: sa.Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
