"""Child processes that run beside a command and end with it, however the command ends.

Each child gets a session of its own, so that Ctrl-C in the terminal does not reach it and the
parts of an installation can be stopped in order. A guard process (this file, run as a script)
kills the child when the command itself is killed.
"""

import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

import psutil

HOST = "127.0.0.1"
_MARK = "JUDGE_GYM_SUPERVISED"
"""The variable by which a process's descendants are found when it has ended."""


@contextmanager
def supervised(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    log: Path | None = None,
    patience_s: float = 5.0,
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process during the block, and stop it after the block or when this process ends.

    Output is appended to `log`, or inherited without one. Stopping sends SIGTERM to the process
    and its descendants, and SIGKILL when the process is still running after `patience_s` seconds.
    What a process leaves that was killed is stopped alike: a worker's flow runs would spend on.
    """
    mark = secrets.token_hex(8)
    with _appending(log) as output:
        process = subprocess.Popen(
            command,
            env={**environment, _MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    with guarded(process.pid):
        try:
            yield process
        finally:
            ended = process.poll() is not None
            if not ended:
                _stop(process, patience_s)
            # Also of a process that was killed a moment ago, and had not quite ended.
            if ended or process.returncode == -signal.SIGKILL:
                _stop_left(mark, patience_s)


def free_port() -> int:
    """Return a loopback port that no process listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    """Return whether a server can listen on this loopback port."""
    with socket.socket() as probe:
        # Servers set this too: connections that are closing do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _stop(process: "subprocess.Popen[bytes]", patience_s: float) -> None:
    _signal_tree(process.pid, signal.SIGTERM)
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        _signal_tree(process.pid, signal.SIGKILL)
        process.wait()


def _stop_left(mark: str, patience_s: float) -> None:
    """Stop processes that have lost their parent, by the mark in their environment."""
    left = [process for process in psutil.process_iter() if _is_marked(process, mark)]
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in psutil.wait_procs(left, patience_s)[1]:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _is_marked(process: psutil.Process, mark: str) -> bool:
    try:
        return bool(process.environ().get(_MARK) == mark)
    except psutil.Error:  # it has ended, or is another user's
        return False


def _signal_tree(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process and its descendants, each parent before its children."""
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)


@contextmanager
def _appending(log: Path | None) -> Iterator[IO[bytes] | None]:
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") if log is not None else nullcontext() as output:
        yield output


@contextmanager
def guarded(pid: int) -> Iterator[None]:
    """Kill `pid` and its descendants if this process ends inside the block.

    The guard reads a pipe whose other end this process holds. The pipe closes when this process
    ends, also after SIGKILL.
    """
    guard = subprocess.Popen(
        [sys.executable, "-I", __file__, str(pid)], stdin=subprocess.PIPE, start_new_session=True
    )
    assert guard.stdin is not None
    try:
        yield
    finally:
        guard.kill()
        guard.wait()
        guard.stdin.close()


if __name__ == "__main__":
    sys.stdin.read()
    _signal_tree(int(sys.argv[1]), signal.SIGKILL)
