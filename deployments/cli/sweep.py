"""`judge-gym sweep`: plan, run and follow a sweep file."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.output import command, console, show_table

app = typer.Typer(help="Plan, run and follow a sweep file.", no_args_is_help=True)

SweepFile = Annotated[Path, typer.Argument(help="The sweep file (YAML).", show_default=False)]


@app.command()
def plan(file: SweepFile) -> None:
    """Say what a sweep would ask, and what is already done; spends nothing."""
    from deployments.cli.database import database
    from deployments.cli.estimates import show_plan
    from deployments.cli.models import providers_of
    from judge_gym.design.sweep import load_sweep
    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings
    from judge_gym.workflows.planning import plan_sweep

    sweep = load_sweep(file)
    providers_of(sweep)
    console.print(f"Sweep {sweep.name}: {sweep.count()} experiments.")
    providers = load_providers(settings().providers_file)
    with database() as session:
        planned = plan_sweep(session, sweep, providers)
    show_plan(planned, providers, sweep.budget)
    console.print(f"Next: {command()} sweep run {file}", markup=False)


@app.command()
def run(
    file: SweepFile,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again for what is kept as failed.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show Prefect's log.")] = False,
) -> None:
    """Run a sweep to the end, or go on with it: only what is missing is asked.

    Exit code 75 says that work waits in batches: the same command later goes on from there.
    """
    from deployments.cli.results import show_results
    from deployments.cli.running import run_sweep

    show_results(run_sweep(file, retry_failed=retry_failed, verbose=verbose), next_file=file)


@app.command()
def status(
    name: Annotated[str, typer.Argument(help="The sweep's name or file.", show_default=False)],
) -> None:
    """Show how far each workflow of a sweep is."""
    from deployments.cli.database import database
    from judge_gym.design.sweep import load_sweep
    from judge_gym.store.batches import waiting
    from judge_gym.store.experiments import experiments_by_tag, sweep_tags
    from judge_gym.store.progress import sweep_progress
    from judge_gym.store.spending import spending_scope

    if name.endswith((".yaml", ".yml")):
        name = load_sweep(Path(name)).name
    with database() as session:
        ids = list(experiments_by_tag(session, sweep_tags(session, name)))
        progress = sweep_progress(session, ids)
        in_batches = waiting(session, spending_scope(session, name))
    rows = [
        (
            workflow,
            part.state,
            part.done,
            "?" if part.total is None else part.total,
            part.failed,
            in_batches.get(workflow, 0),
        )
        for workflow, part in progress.items()
    ]
    show_table(
        f"Sweep {name}: {len(ids)} experiments",
        ("workflow", "state", "done", "of", "failed", "wait in batches"),
        rows,
    )
