"""Parts of an installation that a test kills with SIGKILL and starts again where they were."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa

from judge_gym.store import embedded
from support.disks import SmallDisk
from support.launcher import Launcher
from support.prefect_server import free_port
from support.simulation import Simulator


class Part(Protocol):
    """What can be killed and started again."""

    def start(self) -> None: ...

    def kill(self) -> None: ...


@dataclass
class Provider:
    """The simulator at one address, and what it answered in all its lives."""

    port: int = field(default_factory=free_port)
    answered_before: int = 0
    state: Path | None = None
    """Where its batches outlive it."""
    _process: "subprocess.Popen[str] | None" = None

    @property
    def simulator(self) -> Simulator:
        return Simulator(f"http://127.0.0.1:{self.port}/v1")

    def start(self) -> None:
        command = [sys.executable, "-m", "judge_gym.simulator", "--port", str(self.port)]
        kept = ["--state", str(self.state)] if self.state else []
        self._process = subprocess.Popen(
            [*command, "--latency", "0.1", *kept], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline()

    def kill(self) -> None:
        if self._process is not None:
            self.answered_before += self.simulator.answered()
            self._process.kill()
            self._process.communicate()

    def answered(self) -> int:
        return self.answered_before + self.simulator.answered()


@dataclass
class Postgres:
    """The embedded PostgreSQL of one folder, which stays while this process uses it."""

    folder: Path
    url: str = ""

    def start(self) -> None:
        self.url = embedded.start(self.folder).url

    def kill(self) -> None:
        server = embedded.status(self.folder)
        assert server is not None
        os.kill(server.pid, signal.SIGKILL)

    def meet_full_disk(self) -> None:
        """Have it write until it fails: it may have room in files that it has already."""
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        # Ten times what may be left in them.
        table = "CREATE TEMP TABLE t AS SELECT gen_random_uuid() FROM generate_series(1, 2000000)"
        with suppress(sa.exc.OperationalError), engine.begin() as connection:
            connection.exec_driver_sql(table)
            raise AssertionError("the disk is not full")

    def count(self, statement: str) -> int:
        """The one number a query gives, or 0 before there are tables."""
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        try:
            with engine.connect() as connection:
                return int(connection.scalar(sa.text(statement)) or 0)
        except sa.exc.ProgrammingError:
            return 0


FULL_S = 4.0
"""Seconds that a disk is full: a run at work meets it."""


@dataclass
class Disk:
    """A small disk of its own for a PostgreSQL, which can be full."""

    postgres: Postgres
    megabytes: int = 256
    _disk: SmallDisk | None = None

    def mount(self) -> bool:
        """Put the folder of the database on the disk; False where mounting is not allowed."""
        self._disk = SmallDisk.mounted(self.megabytes)
        if self._disk is None:
            return False
        self.postgres.folder.parent.mkdir(parents=True, exist_ok=True)
        self.postgres.folder.symlink_to(self._disk.place)
        return True

    def unmount(self) -> None:
        """Remove the disk with all that is on it."""
        assert self._disk is not None
        self._disk.unmount()

    def kill(self) -> None:
        """Fill it for `FULL_S`; PostgreSQL meets that, or has stopped by then."""
        assert self._disk is not None
        self._disk.fill()
        self.postgres.meet_full_disk()
        threading.Event().wait(FULL_S)  # the length of the fault

    def start(self) -> None:
        """Make room, and start PostgreSQL if it has stopped."""
        assert self._disk is not None
        self._disk.free()
        self.postgres.start()


@dataclass
class Run:
    """The sweep's command, and how each of its processes ended."""

    launcher: Launcher
    postgres: Postgres
    sweep: str
    in_flight: int = 0
    """Calls on their way when a process of it ended, over all processes."""
    ends: list[tuple[int, str]] = field(default_factory=list)

    def start(self) -> None:
        self.launcher.start("sweep", "run", self.sweep)

    def kill(self) -> None:
        self.launcher.kill()
        self.note_end(self.launcher.wait())

    def go_on(self) -> None:
        """Type the command again if its process has ended."""
        code = self.launcher.ended()
        if code is not None:
            self.note_end(code)
            self.start()

    def finish(self) -> None:
        """Wait for the end; type the command again until it succeeds, three times at most."""
        for _ in range(3):
            code = self.launcher.wait()
            self.note_end(code)
            if code == 0:
                return
            self.start()

    def calls_in_flight(self) -> int:
        """Calls that were sent and have no answer in the ledger."""
        return self.postgres.count("SELECT count(*) FROM llm_calls WHERE status = 'sent'")

    def note_end(self, code: int) -> None:
        self.in_flight += self.calls_in_flight()
        self.ends.append((code, self.launcher.output() + self.launcher.errors()))
