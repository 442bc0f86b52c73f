"""The environment of a command: library settings, database, Prefect's API, simulator."""

import asyncio
import json
import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, Unpack

from deployments.cli.output import errors, progress_lines, rerun_later, stopping, waiting_for
from deployments.cli.prefect_waits import saying_waits
from deployments.local.prefect_server import keep_template, wait_healthy
from deployments.local.temporary_server import own_home, set_prefect_defaults, temporary_server
from judge_gym.collecting import importing
from judge_gym.errors import REFUSED_LOGIN, JudgeGymError, StoreError, first_line, masked
from judge_gym.model_names import is_simulated_model

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from judge_gym.judges import Judge
    from judge_gym.runtime import Runtime
    from judge_gym.simulator.launch import LaunchSettings as SimulatorSettings

T = TypeVar("T")


def prepare_environment(*, verbose: bool = False, calls: bool = True) -> None:
    """Set quiet, local defaults before Prefect and litellm are imported; keep the user's settings.

    `set_prefect_defaults` says what is chosen for Prefect. Without `calls`, the command makes none.
    """
    from judge_gym.settings import settings

    if calls:
        stopping.calls_begin()
    set_prefect_defaults(settings().data_dir, verbose=verbose)
    if not verbose and settings().log_format != "json":
        # Failed calls are stored and counted; printing each would hide the progress.
        logging.getLogger("judge_gym.llm").setLevel(logging.ERROR)
    if not verbose:
        # It would report unsent Prefect events at the end of a command.
        logging.getLogger("EventsWorker").setLevel(logging.ERROR)


STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a server."""


def stop_event() -> asyncio.Event:
    """Return an event of the running loop that a signal to stop sets."""
    stop = asyncio.Event()
    for stopping_signal in STOPPING:
        asyncio.get_running_loop().add_signal_handler(stopping_signal, stop.set)
    return stop


@contextmanager
def naming_port(failure: str) -> Iterator[None]:
    """Raise `JudgeGymError` with this failure where the block cannot listen at its port."""
    try:
        yield
    except OSError as error:
        remedy = "Choose another with --port, or 0 for a free one."
        raise JudgeGymError(f"{failure}: {error.strerror}.", remedy) from None


@contextmanager
def database_engine() -> Iterator["Engine"]:
    """Connect to the configured database, starting the embedded one if needed."""
    from judge_gym.settings import settings
    from judge_gym.store.engine import connect

    engine = connect(settings())
    try:
        yield engine
    finally:
        engine.dispose()


def is_database_new() -> bool:
    """Return whether the database in force is an embedded one that does not exist yet."""
    from judge_gym.settings import settings
    from judge_gym.store.embedded_cluster import find

    configured = settings()
    return configured.database_url is None and find(configured.data_dir / "postgres") is None


def begin_database() -> None:
    """Start the embedded database in a thread, if it is the one in force, while imports go on.

    Whoever connects next waits for it, and raises what is wrong with it.
    """
    from judge_gym.settings import settings
    from judge_gym.store import embedded

    configured = settings()

    def start() -> None:
        with suppress(StoreError):
            embedded.start(configured.data_dir / "postgres")

    if configured.database_url is None:
        threading.Thread(target=start, daemon=True).start()


@contextmanager
def database() -> Iterator["Session"]:
    """Open a transaction on the configured database."""
    from sqlalchemy.orm import Session

    with database_engine() as engine, Session(engine) as session, session.begin():
        yield session


_SERVERS_LOCK = "temporary-servers.lock"
"""The file in Prefect's home that commands lock, shared, while their temporary server runs."""
_REMEDY = "See {}; rerun the command, or set PREFECT_API_URL to a server of your own."


@contextmanager
def prefect_api(
    *modules: str, beside: Iterable[AbstractContextManager[object]] = ()
) -> Iterator[None]:
    """Provide a Prefect API in the block; call `prepare_environment` first.

    Uses the user's server, or starts a temporary one. Raises `JudgeGymError` if the user's server
    does not answer or refuses the password. Imports `modules` and enters the contexts `beside`
    while the server starts, since each takes seconds. Prefect's own temporary server would start
    later, be imported into this process, and survive when this process is killed.
    """
    from judge_gym.settings import settings

    home = own_home(settings().data_dir)
    if home is None:  # only Prefect knows what the user has set
        from prefect.settings import get_current_settings

        configured = get_current_settings()
        if configured.api.url:
            with _entering(beside) as entered:
                asyncio.run(check_api(configured.api.url))
                _import_all(modules)
                entered()
                with _patient(), saying_waits():
                    yield
            return
        home = configured.home
    with _temporary_api(home, modules, beside):
        yield


@contextmanager
def _temporary_api(
    home: Path, modules: Iterable[str], beside: Iterable[AbstractContextManager[object]]
) -> Iterator[None]:
    """Start a server of Prefect with this home for the block, as `prefect_api` says."""
    from judge_gym.settings import settings

    with (
        temporary_server(home, settings().data_dir) as server,
        (home / _SERVERS_LOCK).open("a") as servers,
        _entering(beside) as entered,
    ):
        with importing():
            from prefect.settings import (
                PREFECT_API_AUTH_STRING,
                PREFECT_API_URL,
                PREFECT_CLIENT_CSRF_SUPPORT_ENABLED,
                get_current_settings,
                temporary_settings,
            )

        connection = {
            PREFECT_API_URL: server.url,
            PREFECT_API_AUTH_STRING: server.password,
            PREFECT_CLIENT_CSRF_SUPPORT_ENABLED: False,  # each client would ask for a token
        }
        with temporary_settings(connection):
            _import_all(modules)
            longest_s = get_current_settings().server.ephemeral.startup_timeout_seconds
            with waiting_for("the temporary Prefect server to start", longest_s):
                wait_healthy(server.process, server.url, longest_s, _REMEDY.format(server.log))
            if server.is_new:
                keep_template(home)
            _free_slots_of_killed_runs(servers)
            entered()
            with saying_waits():
                yield


@contextmanager
def _patient() -> Iterator[None]:
    """Wait in the block for a server that is restarted, as runs of deployments do."""
    from prefect.settings import (
        PREFECT_CLIENT_MAX_RETRIES,
        PREFECT_CLIENT_RETRY_EXTRA_CODES,
        temporary_settings,
    )

    from flows.outages import CLIENT_SETTINGS

    fields = (PREFECT_CLIENT_MAX_RETRIES, PREFECT_CLIENT_RETRY_EXTRA_CODES)
    chosen = {
        field: CLIENT_SETTINGS[field.name] for field in fields if field.name not in os.environ
    }
    with temporary_settings(chosen):
        yield


def _import_all(modules: Iterable[str]) -> None:
    with importing():
        for module in modules:
            import_module(module)


@contextmanager
def _entering(
    contexts: Iterable[AbstractContextManager[object]],
) -> Iterator[Callable[[], None]]:
    """Enter contexts in threads; yields what waits for them, and raises what they raised."""
    with ExitStack() as stack, ThreadPoolExecutor() as threads:
        entering = [threads.submit(stack.enter_context, context) for context in contexts]

        def entered() -> None:
            for context in entering:
                context.result()

        yield entered


def _free_slots_of_killed_runs(servers: TextIO) -> None:
    """Free all slots unless another command's server runs, and lock `servers` as one that runs.

    A killed run leaves its slots taken in Prefect's database. A full server frees them when their
    lease expires; a temporary one never does, and the next runs would wait for them for ever.
    """
    import fcntl

    try:
        fcntl.flock(servers, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pass
    else:
        asyncio.run(_free_all_slots())
    fcntl.flock(servers, fcntl.LOCK_SH)


async def _free_all_slots() -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import GlobalConcurrencyLimitUpdate

    async with get_client() as client:
        for limit in await client.read_global_concurrency_limits(limit=200):
            if limit.active_slots:
                free = GlobalConcurrencyLimitUpdate(active_slots=0)
                await client.update_global_concurrency_limit(limit.name, free)


ANSWER_S = 60.0
"""Seconds within which a configured server must answer before a command begins."""


async def check_api(url: str) -> None:
    """Raise `JudgeGymError` if the configured server at `url` does not answer or refuses."""
    import httpx
    from prefect.client.orchestration import get_client

    from deployments.operation import is_refusal

    try:
        with waiting_for(f"the Prefect server at {masked(url)} to answer", ANSWER_S):
            async with asyncio.timeout(ANSWER_S), get_client() as client:
                await client.read_flows(limit=1)
    except TimeoutError:
        raise JudgeGymError(
            f"The Prefect server at {url} has not answered within {ANSWER_S:.0f} s.",
            "Look at its log, or set PREFECT_API_URL to a running one, and rerun the command.",
        ) from None
    except httpx.HTTPStatusError as error:
        if is_refusal(error):
            raise JudgeGymError(
                f"The Prefect server at {url} {REFUSED_LOGIN}.",
                "Set PREFECT_API_AUTH_STRING to it. The password of `judge-gym up` is in the file "
                "prefect-password of its data folder.",
            ) from None
        if error.response.is_server_error:
            raise JudgeGymError(
                f"The Prefect server at {url} fails with HTTP {error.response.status_code}.",
                "Look at its log: its database may be away, or on a full disk.",
            ) from None
        raise JudgeGymError(
            f"The Prefect server at {url} answers with HTTP {error.response.status_code}.",
            "Set PREFECT_API_URL to the address of an API, such as http://127.0.0.1:4200/api.",
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise JudgeGymError(
            f"The Prefect server at {url} does not answer: {first_line(error)}.",
            "Start it, or set PREFECT_API_URL to a running one, and rerun the command.",
        ) from None


SIMULATOR_URL = "JUDGE_GYM_SIMULATOR_URL"


@contextmanager
def simulator(**options: "Unpack[SimulatorSettings]") -> Iterator[None]:
    """Start a simulator for the block, unless one runs already."""
    from judge_gym.settings import settings

    if os.environ.get(SIMULATOR_URL):
        yield
        return
    from judge_gym.simulator.launch import running

    log = settings().data_dir / "simulator.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with running(log, **options) as url:
        os.environ[SIMULATOR_URL] = url
        try:
            yield
        finally:
            del os.environ[SIMULATOR_URL]


@contextmanager
def _simulator_with(name: str, worths: Mapping[str, float]) -> Iterator[None]:
    """Start a simulator whose graders know the worth of texts, in [0, 1], unless one runs.

    The worths are written to a file in the data folder. A simulator that runs already has to be
    started with that file: a warning names it.
    """
    from judge_gym.settings import settings

    path = settings().data_dir / f"{name}-known.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"text": text, "worth": worth}) for text, worth in worths.items())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if url := os.environ.get(SIMULATOR_URL):
        warning = f"The simulator at {url} knows the right answers only with --known {path}."
        errors.plain(warning)
    with simulator(known=path):
        yield


def simulator_knowing(
    name: str, worths: Mapping[str, float], judges: "Iterable[Judge]", others: Iterable[str] = ()
) -> AbstractContextManager[None]:
    """Start a simulator if one of the judges, or of other models, is simulated.

    It knows the `worths` if any are.
    """
    models = [*(model for judge in judges for model in judge.answerers), *others]
    if worths and any(map(is_simulated_model, models)):
        return _simulator_with(name, worths)
    return simulator_for(models)


def simulator_for(models: Iterable[str]) -> AbstractContextManager[None]:
    """Start a simulator for the block if one of the models is simulated."""
    return simulator() if any(map(is_simulated_model, models)) else nullcontext()


def in_runtime(
    work: "Callable[[Runtime], Awaitable[T]]",
    judges: "Sequence[Judge]" = (),
    status: str = "",
    *,
    models: Iterable[str] = (),
) -> T:
    """Return what comes of work with the open connections of a command.

    It waits until no other run judges with one of its `judges`: then what both need is stored. A
    simulator answers for what is simulated of them, and of other `models`.
    """
    from judge_gym.judges.judging import locks_of
    from judge_gym.runtime import runtime
    from judge_gym.store.locks import locked

    def waiting() -> None:
        named = " or ".join(judge.name for judge in judges)
        errors.plain(f"Another run judges with {named}: waiting for it to end.")

    async def worked() -> T:
        async with runtime() as current, locked(current.engine, locks_of(judges), waiting):
            return await work(current)

    prepare_environment()
    asked = (model for judge in judges for model in judge.answerers)
    with simulator_for([*asked, *models]), errors.status(status) if status else nullcontext():
        return asyncio.run(worked())


def result_of(state: Any, again: str = "") -> Any:
    """Return a flow's result; raises the error of one that failed.

    Exits while calls wait in batches; `again` is the command that takes them in.
    """
    from flows.endings import Waiting

    result = asyncio.run(state.aresult(raise_on_failure=False))
    if isinstance(result, BaseException):
        raise result
    if isinstance(result, Waiting):
        resume = f"{result.reason}. Rerun the command when the batches have ended"
        rerun_later(f"{resume}: {again}" if again else f"{resume}.")
    return result


def run_flow(
    name: str,
    show: Callable[[], object],
    simulated: AbstractContextManager[None],
    *,
    show_failed: bool = False,
    **parameters: Any,
) -> Any:
    """Run the flow `name` of the module of that name, show the stored results; return its result.

    If a budget stopped the run, the results are shown before its error is raised; with
    `show_failed` also if part of the run failed. A verdict that is no, or cannot tell, is no error:
    the caller exits by it. `simulated` provides the simulator, if the run needs one. Call
    `prepare_environment` first.
    """
    module = f"flows.{name}"
    with prefect_api(module, beside=[simulated]), progress_lines():
        from flows.endings import PartialFailure
        from flows.judge_study import PartlyJudgedError, VerdictError

        flow = getattr(import_module(module), name)
        state = asyncio.run(flow(**parameters, return_state=True))
        shown = [PartlyJudgedError, VerdictError, *([PartialFailure] if show_failed else [])]
        with suppress(*shown):
            result_of(state)
        try:
            show()
        except StoreError:
            result_of(state)  # raises why there are no results
            raise
        with suppress(VerdictError):
            return result_of(state)
        return None
