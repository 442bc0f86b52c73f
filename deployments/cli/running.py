"""Running a sweep from the terminal: the simulator if it is needed, the flow, progress bars."""

import asyncio
import json
import os
import shlex
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import httpx
import sqlalchemy as sa
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from deployments.cli.environment import prepare_environment
from deployments.cli.models import providers_of
from deployments.cli.output import command, console, errors
from deployments.cli.prefect_api import prefect_api
from judge_gym.counting import counted
from judge_gym.design.sweep import Sweep, load_sweep
from judge_gym.errors import JudgeGymError, causes, first_line
from judge_gym.model_names import is_simulated_model
from judge_gym.settings import settings

if TYPE_CHECKING:
    from judge_gym.simulator.settings import Settings as SimulatorSettings

SIMULATOR_URL = "JUDGE_GYM_SIMULATOR_URL"
POLL_S = 0.5
_IMPORTED = ("flows.sweep", "judge_gym.llm.gateway")
TRY_AGAIN_LATER = 75
"""EX_TEMPFAIL of sysexits.h."""
_TITLES = {
    "w1-evidence": "W1 evidence",
    "w2-rubric": "W2 rubrics",
    "w3-scoring": "W3 judgements",
    "w4-swap": "W4 swapped judgements",
    "w5-probe": "W5 probes",
}


def run_sweep(
    file: Path,
    *,
    retry_failed: bool = False,
    verbose: bool = False,
    only: Sequence[str] | None = None,
) -> int | None:
    """Run a sweep, or `only` parts, through its flow; returns the id of the analysis run.

    None when the analysis was not among the parts.

    Raises `JudgeGymError` when the sweep cannot run, or ended with gaps. Leaves with exit code 75
    when work waits in batches.
    """
    sweep = load_sweep(file)
    providers = providers_of(sweep)
    console.print(f"Sweep {sweep.name}: {counted(sweep.count(), 'experiment')}.")
    if not (retry_failed or only) and (run_id := _finished(sweep)) is not None:
        console.print(
            f"Nothing was missing: no request was made; figures of analysis run {run_id}."
        )
        return run_id
    prepare_environment(settings().data_dir, verbose=verbose)
    simulated = any(provider.name == "sim" for provider in providers)
    with (
        simulator() if simulated else nullcontext(),
        prefect_api(*_IMPORTED),
        lost_servers_named(),
    ):
        options = {"retry_failed": retry_failed, "only": list(only) if only else None}
        return _run_id(asyncio.run(_run(file, sweep, options)), file)


@contextmanager
def lost_servers_named() -> Iterator[None]:
    """Say which server a run has lost, and that it goes on when the server is back."""
    try:
        yield
    except Exception as error:
        # Prefect wraps what its client meets.
        for cause in causes(error):
            if isinstance(cause, sa.exc.OperationalError):
                lost, said = "The database", cause.orig
            elif isinstance(cause, httpx.TransportError):
                lost, said = "Prefect's server", cause
            else:
                continue
            raise JudgeGymError(
                f"{lost} went away during the run: {first_line(said)}.",
                "Every answer that had arrived is kept. Start it and run the same command: it "
                "goes on.",
            ) from error
        raise


def _finished(sweep: Sweep) -> int | None:
    """Return the run that holds the figures when all is done, without importing Prefect."""
    from judge_gym.analysis.finished import finished_run
    from judge_gym.store.engine import connect

    engine = connect(settings())
    try:
        return finished_run(engine, settings(), sweep)
    finally:
        engine.dispose()


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


def result_of(state: Any) -> Any:
    """Return what a flow has ended with; raises what it has failed with."""
    result = asyncio.run(state.aresult(raise_on_failure=False))
    if isinstance(result, BaseException):
        raise result
    return result


async def _run(file: Path, sweep: Sweep, options: dict[str, Any]) -> Any:
    from flows.sweep import sweep as sweep_flow
    from judge_gym.store.engine import connect

    # Not the runtime's: that one is opened by the flow, with the settings of the run.
    engine = await asyncio.to_thread(connect, settings())
    try:
        with _progress_bars(engine, sweep) if console.is_terminal else nullcontext():
            return await sweep_flow(file, **options, return_state=True)
    finally:
        engine.dispose()


def _run_id(state: Any, file: Path) -> int | None:
    from flows.endings import Waiting

    result = result_of(state)
    if isinstance(result, Waiting):
        again = f"{command()} sweep run {shlex.quote(str(file))}"
        said = f"{result.what}. The same command takes them in when they have ended: {again}"
        console.print(said, markup=False, soft_wrap=True)
        raise typer.Exit(TRY_AGAIN_LATER)
    return None if result is None else int(result)


@contextmanager
def _progress_bars(engine: Any, sweep: Sweep) -> Iterator[None]:
    """Show how far each workflow is, read from the database, until the block ends."""
    stop = threading.Event()
    columns = (
        TextColumn("{task.description:<22}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        watcher = threading.Thread(
            target=_watch, args=(engine, sweep.name, progress, stop), daemon=True
        )
        watcher.start()
        try:
            yield
        finally:
            stop.set()
            watcher.join()


def _watch(engine: Any, sweep: str, progress: Progress, stop: threading.Event) -> None:
    from judge_gym.lab.status import progress_of

    bars = {name: progress.add_task(title, total=None) for name, title in _TITLES.items()}
    last = False
    while not last:
        last = stop.wait(POLL_S)
        for name, part in (progress_of(engine, sweep) or {}).items():
            progress.update(bars[name], completed=part.done, total=part.total)
