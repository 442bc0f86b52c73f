"""One embedded PostgreSQL cluster: its files, and starting, finding and stopping its server.

Functions that change the cluster expect that no other process does so. `embedded`
decides when the server starts and stops.
"""

import hashlib
import os
import shlex
import shutil
import socket
import stat
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from judge_gym.errors import StoreError
from judge_gym.store.disk import full_disk
from judge_gym.store.embedded_account import (
    OWN_SERVER,
    POSTGRES_MAJOR,
    Account,
    account_of,
    current_account,
    postgres_binaries,
    system_folder,
    unprivileged_account,
)

DATABASE = "judge_gym"
ROLE = "judge_gym"
PATIENCE = 120.0  # seconds for a server that is starting, recovering or shutting down

_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
    "log_checkpoints": "off",
    "cluster_name": "judge-gym",
}
_REMEDIES = {
    "No space left on device": "Free some disk space and rerun the command.",
    "Disk quota exceeded": "Free some disk space and rerun the command.",
    "shared memory": "Free some memory and run the command again.",
    "Permission denied": "The folder must be writable by the OS user that runs PostgreSQL.",
}


@dataclass(frozen=True)
class Cluster:
    """A cluster on disk: `folder` is its PGDATA, `account` its owner and the server's OS user."""

    folder: Path
    account: Account
    binaries: Path
    log_file: Path

    def pg_ctl(
        self, *arguments: str, output: int = subprocess.PIPE
    ) -> subprocess.CompletedProcess[bytes]:
        # PGDATA and not -D: pg_ctl pastes -D into a shell command, where $ and " would be live.
        return self.account.run(
            [self.binaries / "pg_ctl", *arguments, "-s", "-w", "-t", f"{PATIENCE:.0f}"],
            output=output,
            environment={"PGDATA": os.fspath(self.folder)},
        )


def find(data_folder: Path) -> Cluster | None:
    """Return the cluster of `data_folder`, or None if none exists.

    Raises StoreError if this process or this PostgreSQL version cannot use it.
    """
    link = data_folder / "cluster"
    if not link.exists():
        if link.is_symlink():
            raise StoreError(
                f"The database of {data_folder} was in {os.readlink(link)}, which is gone.",
                f"Restore that folder, or delete {link} to start with an empty database.",
            )
        return None
    folder = link.resolve()
    account = _owner(folder)
    _check_version(folder)
    return Cluster(folder, account, postgres_binaries(account), data_folder / "server.log")


def create(data_folder: Path, lock: int) -> Cluster:
    """Create the cluster of `data_folder`, completely or not at all.

    `lock` is the file descriptor of the caller's exclusive lock. initdb inherits it, so the lock
    is held until initdb ends, even if the caller is killed.
    """
    account = unprivileged_account() if os.geteuid() == 0 else current_account()
    binaries = postgres_binaries(account)
    link = data_folder / "cluster"
    inside = account.can_enter(data_folder)
    for unfinished in data_folder.glob("unfinished-cluster-*"):
        shutil.rmtree(unfinished)
    digest = hashlib.sha256(os.fsencode(data_folder)).hexdigest()[:16]
    folder = Path(
        tempfile.mkdtemp(prefix="unfinished-cluster-", dir=data_folder)
        if inside
        else tempfile.mkdtemp(prefix=f"{digest}-", dir=system_folder("clusters"))
    )
    try:
        _initdb(folder, account, binaries, lock)
        if inside:
            folder.rename(link)
        else:
            link.symlink_to(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Cluster(link.resolve(), account, binaries, data_folder / "server.log")


def delete(data_folder: Path) -> None:
    """Remove the files of a stopped cluster, wherever they are."""
    link = data_folder / "cluster"
    if link.exists():
        shutil.rmtree(link.resolve())
    if link.is_symlink():
        link.unlink()
    for log in (data_folder / "server.log", data_folder / "server.log.1"):
        log.unlink(missing_ok=True)


def postgres_failure(problem: str, output: bytes, where: str = "") -> StoreError:
    """Return the error of a failed PostgreSQL program: its most specific line and a remedy."""
    lines = [line for line in output.decode(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "FATAL" in line or "error:" in line] or lines[-1:]
    reason = telling[-1].strip() if telling else "it printed no error"
    remedies = [remedy for symptom, remedy in _REMEDIES.items() if symptom in reason]
    remedy = [part for part in (*remedies[:1], where, OWN_SERVER) if part]
    return StoreError(f"{problem}: {reason}.", " ".join(remedy))


def _owner(folder: Path) -> Account:
    """Return the account that runs this cluster: its owner."""
    uid = folder.stat().st_uid
    if os.geteuid() == 0 and uid != 0:
        account = account_of(uid)
        if not account.can_enter(folder):
            raise StoreError(
                f"OS user {account.name!r}, who owns the database in {folder}, cannot enter it.",
                "Restore the permissions of the folders above it, or move the project.",
            )
        return account
    if uid == 0 or uid != os.geteuid():
        raise StoreError(
            f"The database in {folder} belongs to another OS user (id {uid}).",
            f"Run as that user, or as root if judge-gym was first run by root; or give it to "
            f"your user with chown -R. {OWN_SERVER}",
        )
    return current_account()


def _check_version(folder: Path) -> None:
    try:
        version = (folder / "PG_VERSION").read_text().strip()
    except FileNotFoundError as error:
        raise StoreError(
            f"{folder} is not a PostgreSQL cluster: it has no PG_VERSION.",
            "Move it away to start with an empty database.",
        ) from error
    if version != str(POSTGRES_MAJOR):
        raise StoreError(
            f"The database in {folder} was made by PostgreSQL {version}; "
            f"this judge-gym carries PostgreSQL {POSTGRES_MAJOR}.",
            f"Dump it with PostgreSQL {version} and load the dump into a new folder, or move the "
            "folder away to start with an empty database.",
        )


def _initdb(folder: Path, account: Account, binaries: Path, lock: int) -> None:
    if account.switched:
        os.chown(folder, account.uid, account.gid)
    settings: list[str | Path] = [f"--set={name}={value}" for name, value in _SETTINGS.items()]
    result = account.run(
        [
            binaries / "initdb",
            f"--pgdata={folder}",
            f"--username={ROLE}",
            # Safe because only the owner of the cluster can reach the socket.
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            *settings,
        ],
        pass_fds=(lock,),
    )
    if result.returncode != 0:
        raise postgres_failure(f"PostgreSQL could not make a database in {folder}", result.stdout)


PORT = 5432  # names the socket file; nothing listens on TCP

_LONGEST_SOCKET = 100  # bytes; sockaddr_un holds 108 on Linux and 104 on macOS
_LARGEST_LOG = 8 * 1024 * 1024  # bytes


@dataclass(frozen=True)
class Postmaster:
    """The content of postmaster.pid; `socket_folder` is empty while the server starts."""

    pid: int
    socket_folder: str


def ensure_running(cluster: Cluster) -> Postmaster:
    """Find the running server or start it, and make sure that it has the database.

    Waits for a server that is starting, recovering from a crash or shutting down.
    """
    _bound_log(cluster.log_file)
    deadline = time.monotonic() + PATIENCE
    while True:
        postmaster = read_postmaster(cluster)
        if postmaster is None and (full := full_disk(cluster.folder)):
            raise full  # it would be tried until the deadline
        postmaster = postmaster or _launch_when_free(cluster, deadline)
        try:
            _ensure_database(cluster, postmaster)
        except psycopg.OperationalError as error:
            if full := full_disk(cluster.folder):
                raise full from error
            if time.monotonic() > deadline:
                raise StoreError(
                    f"The embedded PostgreSQL in {cluster.folder} runs as process "
                    f"{postmaster.pid} but accepts no connection: {' '.join(str(error).split())}",
                    f"See {cluster.log_file}; stop it with: kill -INT {postmaster.pid}",
                ) from error
            time.sleep(0.05)
        else:
            return postmaster


def stop(cluster: Cluster) -> None:
    """Stop the server if it runs, closing all connections; waits until it is down."""
    postmaster = read_postmaster(cluster)
    if postmaster is None:
        return
    result = cluster.pg_ctl("stop", "-m", "fast")
    if result.returncode != 0 and read_postmaster(cluster) is not None:
        raise postgres_failure(
            f"The embedded PostgreSQL in {cluster.folder} did not stop", result.stdout
        )
    if postmaster.socket_folder and Path(postmaster.socket_folder) != cluster.folder:
        with suppress(OSError):
            os.rmdir(postmaster.socket_folder)


def read_postmaster(cluster: Cluster) -> Postmaster | None:
    """Return the running server of this cluster, or None.

    After a machine crash or kill -9, postmaster.pid may name a dead process or an unrelated one.
    The process counts only if its working directory is this cluster's folder.
    """
    try:
        lines = (cluster.folder / "postmaster.pid").read_text(errors="surrogateescape").split("\n")
    except FileNotFoundError:
        return None
    if not lines[0].isdigit() or not _is_server(int(lines[0]), cluster):
        return None
    return Postmaster(int(lines[0]), lines[4] if len(lines) > 4 else "")


def _is_server(pid: int, cluster: Cluster) -> bool:
    if not Path("/proc/self/cwd").exists():
        process = subprocess.run(["ps", "-o", "comm=", "-p", str(pid)], capture_output=True)
        return b"postgres" in process.stdout
    # Runs as the server's user: root in a container may lack permission to read /proc/PID/cwd.
    same: list[str | Path] = [
        "/bin/sh",
        "-c",
        '[ "$1" -ef "$2" ]',
        "sh",
        f"/proc/{pid}/cwd",
        cluster.folder,
    ]
    return cluster.account.run(same).returncode == 0


class _OrphansAlive(StoreError):
    """The main process was killed, but some of its session processes still run."""


def _launch_when_free(cluster: Cluster, deadline: float) -> Postmaster:
    while True:
        try:
            return _launch(cluster)
        except _OrphansAlive:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _launch(cluster: Cluster) -> Postmaster:
    _refuse_hidden_server(cluster)
    socket_folder = _socket_folder(cluster)
    _remove_foreign_lock(cluster.folder / "postmaster.pid")
    _remove_foreign_lock(Path(socket_folder) / f".s.PGSQL.{PORT}.lock")
    options = ["-c", f'unix_socket_directories="{socket_folder}"']
    options += ["-c", "unix_socket_permissions=0700", "-c", f"port={PORT}"]
    log = os.open(cluster.log_file, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
    try:
        before = os.fstat(log).st_size
        # pg_ctl runs the options through a shell, so they are quoted for one.
        cluster.pg_ctl("start", "-o", shlex.join(options), output=log)
        written = os.pread(log, 64 * 1024, before)
    finally:
        os.close(log)
    # Ignore pg_ctl's exit code if the server runs: crash recovery may outlast its timeout.
    postmaster = read_postmaster(cluster)
    if postmaster is None:
        if b"pre-existing shared memory block" in written:
            raise _OrphansAlive(
                f"A PostgreSQL on {cluster.folder} was killed, and queries of it still run.",
                "Wait for them, or end the postgres processes whose title has 'judge-gym:'.",
            )
        raise postgres_failure(
            f"The embedded PostgreSQL in {cluster.folder} did not start",
            written,
            f"Rerun the command. The log is {cluster.log_file}.",
        )
    return postmaster


def _refuse_hidden_server(cluster: Cluster) -> None:
    """Two containers that share the folder see one socket but not each other's processes."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(os.fspath(cluster.folder / f".s.PGSQL.{PORT}"))
        except OSError:
            return
    raise StoreError(
        f"The database in {cluster.folder} is in use by a PostgreSQL that this process cannot see, "
        "as when two containers share a folder.",
        f"Stop the other one first. {OWN_SERVER}",
    )


def _remove_foreign_lock(lock_file: Path) -> None:
    """Remove a dead server's lock file that would keep PostgreSQL from starting.

    PostgreSQL replaces a lock file whose process is dead. It stops at an empty file (machine crash)
    and at a process id in use, by another process or by a zombie. Removing the file is safe:
    PostgreSQL also checks a shared memory segment keyed by the folder, so two servers cannot run.
    """
    with suppress(FileNotFoundError):
        pid = lock_file.read_text(errors="replace").split("\n")[0].strip()
        if not pid.isdigit() or psutil.pid_exists(int(pid)):
            lock_file.unlink()


def _socket_folder(cluster: Cluster) -> str:
    """Return the cluster's folder, or a private one under /tmp if that path cannot hold a socket.

    The kernel limits the length of a socket path, libpq splits a host at commas, PostgreSQL's
    setting is double-quoted, and a URL must be UTF-8.
    """
    own = os.fspath(cluster.folder)
    fits = len(os.fsencode(own)) + len(f"/.s.PGSQL.{PORT}") <= _LONGEST_SOCKET
    if fits and own.isprintable() and not set(own) & set(',"'):
        return own
    account = cluster.account
    digest = hashlib.sha256(os.fsencode(own)).hexdigest()[:16]
    short = Path("/tmp") / f"judge-gym-{account.uid}-{digest}"
    with suppress(FileExistsError):
        short.mkdir(mode=0o700)
        if account.switched:
            os.chown(short, account.uid, account.gid)
    status = short.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != account.uid or status.st_mode & 0o077:
        raise StoreError(
            f"{short}, where the database's socket belongs, is not a private folder of OS user "
            f"{account.name!r}.",
            "Remove it, or move the project to a shorter path.",
        )
    return os.fspath(short)


def _ensure_database(cluster: Cluster, postmaster: Postmaster) -> None:
    """Create the database if missing. Raises OperationalError if the server does not respond."""
    with psycopg.connect(
        host=postmaster.socket_folder or os.fspath(cluster.folder),
        port=PORT,
        user=ROLE,
        dbname="postgres",
        connect_timeout=10,
        autocommit=True,
    ) as connection:
        existing = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
        if existing.fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))


def _bound_log(log_file: Path) -> None:
    """Truncate the log if it is larger than 8 MiB; the old content is kept in server.log.1.

    Truncating is safe while the server runs: every process opens the log in append mode.
    """
    if log_file.exists() and log_file.stat().st_size > _LARGEST_LOG:
        shutil.copy(log_file, f"{log_file}.1")
        os.truncate(log_file, 0)
