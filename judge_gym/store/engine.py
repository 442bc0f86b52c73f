"""The engine: the server named by JUDGE_GYM_DATABASE_URL, else the embedded one."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import sqlalchemy as sa
import tenacity
from alembic.util import CommandError
from pydantic import SecretStr

from judge_gym.errors import (
    REFUSED_LOGIN,
    DatabaseHostError,
    DatabaseUrlError,
    OutageError,
    RefusedLoginError,
    StoreError,
    causes,
    first_line,
)
from judge_gym.settings import Settings
from judge_gym.store import migrate
from judge_gym.store.pooler import mind_poolers

PATIENCE_S = 90.0
"""Seconds that a new connection waits for a server that restarts or fails over."""


def database_url(settings: Settings) -> str:
    """Return the SQLAlchemy URL in force, starting the embedded server when it is the one."""
    if settings.database_url is None:
        from judge_gym.store import embedded

        return embedded.start(settings.data_dir / "postgres").url
    url = parsed_url(settings.database_url, "database_url")
    return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def parsed_url(secret: SecretStr, setting: str) -> sa.URL:
    """Return a setting's URL; raises `DatabaseUrlError`, with no password, when it is not one."""
    setting_name = f"The setting {setting} (JUDGE_GYM_{setting.upper()})"
    wrong, url = "is not a database URL", None
    text = secret.get_secret_value()
    if text.count("@") > 1:  # a part of the password would be read as host or database
        wrong = "has more than one @"
    else:
        with suppress(sa.exc.ArgumentError, ValueError):  # which quotes what stands for the port
            url = sa.make_url(text)
    if url is None:
        raise DatabaseUrlError(
            f"{setting_name} {wrong}{_without_password(text)}.",
            "Write it as postgresql://user:password@host:5432/name, with @, / and # in a password "
            "percent-encoded as %40, %2F and %23.",
        )
    if url.get_backend_name() != "postgresql":
        raise DatabaseUrlError(
            f"{setting_name} begins with {url.drivername}://: {shown(url)}.",
            "Use one that begins with postgresql://.",
        )
    return url


def _without_password(text: str) -> str:
    """Return ": " and what was given for a URL; empty where a password cannot be told apart."""
    given = re.fullmatch(
        r"([a-z0-9+]+://)([^\s:/@]*)(:[^@]*)?(.*@)?([^@]*)", text.partition("?")[0]
    )
    if given is None:
        return ""
    scheme, user, password, login, place = given.groups()
    hidden = ":***" if password or (login or "").count("@") > 1 else ""
    return f": {scheme}{user}{hidden}{f'@{place}' if login else ''}"


def shown(url: sa.URL | str) -> str:
    """Return a URL for messages, without password and options: options can contain a password."""
    return sa.make_url(url).set(query={}).render_as_string(hide_password=True)


def named(url: sa.URL) -> str:
    """Return a sentence that names a database: its data folder if embedded, else its URL."""
    from judge_gym.store import embedded

    for server in embedded.servers_in_use():
        if sa.make_url(server.url) == url:
            folder = server.data_folder
            return f"The database is in {folder}; JUDGE_GYM_DATA_DIR names another data folder."
    return f"The database is {shown(url)}."


def connect(settings: Settings) -> sa.Engine:
    """Return an engine on a reachable, migrated database; raises `StoreError` with a remedy.

    A database that cannot be reached is an error at once. Later connections of the engine wait
    `PATIENCE_S` for it.
    """
    url = database_url(settings)
    # Errors are shown and logged: a statement's values may be prompts and answers.
    engine = mind_poolers(sa.create_engine(url, pool_pre_ping=True, hide_parameters=True))
    try:
        current, newest = migrate.revisions(engine)
        if current is None:
            migrate.check_empty(engine, f"The database {shown(url)}")
        if current != newest:
            migrate.upgrade(url)
    except (sa.exc.OperationalError, sa.exc.ProgrammingError) as error:
        engine.dispose()
        reason = refusal_or_reason(error.orig)
        remedy = _remedy_of(str(error.orig)) if settings.database_url else "Rerun the command."
        raise _kind_of(error.orig)(
            f"The database {shown(url)} cannot be used: {reason}.", remedy
        ) from None
    except StoreError:
        engine.dispose()
        raise
    except CommandError:
        engine.dispose()
        raise migrate.unknown_revision(f"The database {shown(url)}", current) from None
    _connect_patiently(engine, settings)
    return engine


def _connect_patiently(engine: sa.Engine, settings: Settings) -> None:
    """Have connections wait for a server that is away, and start the embedded one again.

    A refused login is an error at once. Once a connection has waited in vain, the next ones do not
    wait until one succeeds: a run has many, and ends one after the other.
    """
    waits = True

    @sa.event.listens_for(engine, "handle_error")
    def read_only(context: sa.engine.ExceptionContext) -> None:
        # After a failover, another connection may lead to a server that takes writes.
        if isinstance(context.original_exception, psycopg.errors.ReadOnlySqlTransaction):
            context.is_disconnect = True

    def start_again(_: tenacity.RetryCallState) -> None:
        if settings.database_url is None:
            database_url(settings)

    @sa.event.listens_for(engine, "do_connect")
    def connected(
        dialect: Any, _record: Any, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        nonlocal waits
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_may_come_back),
            stop=tenacity.stop_after_delay(PATIENCE_S if waits else 0),
            wait=tenacity.wait_fixed(0.5),
            before_sleep=start_again,
        )
        try:
            connection = retrying(dialect.connect, *arguments, **options)
            waits = True
            return connection
        except tenacity.RetryError as error:
            waits = False
            last = error.last_attempt.exception()
            away = OutageError(
                f"The database has been away for more than {PATIENCE_S:.0f} s: {first_line(last)}.",
                _RESUME.format("Start the server"),
            )
            away.waited = True
            raise away from None


def is_refused_login(error: BaseException | None) -> bool:
    """Return whether PostgreSQL, or a pooler before it, refuses the user or the password."""
    is_of_login = isinstance(error, psycopg.OperationalError)
    return is_of_login and any(part in str(error) for part in _REFUSED)


def refusal_or_reason(error: BaseException | None) -> str:
    """Return why a connection failed, beginning with `REFUSED_LOGIN` if the login is why."""
    reason = first_line(error)
    return f"{REFUSED_LOGIN} ({reason})" if is_refused_login(error) else reason


def _kind_of(error: BaseException | None) -> type[StoreError]:
    """Return the kind of error for a first connection that failed."""
    if is_refused_login(error):
        return RefusedLoginError
    if "failed to resolve host" in str(error):
        return DatabaseHostError
    if _may_come_back(error):
        return OutageError
    return DatabaseUrlError if isinstance(error, psycopg.OperationalError) else StoreError


def _may_come_back(error: BaseException | None) -> bool:
    return isinstance(error, psycopg.OperationalError) and not any(
        part in str(error) for part in _OF_THE_LOGIN
    )


_REFUSED = (
    "password authentication failed",
    "SASL authentication failed",
    "no password supplied",
    'role "',
)
"""Parts of PostgreSQL's and PgBouncer's messages about a user or a password."""
_OF_THE_LOGIN = (*_REFUSED, "permission denied", 'database "')
"""Parts of PostgreSQL's messages that waiting does not change."""
_REMEDIES = {
    "permission denied": "Let the user create tables in it",
    "password authentication failed": "Correct the user or the password in JUDGE_GYM_DATABASE_URL",
    "SASL authentication failed": "Correct the user or the password in JUDGE_GYM_DATABASE_URL",
    "no password supplied": "Add the password to JUDGE_GYM_DATABASE_URL",
    'role "': "Correct the user in JUDGE_GYM_DATABASE_URL, or create it",
    'database "': "Create the database, or correct its name in JUDGE_GYM_DATABASE_URL",
    "onnection refused": "Start the server, or correct host and port in JUDGE_GYM_DATABASE_URL",
    "failed to resolve host": "Correct the host in JUDGE_GYM_DATABASE_URL",
}
"""A part of PostgreSQL's message → the remedy; libpq gives no code for a failed connection."""


def login_remedy(error: BaseException | None) -> str:
    """Return the remedy of a refused login."""
    return next(f"{remedy}." for part, remedy in _REMEDIES.items() if part in str(error))


def _remedy_of(message: str) -> str:
    fitting = (remedy for part, remedy in _REMEDIES.items() if part in message)
    otherwise = "Start the server, and let the user create tables"
    return (
        f"{next(fitting, otherwise)}; or unset JUDGE_GYM_DATABASE_URL to use the embedded database."
    )


_RESUME = (
    "What was stored before stays; calls that were out are made again, and may be paid for twice. "
    "{} and rerun the command to resume."
)


def database_failure(error: BaseException) -> StoreError | None:
    """Return what to print if the server of the database caused an error; None for other causes.

    Covers errors of psycopg and of SQLAlchemy: a lost connection, a server that stops, starts or
    recovers, one that is read-only, a full disk, and other failures that are not the statement's.
    """
    for cause in causes(error):
        original = cause.orig if isinstance(cause, sa.exc.DBAPIError) else cause
        if isinstance(original, psycopg.errors.ReadOnlySqlTransaction):
            return StoreError(
                f"The database is read-only: {first_line(original)}.",
                _RESUME.format(
                    "Have the server take writes again (after a failover the address may lead to a "
                    "standby), or correct JUDGE_GYM_DATABASE_URL,"
                ),
            )
        if isinstance(original, psycopg.errors.DiskFull):
            return StoreError(
                f"The disk of the database is full: {first_line(original)}.",
                _RESUME.format("Free space"),
            )
        if _lost_connection(cause, original):
            return OutageError(
                f"The database stopped during the run: {first_line(original)}.",
                _RESUME.format("Start the server"),
            )
        if isinstance(original, psycopg.OperationalError):
            return StoreError(
                f"The database refused a statement: {first_line(original)}.",
                _RESUME.format("Correct the cause"),
            )
    return None


def _lost_connection(cause: BaseException, original: BaseException | None) -> bool:
    # libpq gives no code for a connection that broke. 08 is a lost connection, 57P a server that
    # stops, has crashed or is not ready.
    if isinstance(original, psycopg.OperationalError):
        return original.sqlstate is None or original.sqlstate.startswith(("08", "57P"))
    if isinstance(original, psycopg.InterfaceError):  # a closed connection was used
        return True
    # 8s2b: the connection of a session was lost before.
    return isinstance(cause, sa.exc.StatementError | sa.exc.InvalidRequestError) and (
        getattr(cause, "connection_invalidated", False) or cause.code == "8s2b"
    )


def server_version(engine: sa.Engine) -> str:
    """Return the version of the PostgreSQL server."""
    with engine.connect() as connection:
        return str(connection.scalar(sa.text("SHOW server_version")))


def create_database(url: str, name: str, *, extension: str) -> None:
    """Create a database on the server of `url` unless it exists, closed to other logins.

    Raises `StoreError` with the reason when the server refuses or lacks the extension.
    """
    has_extension = sa.text("SELECT 1 FROM pg_available_extensions WHERE name = :name")
    exists = sa.text("SELECT 1 FROM pg_database WHERE datname = :name")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    try:
        with engine.connect() as connection:
            if connection.scalar(has_extension, {"name": extension}) is None:
                raise StoreError(f"this PostgreSQL lacks the extension {extension}")
            quoted = connection.dialect.identifier_preparer.quote(name)
            if connection.scalar(exists, {"name": name}) is None:
                connection.exec_driver_sql(f"CREATE DATABASE {quoted}")
            connection.exec_driver_sql(f"REVOKE ALL ON DATABASE {quoted} FROM PUBLIC")
    except sa.exc.DBAPIError as error:
        raise StoreError(first_line(error.orig)) from None


@contextmanager
def watched_server(url: str) -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether the server of `url` is gone.

    It holds one connection, which ends with its server: no process has to be watched.
    """
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:

        def is_lost() -> bool:
            try:
                connection.execute("SELECT 1")
            except psycopg.OperationalError:
                return True
            return False

        yield is_lost
