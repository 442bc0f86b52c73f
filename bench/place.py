"""The servers of measured processes: an embedded PostgreSQL, a simulator, a providers file.

They run in a temporary folder and in separate processes, so their use of resources can be separated
from that of the measured client.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

from bench.meter import MARK
from judge_gym.simulator.launch import running
from judge_gym.store import embedded, migrate

REPOSITORY = Path(__file__).parents[1]


@dataclass(frozen=True)
class Place:
    """The servers, and the environment of their clients."""

    folder: Path
    server: embedded.EmbeddedServer
    url: str
    simulator_pid: int

    @contextmanager
    def database(self) -> Iterator[str]:
        """Yield the URL of a new database with its tables, which is dropped at the end.

        What a client is measured by does not include the migrations.
        """
        name = f"bench_{uuid.uuid4().hex}"
        administrator = sa.create_engine(
            self.server.url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool
        )
        with administrator.connect() as connection:
            connection.exec_driver_sql(f'CREATE DATABASE "{name}"')
        try:
            database = sa.make_url(self.server.url).set(database=name)
            url = database.render_as_string(hide_password=False)
            migrate.upgrade(url)
            yield url
        finally:
            with administrator.connect() as connection:
                connection.exec_driver_sql(f'DROP DATABASE "{name}" WITH (FORCE)')

    def environment(self, database: str = "", **settings: object) -> dict[str, str]:
        """Return the environment of a client; `settings` are judge-gym's."""
        given = {f"JUDGE_GYM_{name.upper()}": str(value) for name, value in settings.items()}
        return {
            **os.environ,
            "JUDGE_GYM_DATABASE_URL": database,
            "JUDGE_GYM_PROVIDERS_FILE": str(self.folder / "providers.toml"),
            "JUDGE_GYM_DATA_DIR": str(self.folder / "data"),
            "JUDGE_GYM_SIMULATOR_URL": self.url,
            "PYTHONPATH": str(REPOSITORY),
            **given,
        }

    def providers(self, task_slots: int = 1, concurrency: int = 100) -> None:
        """Write the providers file with these numbers of concurrent requests and task slots.

        The simulator speaks OpenAI's API as `sim` and Anthropic's as `claude`.
        """
        bounds = f"concurrency = {concurrency}\ntask_slots = {task_slots}\n"
        (self.folder / "providers.toml").write_text(
            '[sim]\nlitellm = "openai"\nbase_url_env = "JUDGE_GYM_SIMULATOR_URL"\n'
            f'{bounds}[claude]\nlitellm = "anthropic"\n'
            f'base_url = "{self.url_of("anthropic")}"\n{bounds}'
        )

    def url_of(self, prefix: str) -> str:
        """Return the simulator's address as litellm takes it for a prefix."""
        return self.url.removesuffix("/v1") if prefix == "anthropic" else self.url

    def requests(self) -> int:
        """Return the number of requests to the simulator so far."""
        stats = self.statistics()
        return int(stats["total"]) + int(stats["refused"])

    def statistics(self) -> dict[str, Any]:
        """Return the simulator's statistics."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/stats", timeout=10) as reply:
            stats: dict[str, Any] = json.load(reply)
        return stats

    def measure(self, command: Sequence[str], environment: dict[str, str]) -> dict[str, Any]:
        """Run a client; return its figures and what the servers used meanwhile."""
        requests, database = self.requests(), tree_cpu_s(self.server.pid)
        simulator = tree_cpu_s(self.simulator_pid)
        done = subprocess.run(
            command, env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=False
        )
        said = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
        if done.returncode or not said:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}")
        return json.loads(said[-1].removeprefix(MARK)) | {
            "requests": self.requests() - requests,
            "database_cpu_s": tree_cpu_s(self.server.pid) - database,
            "simulator_cpu_s": tree_cpu_s(self.simulator_pid) - simulator,
        }


@contextmanager
def place(latency_s: float = 0.05) -> Iterator[Place]:
    """Start PostgreSQL and a simulator that waits `latency_s` before each answer."""
    with tempfile.TemporaryDirectory(prefix="judge-gym-bench-") as name:
        folder = Path(name)
        server = embedded.start(folder / "postgres")
        try:
            with running(folder / "simulator.log", latency_s) as url:
                made = Place(folder, server, url, _simulator_pid())
                made.providers()
                yield made
        finally:
            embedded.remove(folder / "postgres")


def tree_cpu_s(pid: int) -> float:
    """CPU seconds of a process, its descendants, and those of them that have ended."""
    root = psutil.Process(pid)
    total = 0.0
    for process in (root, *root.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _simulator_pid() -> int:
    return next(
        child.pid
        for child in psutil.Process().children()
        if "judge_gym.simulator" in child.cmdline()
    )
