"""`judge-gym up` as a process: an installation that tests start, kill and look at from outside."""

import os
import signal
import subprocess
import threading
from dataclasses import dataclass, field
from typing import Any

import psutil
import sqlalchemy as sa

from judge_gym.store import embedded
from support.command_line import CommandLine
from support.prefect_api import PrefectApi
from support.prefect_server import free_port
from support.waiting import until

READY = "Stop everything with Ctrl-C."
START_S = 240.0
STOP_S = 180.0


@dataclass
class Installation(PrefectApi):
    """An installation whose data are in the folder of a command line."""

    command: CommandLine
    port: int = field(default_factory=free_port)
    said: str = ""
    """What it has said since it was started last."""
    _process: "subprocess.Popen[str] | None" = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def api(self) -> str:
        return f"{self.address}/api"

    @property
    def password(self) -> str:
        return (self.command.data / "prefect-password").read_text().strip()

    @property
    def environment(self) -> dict[str, str]:
        """What a second terminal needs."""
        server = {"PREFECT_API_URL": self.api, "PREFECT_API_AUTH_STRING": self.password}
        return self.command.variables() | server

    def start(self) -> "Installation":
        """Start it, and wait until it says that everything is there."""
        self._process = self.command.start("up", "--port", str(self.port))
        assert self._process.stdout is not None
        self.said = ""
        # What it says last may have been changed: then this ends, and says what was said.
        patience = threading.Timer(START_S, self._process.kill)
        patience.start()
        while READY not in self.said:
            line = self._process.stdout.readline()
            if not line:
                _, errors = self._process.communicate()
                raise AssertionError(f"judge-gym up ended: {self.said}{errors}")
            self.said += line
        patience.cancel()
        return self

    def start_again(self) -> None:
        """Start it unless it runs: a test may have stopped it."""
        if self._process is None or self._process.poll() is not None:
            self.start()

    def signal(self, number: signal.Signals) -> tuple[int, str]:
        """Send it a signal; its exit code and the last it said."""
        assert self._process is not None
        self._process.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Wait for its end; its exit code and the last it said."""
        assert self._process is not None
        output, errors = self._process.communicate(timeout=STOP_S)
        return self._process.returncode, output + errors

    def processes(self) -> list[psutil.Process]:
        """Every process of it that is alive, but PostgreSQL's."""
        return [one for one in psutil.process_iter() if self._started(one)]

    def postgres(self) -> embedded.EmbeddedServer | None:
        """Its PostgreSQL, when that runs."""
        return embedded.status(self.command.data / "postgres")

    def judgements(self) -> int:
        """How many judgements its database holds."""
        [count] = self.values("SELECT count(*) FROM samples")
        return int(count)

    def values(self, query: str) -> list[Any]:
        """What a query of one column finds in its database."""
        server = self.postgres()
        assert server is not None
        with sa.create_engine(server.url, poolclass=sa.NullPool).connect() as connection:
            return list(connection.scalars(sa.text(query)))

    def judging(self, deployment: str, judgements: int) -> str:
        """Run a sweep's deployment until it has made so many judgements; the flow run's id."""
        enough = self.judgements() + judgements
        run = self.run(deployment)
        self.reaches(run, "RUNNING")
        until(lambda: self._has(enough, run), f"{judgements} judgements of {deployment}")
        return run

    def _has(self, judgements: int, run: str) -> bool:
        state = self.get(f"/flow_runs/{run}")["state"]
        assert state["type"] == "RUNNING", state
        return self.judgements() >= judgements

    def remove(self) -> None:
        """End whatever is left of it, and delete its database."""
        if self._process is not None and self._process.poll() is None:
            self.signal(signal.SIGTERM)
        embedded.remove(self.command.data / "postgres")

    def _started(self, process: psutil.Process) -> bool:
        if process.pid == os.getpid():
            return False
        try:
            found = process.environ().get("JUDGE_GYM_DATA_DIR") == str(self.command.data)
            return found and process.status() != psutil.STATUS_ZOMBIE
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return False
