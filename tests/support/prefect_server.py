"""`prefect_server`: a real Prefect server on a free loopback port, shared by a test session."""

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from deployments.cli.environment import server_settings
from support.waiting import until

START_S = 120.0


@dataclass(frozen=True)
class PrefectServer:
    """Where it answers, and the environment that makes `prefect` and `judge-gym` use it."""

    url: str
    environment: dict[str, str]

    def command(self, *arguments: str, **more_environment: str) -> str:
        """Run `prefect` with these arguments; its output, or an assertion with all it said."""
        done = subprocess.run(
            [sys.executable, "-m", "prefect", *arguments],
            env=os.environ | self.environment | more_environment,
            capture_output=True,
            text=True,
            timeout=START_S,
        )
        assert done.returncode == 0, f"prefect {' '.join(arguments)}:\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """`prefect server start`, healthy; stopped at the end of the session."""
    home = tmp_path_factory.mktemp("prefect-home")
    port = free_port()
    server = PrefectServer(
        url=f"http://127.0.0.1:{port}/api",
        environment={
            "PREFECT_HOME": str(home),
            "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
            **server_settings(),
        },
    )
    log = home / "server.log"
    with log.open("wb") as output:
        process = _start(port, os.environ | server.environment, output)
    try:
        until(_healthy(server.url, process, log), "the Prefect server to be healthy", START_S)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """A loopback port that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _start(port: int, environment: dict[str, str], output: IO[bytes]) -> "subprocess.Popen[bytes]":
    command = ["prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui"]
    return subprocess.Popen(
        [sys.executable, "-m", *command], env=environment, stdout=output, stderr=output
    )


def _healthy(url: str, process: "subprocess.Popen[bytes]", log: Path) -> Callable[[], bool]:
    def check() -> bool:
        assert process.poll() is None, f"prefect server start ended:\n{log.read_text()}"
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False

    return check
