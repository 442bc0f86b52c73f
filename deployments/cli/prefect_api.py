"""Prefect's API for the time of a command: the user's server, or one that ends with the command."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from judge_gym.errors import JudgeGymError

POLL_S = 0.1
_SERVER = ("--factory", "prefect.server.api.server:create_app", "--lifespan", "on")
# What Prefect starts its own temporary server with.
_TEMPORARY = {
    "PREFECT_UI_ENABLED": "0",
    "PREFECT__SERVER_EPHEMERAL": "1",
    "PREFECT__SERVER_FINAL": "1",
}


@contextmanager
def prefect_api(*modules: str) -> Iterator[None]:
    """Have an API that flows report to; call `prepare_environment` first.

    `modules` are imported while the server starts, since both take seconds. Prefect would start
    a server by itself, but only when a flow runs, would import all of it into this process as
    well, and would leave it behind for ever when this process is killed.
    """
    from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings

    configured = get_current_settings()
    if configured.api.url:
        yield
        return
    port = _free_port()
    url = f"http://127.0.0.1:{port}/api"
    with _server(port) as process, temporary_settings({PREFECT_API_URL: url}):
        for module in modules:
            import_module(module)
        _wait(process, url, configured.server.ephemeral.startup_timeout_seconds)
        yield


@contextmanager
def _server(port: int) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "uvicorn", *_SERVER, "--host", "127.0.0.1"]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--log-level", "error"], env=os.environ | _TEMPORARY
    )
    try:
        with _ending_with_this_process(process.pid):
            yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: "subprocess.Popen[bytes]", url: str, longest_s: float) -> None:
    """Return when the server is healthy; raises `JudgeGymError` when it does not become so."""
    deadline = time.monotonic() + longest_s
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except OSError:
            time.sleep(POLL_S)
    raise JudgeGymError(
        "Prefect's server did not start.",
        "Run the command again, or name a server of your own by PREFECT_API_URL.",
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _ending_with_this_process(pid: int) -> Iterator[None]:
    """Have `pid` terminated if this process ends, however it ends, inside the block."""
    # The pipe closes when this process ends: no signal has to be sent for it.
    guard = subprocess.Popen(["sh", "-c", 'read -r _; kill "$0"', str(pid)], stdin=subprocess.PIPE)
    assert guard.stdin is not None
    try:
        yield
    finally:
        guard.kill()
        guard.wait()
        guard.stdin.close()
