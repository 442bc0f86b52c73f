"""The files of one embedded PostgreSQL cluster: where they are, how they are made and deleted.

Nothing here starts a server (`embedded_server`) or decides who may (`embedded`). Every function
that changes something expects the caller to be the only process doing so.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from judge_gym.errors import StoreError
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
    "No space left on device": "Free some disk space and run the command again.",
    "Disk quota exceeded": "Free some disk space and run the command again.",
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
    """The cluster of `data_folder`, or None when none was made yet.

    Raises StoreError when there is one that this process or this PostgreSQL cannot use.
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
    """Make the cluster of `data_folder`, completely or not at all.

    `lock` is the file descriptor of the caller's exclusive lock: initdb inherits it, so that the
    lock outlives a caller who is killed in the middle.
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


def postgres_failure(what: str, output: bytes, where: str = "") -> StoreError:
    """The error for a PostgreSQL program that failed: its most telling line and a remedy."""
    lines = [line for line in output.decode(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "FATAL" in line or "error:" in line] or lines[-1:]
    reason = telling[-1].strip() if telling else "it said nothing"
    remedies = [remedy for symptom, remedy in _REMEDIES.items() if symptom in reason]
    remedy = [part for part in (*remedies[:1], where, OWN_SERVER) if part]
    return StoreError(f"{what}: {reason}.", " ".join(remedy))


def _owner(folder: Path) -> Account:
    """The account to run this cluster as: always its owner."""
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
        found = (folder / "PG_VERSION").read_text().strip()
    except FileNotFoundError as error:
        raise StoreError(
            f"{folder} is not a PostgreSQL cluster: it has no PG_VERSION.",
            "Move it away to start with an empty database.",
        ) from error
    if found != str(POSTGRES_MAJOR):
        raise StoreError(
            f"The database in {folder} was made by PostgreSQL {found}; "
            f"this judge-gym carries PostgreSQL {POSTGRES_MAJOR}.",
            f"Dump it with PostgreSQL {found} and load the dump into a new folder, or move the "
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
