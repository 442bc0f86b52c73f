"""`judge-gym sweep`: plan, run and follow a sweep file."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.options import Everything, RetryFailed
from deployments.cli.output import command, console
from deployments.cli.status import status
from judge_gym.counting import counted
from judge_gym.design.workflow_names import PARTS

app = typer.Typer(help="Plan, run and follow a sweep file.", no_args_is_help=True)
app.command()(status)

SweepFile = Annotated[Path, typer.Argument(help="The sweep file (YAML).", show_default=False)]


@app.command()
def plan(file: SweepFile) -> None:
    """Say what a sweep would ask, and what is already done; spends nothing."""
    from deployments.cli.database import database
    from deployments.cli.estimates import show_plan
    from deployments.cli.models import providers_of
    from judge_gym.design.sweep import load_sweep
    from judge_gym.lab.planning import plan_sweep
    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings

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
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show Prefect's log.")] = False,
) -> None:
    """Run a sweep to the end, or go on with it: only what is missing is asked.

    Exit code 75 says that work waits in batches: the same command later goes on from there.
    """
    from deployments.cli.results import show_results
    from deployments.cli.running import run_sweep
    from judge_gym.errors import ConfigError

    if unknown := set(only or ()) - set(PARTS):
        raise ConfigError(
            f"A sweep has no part {', '.join(sorted(unknown))}.", f"Use {', '.join(PARTS)}."
        )
    run_id = run_sweep(file, retry_failed=retry_failed, verbose=verbose, only=only)
    if run_id is not None:
        show_results(run_id, next_file=file, everything=everything)
