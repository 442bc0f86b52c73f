"""`prefect_server`: a real Prefect server on a free loopback port, one for a whole test run."""

import os
import secrets
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pytest
import sqlalchemy as sa

from deployments.local.temporary_server import server_settings
from support.servers import SERVERS
from support.waiting import until

START_S = 240.0
PORTS = range(15_000, 32_000)
"""Below those of connections: 32768 and more on Linux, 49152 and more elsewhere."""


@dataclass(frozen=True)
class PrefectServer:
    """Where it answers, and the environment that makes `prefect` and `judge-gym` use it."""

    url: str
    environment: dict[str, str]
    records: str = ""
    """The URL of its database; empty for SQLite in its folder."""

    def rows(self) -> Iterator[tuple[str, bytes]]:
        """Every table of its PostgreSQL database."""
        url = sa.make_url(self.records).set(drivername="postgresql+psycopg")
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            for name in sa.inspect(connection).get_table_names():
                rows = connection.exec_driver_sql(f'SELECT * FROM "{name}"').all()  # noqa: S608
                yield name, "\n".join(map(str, rows)).encode()


@dataclass
class ServerProcess:
    """`prefect server start` at one address, with its records in one folder."""

    home: Path
    port: int = field(default_factory=lambda: free_port())
    records: str = ""
    """As of `PrefectServer`."""
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def server(self) -> PrefectServer:
        url = f"http://127.0.0.1:{self.port}/api"
        environment = {"PREFECT_HOME": str(self.home), "PREFECT_API_URL": url, **server_settings()}
        return PrefectServer(url, environment, self.records)

    def launch(self) -> None:
        """Start it."""
        with self._log.open("ab") as output:
            environment = os.environ | self.server.environment
            if self.records:
                environment["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = self.records
            self._process = _start(self.port, environment, output)

    def start(self) -> None:
        """Start it, and wait until it is healthy."""
        self.launch()
        self.wait()

    def wait(self) -> None:
        """Wait until it is healthy."""
        until(self._healthy, "a healthy Prefect server", START_S)

    def _healthy(self) -> bool:
        ended = self._process is not None and self._process.poll() is not None
        assert not ended, f"prefect server start ended:\n{self._log.read_text()}"
        try:
            with urllib.request.urlopen(f"{self.server.url}/health", timeout=5) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False

    @property
    def _log(self) -> Path:
        return self.home / "server.log"

    @property
    def pid(self) -> int:
        """The id of its process, 0 before it was started."""
        return self._process.pid if self._process else 0

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
def prefect_server(pytestconfig: pytest.Config) -> PrefectServer:
    """The run's Prefect server, healthy."""
    servers = pytestconfig.stash[SERVERS]
    home = Path(servers.prefect_home)
    process = ServerProcess(home, servers.prefect_port, servers.prefect_records)
    process.wait()
    return process.server


def free_port() -> int:
    """A loopback port that nobody listens on right now.

    It is none that the system gives to connections: one of them could take the port of a part
    that was killed, before that is started again.
    """
    while True:
        port = PORTS[secrets.randbelow(len(PORTS))]
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _start(port: int, environment: dict[str, str], output: IO[bytes]) -> "subprocess.Popen[bytes]":
    command = ["prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui"]
    return subprocess.Popen(
        [sys.executable, "-m", *command], env=environment, stdout=output, stderr=output
    )
