"""The database of Prefect's server: its own, in the PostgreSQL of judge-gym where it can be.

Prefect needs the extension `pg_trgm`, which every packaged PostgreSQL has and the embedded one
lacks; there a file takes its place, as when Prefect is left to itself.
"""

import os
from pathlib import Path

import sqlalchemy as sa

from judge_gym.errors import StoreError, first_line

_CHOSEN = ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_DATABASE_CONNECTION_URL")
_NEEDED = sa.text("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'")
_KNOWN = sa.text("SELECT 1 FROM pg_database WHERE datname = :name")
_OPTIONS = {"host": "host", "port": "port", "sslmode": "ssl"}
"""Options of a URL, and what asyncpg calls them."""


def prefect_database(judge_gym: str, data: Path) -> str:
    """Return the URL of Prefect's database, which is made when it is not there.

    It is the one that the user's environment names; else `<name>_prefect` in the PostgreSQL of
    `judge_gym`, a URL; else a file in `data`. Raises `StoreError` when it cannot be made.
    """
    for variable in _CHOSEN:
        if chosen := os.environ.get(variable):
            return chosen
    url = sa.make_url(judge_gym)
    own = url.set(
        drivername="postgresql+asyncpg",
        database=f"{url.database}_prefect",
        query={_OPTIONS[key]: value for key, value in url.query.items() if key in _OPTIONS},
    )
    if not _made(url, str(own.database)):
        return f"sqlite+aiosqlite:///{data / 'prefect.db'}"
    return own.render_as_string(hide_password=False)


def _made(url: sa.URL, name: str) -> bool:
    """Make a database beside that of `url` unless it is there; False where Prefect's cannot be."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    try:
        with engine.connect() as connection:
            if connection.scalar(_NEEDED) is None:
                return False
            if connection.scalar(_KNOWN, {"name": name}) is None:
                quoted = connection.dialect.identifier_preparer.quote(name)
                connection.exec_driver_sql(f"CREATE DATABASE {quoted}")
    except sa.exc.DBAPIError as error:
        reason = first_line(error.orig)
        raise StoreError(
            f"Prefect's database {name} cannot be made: {reason}.",
            f"Let the user of the database create databases, or name one by {_CHOSEN[0]} "
            "(postgresql+asyncpg://user:password@host/name).",
        ) from None
    return True
