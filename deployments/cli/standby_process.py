"""The standby process itself: it prepares, waits for a command, runs it and ends (`standby`).

    python -P -m deployments.cli.standby_process DATA_FOLDER MINUTES

It does not start the embedded PostgreSQL, which is in use by commands only: it starts in 0.3 s, and
its files may be copied or deleted while none runs. `deployments.cli.output` is imported for the
command only: it looks at the standard streams.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from deployments.cli.standby import (
    OF_A_TERMINAL,
    Here,
    Link,
    leave,
    locked,
    socket_file,
    standby_folder,
)
from judge_gym.collecting import collect_rarely, importing

_IMPORTED = (
    "flows.sweep",
    "judge_gym.llm.gateway",
    "judge_gym.lab.sweeps",
    "judge_gym.lab.status",
    "judge_gym.analysis.finished",
    "judge_gym.analysis.running",
    "judge_gym.report.page",
    "judge_gym.report.plots.charts",
    "judge_gym.store.embedded",
    "numpy.ma",
    "pyarrow.compute",
    "pyarrow.csv",
    "rich.live",
    "scipy.special",
    "typer",
)
"""What commands import, and what takes long."""
_INTERRUPTED = 130
_TERMINATED = 143
_UNWRITTEN = 120
"""The exit code of Python where what is buffered cannot be written at the end."""
_LOOK_S = 1.0
"""How often a waiting process looks whether it still has the lock."""
_STOPS_S = 60.0
"""How long a run may take to stop when its command was killed; answers are awaited for 20 s."""


@dataclass(frozen=True)
class AgreedCommand:
    """A command that has been agreed on, its connection and its standard streams."""

    link: Link
    request: dict[str, Any]
    streams: list[int]


def main() -> None:
    """Prepare, wait for one command and run it."""
    data_dir, minutes = Path(sys.argv[1]), float(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    collect_rarely()
    here = Here.now()
    fingerprint = here.fingerprint()  # of the code before it is imported
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ExitStack() as servers:
        with locked(standby_folder(data_dir)) as is_ours:
            if not is_ours() or not _prepared(servers, data_dir):
                return
            deadline = time.monotonic() + 60 * minutes
            taken = _taken(data_dir, fingerprint, is_ours, deadline)
        if taken is not None:
            _run(taken, here, standby_folder(data_dir).absolute())


def _prepared(servers: ExitStack, data_dir: Path) -> bool:
    """Start Prefect's server and do the imports; False if Prefect has other settings."""
    from deployments.local.prefect_server import wait_healthy
    from deployments.local.temporary_server import own_home, set_prefect_defaults, started_before
    from judge_gym.settings import settings

    set_prefect_defaults(data_dir, verbose=False)
    home = own_home(data_dir)
    if home is None:
        return False
    server = servers.enter_context(started_before(home, data_dir))
    with importing():
        for module in _IMPORTED:
            import_module(module)
    settings.cache_clear()  # the command reads them again
    wait_healthy(server.process, server.url, 120, "")
    return True


def _taken(
    data_dir: Path, fingerprint: str, is_ours: Callable[[], bool], deadline: float
) -> AgreedCommand | None:
    """Wait for a command of the same fingerprint; None at the deadline, or without the lock."""
    with _listening(socket_file(data_dir)) as door:
        while is_ours() and time.monotonic() < deadline:
            with suppress(TimeoutError):
                connection, _ = door.accept()
                link = Link(connection)
                if link.peer[1] != os.geteuid() or not is_ours():
                    connection.close()
                    continue
                return _agreed(link, data_dir, fingerprint)
    return None


@contextmanager
def _listening(file: Path) -> Iterator[socket.socket]:
    """Listen at a socket in the block; its file is removed at the end, if it is not another's."""
    with socket.socket(socket.AF_UNIX) as door:
        file.unlink(missing_ok=True)  # of a process that was killed: this one has the lock
        door.bind(os.fspath(file))
        file.chmod(0o600)
        door.listen()
        door.settimeout(_LOOK_S)
        own = file.stat()
        try:
            yield door
        finally:
            with suppress(OSError):
                if os.path.samestat(own, file.stat()):
                    file.unlink()


def _agreed(link: Link, data_dir: Path, fingerprint: str) -> AgreedCommand | None:
    """Agree to run a command, if this is the process for it and the command says that it begins."""
    from deployments.local.temporary_server import own_home

    streams: list[int] = []
    with suppress(OSError):
        request, streams = link.receive_request()
        fits = request is not None and request.get("fingerprint") == fingerprint
        # Files that Prefect reads may have been made meanwhile.
        if request and fits and own_home(data_dir) is not None and len(streams) == 3:
            link.send({"agreed": True})
            if link.receive() == {"begin": True}:
                link.wait_without_end()
                return AgreedCommand(link, request, streams)
    for stream in streams:
        os.close(stream)
    return None


def _run(taken: AgreedCommand, here: Here, folder: Path) -> None:
    """Run the command as its own process would, leave the next process, and send the exit code."""
    for name in OF_A_TERMINAL:
        os.environ.pop(name, None)
    os.environ.update(taken.request["terminal"])
    sys.argv[:] = taken.request["arguments"]
    sys.path[:] = taken.request["path"]
    at_terminal = os.isatty(taken.streams[2])
    for number, stream in enumerate(taken.streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdout.reconfigure(line_buffering=sys.stdout.isatty())  # type: ignore[union-attr]
    code = _ended_with(taken.link)
    if not _has_let_go_of_streams() and code == 0:
        code = _UNWRITTEN
    # Before the command ends: whoever deletes the data folder then finds no new process in it.
    typed = replace(
        here,
        environment=_environment(here, taken),
        arguments=taken.request["arguments"],
        at_terminal=at_terminal,
    )
    if folder.is_dir():  # the data folder may have been deleted
        leave(typed, code)
    with taken.link, suppress(OSError):
        taken.link.send({"code": code})


def _environment(here: Here, taken: AgreedCommand) -> dict[str, str]:
    """Return the environment in which the command was typed."""
    kept = {name: value for name, value in here.environment.items() if name not in OF_A_TERMINAL}
    terminal: dict[str, str] = taken.request["terminal"]
    return kept | terminal


def _ended_with(link: Link) -> int:
    """Run the command, which gets the signals that arrive by `link`; return its exit code."""
    code, ended = _INTERRUPTED, threading.Event()
    # A signal at any moment ends the command: no exception may pass, or it would begin again.
    with suppress(KeyboardInterrupt, SystemExit):
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
            threading.Thread(target=_obey, args=[link, ended], daemon=True).start()
            code = _exit_code()
        finally:
            ended.set()
            _ignore_signals()
    ended.set()
    _ignore_signals()
    return code


def _ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _exit_code() -> int:
    """Run the command; return the exit code that Python would give its process."""
    import traceback

    from deployments.cli.app import run_command

    try:
        run_command()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        sys.stderr.write(f"{error.code}\n")
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BaseException:
        traceback.print_exc()
    return 1


def _has_let_go_of_streams() -> bool:
    """Leave terminal and pipes to the command; whether all that was buffered could be written."""
    written = True
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            written = False
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)
    return written


def _obey(link: Link, ended: threading.Event) -> None:
    """Take the signals that the command gets; stop if the command itself has ended."""
    while not ended.is_set():
        message = link.receive()
        if not ended.is_set():
            os.kill(os.getpid(), signal.SIGTERM if message is None else int(message["signal"]))
        if message is None:
            # Nobody could end it that knows of it: the command was killed, perhaps since it hung.
            if not ended.wait(_STOPS_S):
                os.kill(os.getpid(), signal.SIGKILL)
            return


if __name__ == "__main__":
    main()
