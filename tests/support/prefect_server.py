"""`prefect_server`: a real Prefect server on a free loopback port, shared by a test session."""

import os
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pytest

from deployments.cli.environment import server_settings
from support.waiting import until

START_S = 240.0


@dataclass(frozen=True)
class PrefectServer:
    """Where it answers, and the environment that makes `prefect` and `judge-gym` use it."""

    url: str
    environment: dict[str, str]

    def rows(self) -> Iterator[tuple[str, bytes]]:
        """Every table of its database: a value that spans pages is in one piece in no file."""
        file = Path(self.environment["PREFECT_HOME"]) / "prefect.db"
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
            tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
            for (name,) in connection.execute(tables).fetchall():
                rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()  # noqa: S608
                yield name, "\n".join(map(str, rows)).encode()


@dataclass
class ServerProcess:
    """`prefect server start` at one address, with its records in one folder."""

    home: Path
    port: int = field(default_factory=lambda: free_port())
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def server(self) -> PrefectServer:
        url = f"http://127.0.0.1:{self.port}/api"
        environment = {"PREFECT_HOME": str(self.home), "PREFECT_API_URL": url, **server_settings()}
        return PrefectServer(url, environment)

    def start(self) -> None:
        """Start it, and wait until it is healthy."""
        log = self.home / "server.log"
        with log.open("ab") as output:
            self._process = _start(self.port, os.environ | self.server.environment, output)
        until(_healthy(self.server.url, self._process, log), "a healthy Prefect server", START_S)

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ask it to end, and wait for that."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """`prefect server start`, healthy; stopped at the end of the session."""
    process = ServerProcess(tmp_path_factory.mktemp("prefect-home"))
    try:
        process.start()
        yield process.server
    finally:
        process.stop()


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
