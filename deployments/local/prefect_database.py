"""The database of Prefect's server: its own, in the PostgreSQL of judge-gym."""

import os

import sqlalchemy as sa

from judge_gym.errors import StoreError, first_line

_CHOSEN = ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_DATABASE_CONNECTION_URL")
_NEEDED = "pg_trgm"
"""The extension that Prefect's migrations make; packages of PostgreSQL call it contrib."""
_HAS = sa.text("SELECT 1 FROM pg_available_extensions WHERE name = :name")
_KNOWN = sa.text("SELECT 1 FROM pg_database WHERE datname = :name")
_OPTIONS = {"host": "host", "port": "port", "sslmode": "ssl"}
"""Options of a URL, and what asyncpg calls them."""


def prefect_database(judge_gym: str) -> str:
    """Return the URL of Prefect's database, which is made when it is not there.

    It is the one that the user's environment names, else `<name>_prefect` in the PostgreSQL of
    `judge_gym`, a URL. Raises `StoreError` when it cannot be made.
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
    _make(url, str(own.database))
    return own.render_as_string(hide_password=False)


def _make(url: sa.URL, name: str) -> None:
    """Make a database beside that of `url` unless it is there."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    try:
        with engine.connect() as connection:
            if connection.scalar(_HAS, {"name": _NEEDED}) is None:
                raise _impossible(name, f"this PostgreSQL lacks the extension {_NEEDED}")
            quoted = connection.dialect.identifier_preparer.quote(name)
            if connection.scalar(_KNOWN, {"name": name}) is None:
                connection.exec_driver_sql(f"CREATE DATABASE {quoted}")
            # Runs' parameters and logs are no matter of analysts, whose logins are of this server.
            connection.exec_driver_sql(f"REVOKE ALL ON DATABASE {quoted} FROM PUBLIC")
    except sa.exc.DBAPIError as error:
        raise _impossible(name, first_line(error.orig)) from None


def _impossible(name: str, reason: str) -> StoreError:
    return StoreError(
        f"Prefect's database {name} cannot be made: {reason}.",
        f"Let the user of the database create databases and {_NEEDED}, or name one by "
        f"{_CHOSEN[0]} (postgresql+asyncpg://user:password@host/name).",
    )
