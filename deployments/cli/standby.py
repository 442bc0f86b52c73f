"""A standby process: it has done the imports of a command and started its servers, and waits.

`run_in_standby` gives a command to the one that waits in the data folder; `leave` starts one after
a command. A standby process runs one command, as a process of its own would, and ends. So nothing
of one command is left for the next.

It is used only if it would be the same process: the same user, code, folder, environment, limits
and namespaces (`Here`). Otherwise it ends, and the command runs by itself. It is reached by a
socket in a folder that only this user can enter, and both ends check the user of the other. No
argument, variable or key is written to a file or to the arguments of a process.

Messages are lines of JSON, at most `_LONGEST` bytes. The command sends a request, with its standard
streams; the standby process agrees; the command says that it begins. From then on the command sends
the signals it gets, and the standby process sends its exit code. If the command ends, the standby
process is stopped as by SIGTERM. If the standby process is killed, the command fails as if killed.
"""

import fcntl
import hashlib
import json
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MINUTES = 10.0
"""How long a standby process waits by default, where a person types the commands."""
COMMANDS = (
    ("demo",),
    ("sweep", "run"),
    ("sweep", "plan"),
    ("sweep", "status"),
    ("analyse", "figures"),
    ("judge", "score"),
    ("judge", "gate"),
    ("judge", "calibrate"),
    ("judge", "align"),
    ("judge", "compare"),
    ("judge", "estimate"),
    ("judge", "benchmark"),
)
"""Commands that a standby process runs: they end, and their imports take long."""
OF_A_TERMINAL = ("_", "COLUMNS", "LINES", "OLDPWD", "PWD", "SHLVL", "TERM")
"""Variables that may differ between a command and its standby process, which takes them over."""
_NOT_IN_STANDBY = {"--verbose", "-v", "--watch", "--help", "-h"}
"""`--verbose` changes how Prefect is imported."""
_OF_A_PROCESS = ("/dev/", "/proc/")
"""Where names depend on the process: /dev/fd/63 of the shell's <(...), or its terminal."""
_WITHOUT = (2, 130, 137, 143)
"""Exit codes after which no process is left: bad input, Ctrl-C, SIGKILL and SIGTERM."""
_PACKAGES = ("judge_gym", "flows", "tasks", "deployments")
_ANSWER_S = 5.0
"""How long each end waits for the other until the command begins."""
_LONGEST = 1 << 20
_LONGEST_PATH = 107
"""Bytes of a socket's path on Linux."""
_FREE_BYTES = 2 << 30
"""Memory below which no standby process is left: it and Prefect's server take 500 MB."""
_CREDENTIALS = struct.Struct("3i")


class StandbyKilledError(Exception):
    """The standby process was killed while it ran a command."""


@dataclass(frozen=True)
class Here:
    """Where a command was typed: its environment as it was found, and its folder."""

    environment: dict[str, str]
    folder: str
    arguments: list[str]
    at_terminal: bool

    @classmethod
    def now(cls) -> "Here":
        """Return this process's, before it changes its environment."""
        try:
            folder = os.getcwd()
        except OSError:  # it was deleted
            folder = ""
        return cls(dict(os.environ), folder, list(sys.argv), _is_terminal(2))

    @property
    def is_for_standby(self) -> bool:
        """Whether the command is one that a standby process runs."""
        words = tuple(self.arguments[1:])
        known = self.folder and any(words[: len(command)] == command for command in COMMANDS)
        on_linux = hasattr(socket, "SO_PEERCRED")
        apart = _NOT_IN_STANDBY & set(words) or any(
            place in word for word in words for place in _OF_A_PROCESS
        )
        return bool(known and on_linux and not apart)

    def fingerprint(self) -> str:
        """Return a digest of all that decides what a process with these arguments would do."""
        variables = {
            name: value for name, value in self.environment.items() if name not in OF_A_TERMINAL
        }
        parts = [sorted(variables.items()), self.folder, _process_facts(), _code()]
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def standby_folder(data_dir: Path) -> Path:
    """Return the folder in a data folder with the socket and the lock."""
    return data_dir / "standby"


def socket_file(data_dir: Path) -> Path:
    """Return the socket of the standby process of a data folder."""
    return standby_folder(data_dir) / "socket"


def run_in_standby(here: Here) -> int | None:
    """Run a command in the standby process; return its exit code, or None if it has to run here.

    Raises `StandbyKilledError` if the process was killed when the command had begun.
    """
    if not here.is_for_standby or not _streams_are_usable():
        return None
    data_dir, minutes = _configured(here)
    if data_dir is None:
        return None
    if minutes == 0:
        dismiss(data_dir)
        return None
    link = connected(data_dir)
    if link is None:
        return None
    with link:
        if not _is_agreed(link, here):
            return None
        with _signals_passed_on(link):
            ended = link.receive()
    if ended is None:
        raise StandbyKilledError
    return int(ended["code"])


def dismiss(data_dir: Path) -> None:
    """Have the standby process of a data folder end within a second, if there is one."""
    with suppress(OSError):
        _lock_file(standby_folder(data_dir)).unlink()


def leave(here: Here, code: object) -> float:
    """Start a standby process for the next command, if the settings say so and none waits.

    Returns the minutes that it will wait, 0 if none was started.
    """
    if not here.is_for_standby or code in _WITHOUT:
        return 0.0
    data_dir, minutes = _configured(here)
    if data_dir is None or minutes <= 0 or not _is_possible(here, data_dir):
        return 0.0
    with suppress(OSError):  # it only saves time
        standby_folder(data_dir).mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(standby_folder(data_dir)):
            with locked(standby_folder(data_dir)) as is_ours:
                is_free = is_ours()
            if is_free:
                _start(here, data_dir, minutes)
                return minutes
    return 0.0


def _is_possible(here: Here, data_dir: Path) -> bool:
    """Whether a process that is started now could run the next command."""
    import psutil

    from deployments.local.temporary_server import has_users_settings

    # Where the user has chosen settings of Prefect, only Prefect knows them.
    own = any(name.startswith("PREFECT") for name in here.environment)
    return (
        not own
        and not has_users_settings(data_dir)
        and len(os.fsencode(socket_file(data_dir))) <= _LONGEST_PATH
        and psutil.virtual_memory().available >= _FREE_BYTES
    )


def _start(here: Here, data_dir: Path, minutes: float) -> None:
    subprocess.Popen(
        [sys.executable, "-P", "-m", "deployments.cli.standby_process", data_dir, str(minutes)],
        env=here.environment,
        cwd=here.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@contextmanager
def locked(folder: Path) -> Iterator[Callable[[], bool]]:
    """Try to lock `folder` for the process that waits in it.

    Yields what says whether this process has the lock: no longer once its file is gone, by
    `dismiss` or with the folder.
    """
    file = _lock_file(folder)
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    def is_ours() -> bool:
        with suppress(OSError):
            return is_free and os.path.samestat(os.fstat(descriptor), file.stat())
        return False

    try:
        is_free = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_free = False
        yield is_ours
    finally:
        os.close(descriptor)


def _lock_file(folder: Path) -> Path:
    return folder / "lock"


class Link:
    """A connection between a command and its standby process; messages are lines of JSON."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._read = b""
        connection.settimeout(_ANSWER_S)

    def __enter__(self) -> "Link":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @property
    def peer(self) -> tuple[int, int]:
        """The process id and the user id of the other end, from the kernel."""
        of = (socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        process, user, _ = _CREDENTIALS.unpack(self._connection.getsockopt(*of))
        return process, user

    def wait_without_end(self) -> None:
        """Wait for messages as long as it takes from here on."""
        self._connection.settimeout(None)

    def send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send a message; `descriptors` arrive as duplicates. Raises `OSError`."""
        line = json.dumps(message).encode() + b"\n"
        sent = socket.send_fds(self._connection, [line], descriptors) if descriptors else 0
        self._connection.sendall(line[sent:])

    def receive_request(self) -> tuple[dict[str, Any] | None, list[int]]:
        """Return the first message with its descriptors, as `receive` does."""
        self._read, descriptors, *_ = socket.recv_fds(self._connection, _LONGEST, 3)
        return (self.receive() if self._read else None), list(descriptors)

    def receive(self) -> dict[str, Any] | None:
        """Return the next message; None when the other end has closed or does not answer."""
        while b"\n" not in self._read:
            try:
                part = self._connection.recv(_LONGEST)
            except OSError:
                return None
            if not part or len(self._read) > _LONGEST:
                return None
            self._read += part
        line, _, self._read = self._read.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            return None
        return message if isinstance(message, dict) else None


def connected(data_dir: Path) -> Link | None:
    """Connect to the standby process of a data folder, if it is one of this user."""
    if not _is_private(standby_folder(data_dir)):
        return None
    connection = socket.socket(socket.AF_UNIX)
    link = Link(connection)
    try:
        connection.connect(os.fspath(socket_file(data_dir)))
        if link.peer[1] == os.geteuid():
            return link
    except OSError:  # none waits, or the path is too long for a socket
        pass
    connection.close()
    return None


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def _streams_are_usable() -> bool:
    """Whether the standard streams are open, and this process may read its terminal."""
    try:
        for descriptor in range(3):
            os.fstat(descriptor)
        return not os.isatty(0) or os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _configured(here: Here) -> tuple[Path | None, float]:
    """Return the data folder and the minutes in force; no folder if settings are wrong."""
    from judge_gym.errors import JudgeGymError
    from judge_gym.settings import settings

    try:
        configured = settings()
    except JudgeGymError:  # the command says it
        return None, 0.0
    minutes = configured.standby_minutes
    if minutes is None:  # some CI systems have a terminal
        minutes = MINUTES if here.at_terminal and not here.environment.get("CI") else -1.0
    return configured.data_dir, minutes


def _is_private(folder: Path) -> bool:
    """Whether a folder is this user's and no other can enter it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    )


def _process_facts() -> list[object]:
    """Return what a process inherits beside its environment: user, limits, namespaces, Python."""
    limits = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    mask = os.umask(0o077)
    os.umask(mask)
    return [
        [os.getresuid(), os.getresgid(), os.getgroups(), mask],
        [list(resource.getrlimit(getattr(resource, name))) for name in limits],
        [os.getpriority(os.PRIO_PROCESS, 0), sorted(os.sched_getaffinity(0))],
        [_read(f"/proc/self/ns/{name}") for name in ("mnt", "net", "pid", "user")],
        [_read("/proc/self/cgroup"), _read("/proc/self/attr/current"), _confinement()],
        [sys.executable, sys.prefix, sys.version, sys.flags.optimize, sys.flags.utf8_mode],
    ]


def _confinement() -> list[str]:
    """Return what the kernel says that this process may not do."""
    lines = _read("/proc/self/status").splitlines()
    return [line for line in lines if line.startswith(("Cap", "NoNewPrivs", "Seccomp"))]


def _read(path: str) -> str:
    try:
        return os.readlink(path) if os.path.islink(path) else Path(path).read_text()
    except OSError:
        return ""


def _code() -> list[object]:
    """Return the newest change and the number of files of judge-gym, and when packages changed."""
    found = [find_spec(name) for name in _PACKAGES]
    folders = [str(Path(spec.origin).parent) for spec in found if spec and spec.origin]
    newest = count = 0
    for folder in folders:
        for path, names, files in os.walk(folder):
            names[:] = [name for name in names if name != "__pycache__"]
            for name in files:
                changed = os.lstat(os.path.join(path, name))
                newest = max(newest, changed.st_mtime_ns, changed.st_ctime_ns)
            count += len(files)
    packages = [os.stat(path).st_mtime_ns for path in sys.path if path.endswith("site-packages")]
    return [folders, newest, count, packages]


def _is_agreed(link: Link, here: Here) -> bool:
    """Ask for a command to be run; False if the process refuses or does not answer."""
    variables = {name: here.environment.get(name) for name in OF_A_TERMINAL}
    try:
        request = {
            "fingerprint": here.fingerprint(),
            "arguments": here.arguments,
            "path": sys.path,
            "terminal": {name: value for name, value in variables.items() if value is not None},
        }
        link.send(request, (0, 1, 2))
        return link.receive() == {"agreed": True}
    except OSError:
        return False


@contextmanager
def _signals_passed_on(link: Link) -> Iterator[None]:
    """Have the command begin, and pass signals on in the block; Ctrl-Z suspends it too."""
    from deployments.local.processes import guarded

    process, _ = link.peer

    def pass_on(number: int, _: object) -> None:
        with suppress(OSError):
            link.send({"signal": number})

    def suspend(*_: object) -> None:
        # The guard kills the process if this one is killed meanwhile: nothing would continue it.
        with guarded(process), suppress(ProcessLookupError):
            os.kill(process, signal.SIGSTOP)
            try:
                os.kill(os.getpid(), signal.SIGSTOP)
            finally:
                os.kill(process, signal.SIGCONT)

    handlers: dict[int, Callable[[int, Any], None]] = {
        signal.SIGINT: pass_on,
        signal.SIGTERM: pass_on,
        signal.SIGTSTP: suspend,
    }
    before = {number: signal.getsignal(number) for number in handlers}
    # A signal either ends this process before the command begins, or is passed on.
    signal.pthread_sigmask(signal.SIG_BLOCK, handlers)
    with suppress(OSError):  # it has ended, which is noticed in the block
        link.send({"begin": True})
    link.wait_without_end()
    for number, handler in handlers.items():
        if before[number] != signal.SIG_IGN:  # as a shell has it for one in the background
            signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, handlers)
    try:
        yield
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)
