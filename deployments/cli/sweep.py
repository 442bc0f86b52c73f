"""`judge-gym demo` and `judge-gym sweep`: plan and run sweeps; axes of the design space."""

import asyncio
import shlex
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from deployments.cli.environment import (
    database,
    database_engine,
    lost_servers_named,
    prefect_api,
    prepare_environment,
    result_of,
    simulator,
)
from deployments.cli.options import Everything, RetryFailed
from deployments.cli.output import command, console, show_table
from judge_gym.counting import counted
from judge_gym.design.plans import PARTS
from judge_gym.design.sweep import Sweep, load_sweep
from judge_gym.settings import settings

if TYPE_CHECKING:
    from judge_gym.llm.providers import Provider

app = typer.Typer(help="Plan, run and follow sweeps of experiments.", no_args_is_help=True)

DEMO = Path(__file__).parents[1] / "sweeps" / "demo.yaml"


def demo(everything: Everything = False) -> None:
    """Run the demo sweep on simulated judges and write its report."""
    from deployments.cli.results import show_results

    run_id = run_sweep(DEMO)
    assert run_id is not None  # all of it was run
    show_results(run_id, next_file=DEMO, everything=everything)


@app.command()
def axes() -> None:
    """List the axes of the design space, their values and defaults."""
    from judge_gym.design.axes import axes as all_axes

    rows = [(axis.name, axis.legal, axis.default, axis.why) for axis in all_axes()]
    show_table("The design space", ("axis", "legal values", "default", "why"), rows)


POLL_S = 0.5
_IMPORTED = ("flows.sweep", "judge_gym.llm.gateway")
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
    """Run the flow of a sweep, or only some parts; return the id of the analysis run.

    Returns None if the analysis was not among the parts. Raises `JudgeGymError` if the sweep
    cannot run or calls failed. Exits with code 75 if calls wait in batches.
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


def _finished(sweep: Sweep) -> int | None:
    """Return the analysis run of a finished sweep, without importing Prefect."""
    from judge_gym.analysis.finished import finished_run

    with database_engine() as engine:
        return finished_run(engine, settings(), sweep)


async def _run(file: Path, sweep: Sweep, options: dict[str, Any]) -> Any:
    from flows.sweep import sweep as sweep_flow
    from judge_gym.store.engine import connect

    # The flow opens its own engine, with the settings of the run.
    engine = await asyncio.to_thread(connect, settings())
    try:
        with _progress_bars(engine, sweep) if console.is_terminal else nullcontext():
            return await sweep_flow(file, **options, return_state=True)
    finally:
        engine.dispose()


def _run_id(state: Any, file: Path) -> int | None:
    result = result_of(state, again=f"{command()} sweep run {shlex.quote(str(file))}")
    return None if result is None else int(result)


@contextmanager
def _progress_bars(engine: Any, sweep: Sweep) -> Iterator[None]:
    """Show the progress of each workflow, read from the database, until the block ends."""
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


def providers_of(sweep: Sweep) -> "list[Provider]":
    """Return the providers of a sweep's judges, rubric owners and utility model, by name.

    Raises `ConfigError` for a model that no provider serves, or when no utility model is named.
    """
    from judge_gym.lab.sweeps import models_of, utility_model
    from judge_gym.llm.providers import load_providers

    providers = load_providers(settings().providers_file)
    experiments = list(sweep.experiments())
    used = [providers.of(model) for model in sorted(models_of(experiments))]
    used.append(providers.of(utility_model(settings(), sweep, experiments)))
    return [providers.by_name[name] for name in sorted({provider.name for provider in used})]


SweepFile = Annotated[Path, typer.Argument(help="The sweep file (YAML).", show_default=False)]


@app.command()
def plan(file: SweepFile) -> None:
    """Estimate the calls, cost and time of a sweep without running it."""
    from deployments.cli.estimates import show_plan
    from judge_gym.lab.planning import plan_sweep
    from judge_gym.llm.providers import load_providers

    sweep = load_sweep(file)
    providers_of(sweep)
    console.print(f"Sweep {sweep.name}: {counted(sweep.count(), 'experiment')}.")
    providers = load_providers(settings().providers_file)
    with database() as session:
        planned = plan_sweep(session, sweep, providers)
    show_plan(planned, providers, sweep.budget)
    console.print(f"Next: {command()} sweep run {file}", markup=False)


@app.command()
def run(
    file: SweepFile,
    retry_failed: RetryFailed = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART", help=f"Only {', '.join(PARTS)}; may be repeated.", show_default=False
        ),
    ] = None,
    everything: Everything = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print Prefect's log.")] = False,
) -> None:
    """Run or resume a sweep; only missing calls are made.

    Exit code 75 means that calls wait in batches: rerun the command later to resume.
    """
    from deployments.cli.results import show_results
    from judge_gym.errors import ConfigError, did_you_mean

    if unknown := set(only or ()) - set(PARTS):
        raise ConfigError(
            f"A sweep has no part {', '.join(sorted(unknown))}.",
            f"{did_you_mean(min(unknown), PARTS)}Use {', '.join(PARTS)}.",
        )
    run_id = run_sweep(file, retry_failed=retry_failed, verbose=verbose, only=only)
    if run_id is not None:
        show_results(run_id, next_file=file, everything=everything)


@app.command()
def create(
    file: Annotated[Path, typer.Argument(help="A sweep file.", show_default=False)],
) -> None:
    """Store the experiments of a sweep file and print their tags.

    Nothing is run.
    """
    from judge_gym.store.experiments import register_sweep

    sweep = load_sweep(file)
    swap = sweep.swap.model_dump(mode="json") if sweep.swap else None
    with database() as session:
        tags = register_sweep(session, sweep.name, sweep.description, swap, sweep.experiments())
    for tag in tags:
        console.print(tag, markup=False)
