"""Prefect's API for the time of a command: the user's server, or one that ends with the command."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def prefect_api() -> Iterator[None]:
    """Have an API that flows report to; call `prepare_environment` first.

    Prefect would start its own server by itself, but would leave it behind for ever when this
    process is killed.
    """
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import get_current_settings

    configured = get_current_settings()
    if configured.api.url:
        yield
        return
    server = SubprocessASGIServer()
    server.start(configured.server.ephemeral.startup_timeout_seconds)
    try:
        assert server.server_process is not None
        with _ending_with_this_process(server.server_process.pid):
            yield
    finally:
        server.stop()


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
