"""The embedded PostgreSQL, for projects without a database server of their own.

`start(data_folder)` gives a URL; the first process starts the server, later ones join it, and the
last one to leave stops it. Nothing has to be installed or stopped by hand.

Where things are, in the data folder:

- `cluster`: the PostgreSQL data folder, private to the OS user that runs the server. That is the
  user of this process or, because PostgreSQL refuses root, the system user `judge-gym` when root
  runs this (created on first use). When that user cannot enter the data folder, as under /root,
  `cluster` is a link to `/var/lib/judge-gym/clusters/<digest of the data folder's path>-<random>`.
  It cannot execute what root installed in its home either; PostgreSQL's binaries are then copied
  once to `/var/lib/judge-gym/`. Permissions and owners of existing folders are never changed.
  `remove` deletes the cluster together with a linked folder; `rm -r` of the data folder leaves
  the linked one behind. Copying a data folder does not copy a linked cluster.
- `server.log`: the log of the server, cut when it exceeds 8 MB (`server.log.1` keeps the rest).
- `users.lock`, `start.lock`: see below.

The server listens on a Unix socket only: in the cluster folder, or in a private folder under /tmp
where that path is too long or has characters that a connection string cannot carry. Other OS users
cannot reach it, which is why connections need no password. Commits are durable.

Who is using the server is counted by the kernel: every user holds a shared lock on `users.lock`,
which vanishes with its process however that ends. Starting and stopping happen under an exclusive
lock on `start.lock`; a leaving process that then gets `users.lock` exclusively was the last one
and stops the server. After kill -9 the server stays; the next process joins it and stops it.
A forked child holds no lock of its own: it must call `start` itself, which is cheap.
"""

import atexit
import fcntl
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from judge_gym.errors import StoreError
from judge_gym.store import embedded_cluster
from judge_gym.store.disk import full_disk
from judge_gym.store.embedded_account import OWN_SERVER
from judge_gym.store.embedded_cluster import DATABASE, PORT, ROLE, Cluster, Postmaster

_log = logging.getLogger(__name__)
_TURN_PATIENCE = 180.0  # seconds to wait for another process that starts or stops the server


@dataclass(frozen=True)
class EmbeddedServer:
    """A running server. `cluster` is the resolved PostgreSQL folder, `pid` its main process."""

    url: str
    data_folder: Path
    cluster: Path
    log_file: Path
    pid: int


@dataclass(frozen=True)
class _Use:
    """This process's open lock files of one data folder."""

    users: int
    turn: int


_uses: dict[Path, _Use] = {}
_guard = threading.RLock()


def start(data_folder: Path) -> EmbeddedServer:
    """Join the server of `data_folder`, starting or creating it when needed.

    Idempotent within a process. The use ends with `release` or at the exit of the process.
    Raises StoreError, naming the folder, the reason and the remedy, when that is impossible.
    """
    folder = _resolved(data_folder)
    with _guard, _readable_errors(folder):
        if not folder.exists() and (full := full_disk(folder)):
            raise full
        folder.mkdir(parents=True, exist_ok=True)
        use = _uses.get(folder) or _open_use(folder)
        try:
            with _turn(use, folder):
                fcntl.flock(use.users, fcntl.LOCK_SH)
                cluster = embedded_cluster.find(folder)
                if cluster is None:
                    cluster = embedded_cluster.create(folder, use.turn)
                    _log.warning("Created a new database in %s.", folder)
                postmaster = embedded_cluster.ensure_running(cluster)
        except BaseException:
            if folder not in _uses:
                _close(use)
            raise
        _uses[folder] = use
        return _describe(folder, cluster, postmaster)


def release(data_folder: Path | None = None) -> None:
    """End this process's use of one server, or of all; the last user stops the server.

    Does nothing for a folder that this process does not use.
    """
    with _guard:
        folders = list(_uses) if data_folder is None else [_resolved(data_folder)]
        for folder in folders:
            use = _uses.pop(folder, None)
            if use is None:
                continue
            try:
                with _readable_errors(folder), _turn(use, folder):
                    if _is_last(use):
                        _stop(folder)
            finally:
                _close(use)


def status(data_folder: Path) -> EmbeddedServer | None:
    """The running server of `data_folder`, or None; neither starts nor joins it."""
    folder = _resolved(data_folder)
    with _readable_errors(folder):
        cluster = embedded_cluster.find(folder)
        postmaster = embedded_cluster.read_postmaster(cluster) if cluster else None
        return _describe(folder, cluster, postmaster) if cluster and postmaster else None


def servers_in_use() -> list[EmbeddedServer]:
    """Return the running servers that this process uses."""
    return [server for folder in _uses if (server := status(folder))]


def remove(data_folder: Path) -> None:
    """Stop the server and delete its database for good. Refuses while another process uses it."""
    folder = _resolved(data_folder)
    if not folder.exists():
        return
    with _guard, _readable_errors(folder):
        use = _uses.get(folder) or _open_use(folder)
        try:
            with _turn(use, folder):
                if not _is_last(use):
                    fcntl.flock(use.users, fcntl.LOCK_SH)
                    raise StoreError(
                        f"The database in {folder} is in use by another process.",
                        "End the other judge-gym commands and try again.",
                    )
                _stop(folder)
                embedded_cluster.delete(folder)
                _uses.pop(folder, None)
        finally:
            if folder not in _uses:
                _close(use)


def _resolved(data_folder: Path) -> Path:
    return Path(data_folder).expanduser().resolve()


def _describe(folder: Path, cluster: Cluster, postmaster: Postmaster) -> EmbeddedServer:
    host = quote(postmaster.socket_folder, safe="/")
    # The port is spelt out because PGPORT in the user's environment would change the socket's name.
    url = f"postgresql+psycopg://{ROLE}@/{DATABASE}?host={host}&port={PORT}"
    return EmbeddedServer(url, folder, cluster.folder, cluster.log_file, postmaster.pid)


def _open_use(folder: Path) -> _Use:
    flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
    users = os.open(folder / "users.lock", flags, 0o644)
    try:
        return _Use(users, os.open(folder / "start.lock", flags, 0o644))
    except BaseException:
        os.close(users)
        raise


def _close(use: _Use) -> None:
    os.close(use.users)
    os.close(use.turn)


@contextmanager
def _turn(use: _Use, folder: Path) -> Iterator[None]:
    """Be the only process that starts or stops this server."""
    deadline = time.monotonic() + _TURN_PATIENCE
    while not _try_exclusive(use.turn):
        if time.monotonic() > deadline:
            raise StoreError(
                f"Another process has been starting or stopping the database in {folder} for "
                f"{_TURN_PATIENCE:.0f} s.",
                f"See {folder / 'server.log'}, and end the other judge-gym commands.",
            )
        time.sleep(0.02)
    try:
        yield
    finally:
        fcntl.flock(use.turn, fcntl.LOCK_UN)


def _is_last(use: _Use) -> bool:
    """Whether nobody else uses the server; on False this process's own shared lock is gone."""
    return _try_exclusive(use.users)


def _try_exclusive(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _stop(folder: Path) -> None:
    cluster = embedded_cluster.find(folder)
    if cluster is not None:
        embedded_cluster.stop(cluster)


@contextmanager
def _readable_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        about = f": {error.filename}" if error.filename else ""
        raise StoreError(
            f"The database's folder {folder} cannot be used: {error.strerror or error}{about}.",
            f"Name a folder that you can write to. {OWN_SERVER}",
        ) from error


def _release_at_exit() -> None:
    try:
        release()
    except StoreError as error:
        _log.warning("%s", error)


def _forget_in_child() -> None:
    """A forked child shares its parent's locks: left open, they would outlive the parent, and
    its exit handler would stop the parent's server."""
    global _guard
    _guard = threading.RLock()
    for use in _uses.values():
        _close(use)
    _uses.clear()


atexit.register(_release_at_exit)
os.register_at_fork(after_in_child=_forget_in_child)
