"""The whole installation: starts its parts in order, watches them, stops them in reverse."""

import asyncio
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from deployments.local.prefect_server import (
    LOCK,
    WITH_REPORTS,
    api_url,
    password,
    password_file,
    prefect_database,
    prefect_server,
    reports_url,
    wait_healthy,
)
from deployments.local.processes import is_free, supervised
from deployments.local.status_pages import RECORDS_URL
from judge_gym.errors import JudgeGymError
from judge_gym.settings import Settings
from judge_gym.store import embedded
from judge_gym.store.engine import connect, database_url, watched_server

if TYPE_CHECKING:
    from deployments.bootstrap import BootstrappedObject

SIMULATOR_URL = "JUDGE_GYM_SIMULATOR_URL"
REPORTS_URL = "JUDGE_GYM_REPORTS_URL"
VACUUM = "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED"
VACUUMED = "events,flow_runs"
"""What Prefect deletes by itself when it is old. By default it keeps runs and logs for ever."""
WATCH_S = 1.0
SERVER_START_S = 300.0
WORKER_STOP_S = 30.0
LOGGERS = "judge_gym.llm.breaker,judge_gym.outages,judge_gym.lab.sweeps,judge_gym.panel.running"
"""Loggers of judge-gym that the Logs of a run show beside Prefect's own; a line for each call would
be too many."""
_WORKER = ("worker", "start", "--pool", "judge-gym", "--name", "judge-gym up")


@dataclass(frozen=True)
class StackPart:
    """A part of the installation, a check of whether it has ended, and its log."""

    name: str
    ended: Callable[[], bool]
    log: Path


@dataclass(frozen=True)
class Stack:
    """A running installation; `home` is the folder that file names in flow runs start from."""

    ui: str
    api: str
    password: Path
    """The file with the password of both."""
    database: str
    records: str
    """The database of Prefect's server."""
    simulator: str
    home: Path
    steps: "list[BootstrappedObject]"
    """What the deployment changed."""
    rescheduled: int
    """Number of flow runs that ended with the last installation and resume in this one."""
    parts: tuple[StackPart, ...]

    def watch(self) -> None:
        """Watch the parts without end; raises `JudgeGymError` when one has ended."""
        while True:
            for part in self.parts:
                if part.ended():
                    raise JudgeGymError(
                        f"{part.name} has ended, so the others were stopped.",
                        f"See {part.log}. Rerun the command to resume.",
                    )
            time.sleep(WATCH_S)


@contextmanager
def running(settings: Settings, port: int, *, overwrite: bool) -> Iterator[Stack]:
    """Run an installation during the block, with Prefect on `port`.

    Call `prepare_environment` first. Changes the environment of this process, which must not have
    imported Prefect yet. `overwrite` replaces deployments that a person has edited. Raises
    `JudgeGymError` when a part does not start or the data folder already has an installation.
    """
    data = settings.data_dir.absolute()
    logs = data / "logs"
    _refuse_modules(_home())
    with ExitStack() as stack:
        stack.enter_context(_lock(data, port))
        if not is_free(port):
            raise JudgeGymError(f"Port {port} is taken.", "Choose another with --port.")
        connect(settings).dispose()
        database = database_url(settings)
        # A server of the user is not part of the installation.
        own = settings.database_url is None
        parts = [stack.enter_context(_postgres(data / "postgres", database))] if own else []
        simulator, simulator_part = stack.enter_context(_simulator(data, logs))
        os.environ.update(_environment(settings, data, port, simulator))
        records = prefect_database(database)
        server = stack.enter_context(
            _server(port, data, database, records, logs / "prefect-server.log")
        )
        steps, rescheduled = asyncio.run(_prepared(overwrite=overwrite))
        worker = stack.enter_context(_worker(logs / "worker.log", server))
        yield Stack(
            ui=api_url(port).removesuffix("/api"),
            api=api_url(port),
            password=password_file(data),
            database=database,
            records=records,
            simulator=simulator,
            home=_home(),
            steps=steps,
            rescheduled=rescheduled,
            parts=(*parts, *simulator_part, server, worker),
        )


async def _prepared(*, overwrite: bool) -> "tuple[list[BootstrappedObject], int]":
    # Prefect reads the environment when it is imported.
    from deployments.bootstrap import reset_automations
    from deployments.cli.database import made_ready
    from deployments.local.rescheduling import reschedule_lost

    # Before the deployment, which takes long enough for the automations to finish their reset.
    await reset_automations()
    return await made_ready(overwrite=overwrite), await reschedule_lost()


def _environment(settings: Settings, data: Path, port: int, simulator: str) -> Mapping[str, str]:
    """Return the variables that make every part and every flow run use this installation."""
    own_database = settings.database_url
    return {
        "PREFECT_API_URL": api_url(port),
        "PREFECT_API_AUTH_STRING": password(data),
        "PREFECT_UI_API_URL": api_url(port),
        "PREFECT_SERVER_API_PORT": str(port),
        # Absolute, because flow runs work in another folder.
        "JUDGE_GYM_DATA_DIR": str(data),
        REPORTS_URL: os.environ.get(REPORTS_URL, reports_url(port)),
        **({"JUDGE_GYM_DATABASE_URL": own_database.get_secret_value()} if own_database else {}),
        "JUDGE_GYM_HOME": str(_home()),
        SIMULATOR_URL: simulator,
    }


def _home() -> Path:
    """Return the folder of flow runs; their relative paths start there."""
    return Path(os.environ.get("JUDGE_GYM_HOME", "")).absolute()


def _refuse_modules(home: Path) -> None:
    """Raise `JudgeGymError` if modules in `home` would replace those of judge-gym in flow runs.

    Prefect puts the folder of a flow run in front of the installed packages.
    """
    for package in ("deployments", "flows", "tasks", "judge_gym"):
        for file in (home / package / "__init__.py", home / f"{package}.py"):
            if file.exists() and not file.samefile(str(files(package) / "__init__.py")):
                raise JudgeGymError(
                    f"{file} would replace the package {package!r} of judge-gym in flow runs.",
                    "Start in another folder, or name one in JUDGE_GYM_HOME.",
                )


@contextmanager
def _lock(data: Path, port: int) -> Iterator[None]:
    """Lock the data folder during the block; the kernel releases the lock with the process."""
    data.mkdir(parents=True, exist_ok=True)
    with (data / LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise JudgeGymError(
                f"judge-gym is up on {data} already: {lock.read().strip()}.",
                "Use that one, or stop it first with Ctrl-C.",
            ) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()}, {api_url(port)}\n")
        lock.flush()
        yield


@contextmanager
def _postgres(folder: Path, url: str) -> Iterator[StackPart]:
    try:
        with watched_server(url) as lost:
            yield StackPart("PostgreSQL", lost, folder / "server.log")
    finally:
        embedded.release(folder)


@contextmanager
def _simulator(data: Path, logs: Path) -> Iterator[tuple[str, list[StackPart]]]:
    if running_url := os.environ.get(SIMULATOR_URL):
        yield running_url, []
        return
    from judge_gym.simulator.launch import started

    log = logs / "simulator.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with started(log, state=data / "simulator") as (process, url):
        yield url, [_part("The simulator", process, log)]


@contextmanager
def _server(port: int, data: Path, database: str, records: str, log: Path) -> Iterator[StackPart]:
    environment = {
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": records,
        RECORDS_URL: database,
        VACUUM: os.environ.get(VACUUM, VACUUMED),
    }
    secret = password(data)
    with prefect_server(port, secret, environment, log, app=WITH_REPORTS) as process:
        wait_healthy(process, api_url(port), SERVER_START_S, f"See {log}.")
        yield _part("Prefect's server", process, log)


@contextmanager
def _worker(log: Path, server: StackPart) -> Iterator[StackPart]:
    from httpx import HTTPError

    from deployments.local.rescheduling import reschedule, unfinished_runs

    stopped: list[UUID] = []
    environment = {
        **os.environ,
        # Shown on the page of a run. A task is a chunk of calls, so the lines are few.
        "PREFECT_LOGGING_LEVEL": "INFO",
        "PREFECT_LOGGING_TO_API_ENABLED": "true",
        "PREFECT_LOGGING_EXTRA_LOGGERS": LOGGERS,
        "PREFECT_WORKER_QUERY_SECONDS": "2",
    }
    command = [sys.executable, "-m", "prefect", *_WORKER]
    with supervised(command, environment, log=log, patience_s=WORKER_STOP_S) as process:
        try:
            yield _part("The worker", process, log)
        finally:
            # Without its database Prefect cannot answer. The next start reschedules such runs.
            with suppress(HTTPError):
                if not server.ended():
                    stopped = asyncio.run(unfinished_runs())
    if stopped:
        asyncio.run(reschedule(stopped))


def _part(name: str, process: "subprocess.Popen[bytes]", log: Path) -> StackPart:
    return StackPart(name, lambda: process.poll() is not None, log)
