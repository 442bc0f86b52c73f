"""The engine: the server named by JUDGE_GYM_DATABASE_URL, else the embedded one."""

import sqlalchemy as sa
from alembic.util import CommandError

from judge_gym.errors import StoreError, first_line
from judge_gym.settings import Settings
from judge_gym.store import migrate


def database_url(settings: Settings) -> str:
    """Return the SQLAlchemy URL in force, starting the embedded server when it is the one."""
    if settings.database_url is None:
        from judge_gym.store import embedded

        return embedded.start(settings.data_dir / "postgres").url
    given = settings.database_url.get_secret_value()
    try:
        url = sa.make_url(given)
    except sa.exc.ArgumentError:
        raise StoreError(
            "JUDGE_GYM_DATABASE_URL is not a database URL.",
            "Write it as postgresql://user:password@host:5432/name.",
        ) from None
    if url.get_backend_name() != "postgresql":
        raise StoreError(
            f"JUDGE_GYM_DATABASE_URL names {url.get_backend_name()}; judge-gym needs postgresql."
        )
    return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def connect(settings: Settings) -> sa.Engine:
    """Return an engine on a reachable, migrated database; raises `StoreError` with a remedy."""
    url = database_url(settings)
    shown = sa.make_url(url).render_as_string(hide_password=True)
    # Errors are shown and logged: a statement's values may be prompts and answers.
    engine = sa.create_engine(url, pool_pre_ping=True, hide_parameters=True)
    try:
        current, newest = migrate.revisions(engine)
        if current != newest:
            migrate.upgrade(url)
    except (sa.exc.OperationalError, sa.exc.ProgrammingError) as error:
        engine.dispose()
        reason = first_line(error.orig)
        raise StoreError(
            f"The database {shown} cannot be used: {reason}.",
            "Start it and let its user create tables, or unset JUDGE_GYM_DATABASE_URL to use the "
            "embedded one.",
        ) from None
    except CommandError:
        engine.dispose()
        raise StoreError(
            f"The database {shown} is at revision {current}, which this judge-gym does not know.",
            "Upgrade judge-gym, or name another database.",
        ) from None
    return engine
