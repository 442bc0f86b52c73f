"""Processes beside a command: in a session of their own, and gone when the command is.

The session keeps Ctrl-C in the terminal from reaching them, so that they end in order.
"""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO

from deployments.local import guard

HOST = "127.0.0.1"


@contextmanager
def beside(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    log: Path | None = None,
    patience_s: float = 5.0,
) -> Iterator["subprocess.Popen[bytes]"]:
    """Have a process in the block; it ends with the block, and with this process however that ends.

    What it says goes to `log`, or where this process says things. In the end it and what it has
    started are asked to stop (SIGTERM), and killed when it has not after `patience_s`.
    """
    with _appending(log) as output:
        process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    with _ending_with_this_process(process.pid):
        try:
            yield process
        finally:
            if process.poll() is None:
                _end(process, patience_s)


def _end(process: "subprocess.Popen[bytes]", patience_s: float) -> None:
    guard.send(guard.tree(process.pid), signal.SIGTERM)
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        guard.send(guard.tree(process.pid), signal.SIGKILL)
        process.wait()


def free_port() -> int:
    """Return a loopback port that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port right now."""
    with socket.socket() as probe:
        # As servers do: a port whose last connections are still being forgotten is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


@contextmanager
def _appending(log: Path | None) -> Iterator[IO[bytes] | None]:
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") if log is not None else nullcontext() as output:
        yield output


@contextmanager
def _ending_with_this_process(pid: int) -> Iterator[None]:
    """Have `pid` and what it started killed if this process ends inside the block."""
    watching = subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(pid)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    assert watching.stdin is not None
    try:
        yield
    finally:
        watching.kill()
        watching.wait()
        watching.stdin.close()
