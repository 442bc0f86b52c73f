"""What commands run in: quiet libraries, a database, Prefect's API and a simulator."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import typer

from deployments.cli.output import console, errors
from deployments.local.prefect_server import (
    api_url,
    new_password,
    password_for,
    prefect_server,
    wait_healthy,
)
from deployments.local.processes import free_port
from judge_gym.errors import JudgeGymError, causes, first_line
from judge_gym.logs import use_json_lines
from judge_gym.model_names import is_simulated_model
from judge_gym.settings import settings

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from judge_gym.simulator.launch import Settings as SimulatorSettings


def prepare_environment(data_dir: Path, *, verbose: bool) -> None:
    """Choose quiet, local defaults; whatever the user has set stays.

    With a PREFECT_API_URL, a PREFECT_HOME or a Prefect profile of the user's, flow runs go where
    those say. Otherwise Prefect keeps its records under the data folder and starts a server of
    its own for the time of the command. The password of `judge-gym up` goes to its own API only.
    """
    defaults = {
        **server_settings(),
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_LOGGING_LEVEL": "INFO" if verbose else "CRITICAL",
        # Its event sender would print a trace when the server goes away.
        "PREFECT_LOGGING_INTERNAL_LEVEL": "ERROR" if verbose else "CRITICAL",
    }
    own = {"PREFECT_API_URL", "PREFECT_HOME", "PREFECT_PROFILE"} & os.environ.keys()
    if not own and not (Path.home() / ".prefect" / "profiles.toml").exists():
        home = (data_dir / "prefect").absolute()
        # Prefect makes the folder, but none above it.
        home.parent.mkdir(parents=True, exist_ok=True)
        defaults["PREFECT_HOME"] = str(home)
    if secret := password_for(os.environ.get("PREFECT_API_URL", ""), data_dir):
        defaults["PREFECT_API_AUTH_STRING"] = secret
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    if settings().log_format == "json":
        use_json_lines(sys.stderr)
    elif not verbose:
        # Failed calls are counted and kept; each of them on the screen would bury the progress.
        logging.getLogger("judge_gym.llm").setLevel(logging.ERROR)
    if not verbose:
        # It would say, at the end of a command, how many of Prefect's records are still on the way.
        logging.getLogger("EventsWorker").setLevel(logging.ERROR)


def server_settings() -> dict[str, str]:
    """Return what makes a Prefect server on SQLite quiet, and quick enough for our tasks."""
    recorder = "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER"
    return {
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        # In memory, the default, slots of a process that was killed with the server are lost.
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
            "prefect.server.concurrency.lease_storage.filesystem"
        ),
        # Recorded one by one, task runs keep the database locked just when a task asks for its
        # slot, and the client asks again only 2 s later.
        f"{recorder}_BATCH_SIZE": "200",
        f"{recorder}_READ_BATCH_SIZE": "200",
        f"{recorder}_FLUSH_INTERVAL": "2",
    }


@contextmanager
def database_engine() -> Iterator["Engine"]:
    """Connect to the configured database, starting the embedded one if needed."""
    from judge_gym.store.engine import connect

    engine = connect(settings())
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def database() -> Iterator["Session"]:
    """Open a transaction on the configured database."""
    from sqlalchemy.orm import Session

    with database_engine() as engine, Session(engine) as session, session.begin():
        yield session


# What Prefect starts its own temporary server with.
_TEMPORARY_SERVER = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1"}
_REMEDY = "See {}; run the command again, or name a server of your own by PREFECT_API_URL."


@contextmanager
def prefect_api(*modules: str) -> Iterator[None]:
    """Have an API that flows report to; call `prepare_environment` first.

    Raises `JudgeGymError` when the user's server does not answer or refuses the password.
    `modules` are imported while the server starts, since both take seconds. Prefect would start
    a server by itself, but only when a flow runs, would import all of it into this process as
    well, and would leave it behind for ever when this process is killed.
    """
    from prefect.settings import (
        PREFECT_API_AUTH_STRING,
        PREFECT_API_URL,
        get_current_settings,
        temporary_settings,
    )

    configured = get_current_settings()
    if configured.api.url:
        asyncio.run(check_api(configured.api.url))
        yield
        return
    port = free_port()
    url, password = api_url(port), new_password()
    # Not the terminal: it may be stopped while it writes, and then says so at length.
    log = settings().data_dir.absolute() / "logs" / "prefect-server.log"
    with (
        prefect_server(port, password, _TEMPORARY_SERVER, log) as process,
        temporary_settings({PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: password}),
    ):
        for module in modules:
            import_module(module)
        longest_s = configured.server.ephemeral.startup_timeout_seconds
        wait_healthy(process, url, longest_s, _REMEDY.format(log))
        yield


async def check_api(url: str) -> None:
    """Raise `JudgeGymError` when the server in force, at `url`, does not answer or refuses us."""
    import httpx
    from prefect.client.orchestration import get_client

    try:
        async with get_client() as client:
            await client.read_flows(limit=1)
    except httpx.HTTPStatusError as error:
        if error.response.status_code == httpx.codes.UNAUTHORIZED:
            raise JudgeGymError(
                f"The Prefect server at {url} asks for a password, or for another one.",
                "Set PREFECT_API_AUTH_STRING to it. That of `judge-gym up` is in the file "
                "prefect-password of its data folder.",
            ) from None
        raise JudgeGymError(
            f"The Prefect server at {url} answers with HTTP {error.response.status_code}.",
            "PREFECT_API_URL is the address of an API, such as http://127.0.0.1:4200/api.",
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise JudgeGymError(
            f"The Prefect server at {url} does not answer: {first_line(error)}.",
            "Start it, or set PREFECT_API_URL to one that runs.",
        ) from None


SIMULATOR_URL = "JUDGE_GYM_SIMULATOR_URL"


@contextmanager
def lost_servers_named() -> Iterator[None]:
    """Name the server that a run lost, and say that the run can be resumed."""
    import httpx
    from sqlalchemy.exc import OperationalError

    try:
        yield
    except Exception as error:
        # Prefect wraps what its client meets.
        for cause in causes(error):
            if isinstance(cause, OperationalError):
                server, error_text = "The database", first_line(cause.orig)
            elif isinstance(cause, httpx.TransportError):
                server, error_text = "Prefect's server", first_line(cause)
            else:
                continue
            raise JudgeGymError(
                f"{server} stopped during the run: {error_text}.",
                "All answers received are stored. Start the server and rerun the command to "
                "resume.",
            ) from error
        raise


@contextmanager
def simulator(**given: "Unpack[SimulatorSettings]") -> Iterator[None]:
    """Have a simulator listening in the block, unless there is one; then it is as it was set."""
    if os.environ.get(SIMULATOR_URL):
        yield
        return
    from judge_gym.simulator.launch import running

    log = settings().data_dir / "simulator.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with running(log, **given) as url:
        os.environ[SIMULATOR_URL] = url
        try:
            yield
        finally:
            del os.environ[SIMULATOR_URL]


@contextmanager
def knowing_simulator(name: str, known: Mapping[str, float]) -> Iterator[None]:
    """Have a simulator whose graders know what texts are worth, in [0, 1], unless one is there.

    They are told by a file of this name in the data folder; whoever has a simulator running is
    told of that file.
    """
    path = settings().data_dir / f"{name}-known.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"text": text, "worth": worth}) for text, worth in known.items())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if url := os.environ.get(SIMULATOR_URL):
        said = f"The simulator at {url} knows the right answers only if it has --known {path}."
        errors.print(said, markup=False, soft_wrap=True)
    with simulator(known=path):
        yield


def simulator_for(models: Iterable[str]) -> AbstractContextManager[None]:
    """Have a simulator listening in the block if it plays one of the models."""
    return simulator() if any(map(is_simulated_model, models)) else nullcontext()


TRY_AGAIN_LATER = 75
"""The exit status while calls wait in batches: EX_TEMPFAIL of sysexits.h."""


def result_of(state: Any, again: str = "") -> Any:
    """Return a flow's result; raises the error of one that failed.

    Exits while calls wait in batches; `again` is the command that takes them in.
    """
    from flows.endings import Waiting

    result = asyncio.run(state.aresult(raise_on_failure=False))
    if isinstance(result, BaseException):
        raise result
    if isinstance(result, Waiting):
        resume = f"{result.what}. Rerun the command when they have ended"
        console.print(f"{resume}: {again}" if again else f"{resume}.", markup=False, soft_wrap=True)
        raise typer.Exit(TRY_AGAIN_LATER)
    return result
