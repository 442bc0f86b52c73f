"""`judge-gym experiment`: experiments and how far they are."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.output import console, show_table
from judge_gym.counting import counted
from judge_gym.design.experiment import TaskType

app = typer.Typer(help="List, show and create experiments.", no_args_is_help=True)


@app.command("list")
def list_experiments(
    sweep: Annotated[str | None, typer.Option(help="Only of this sweep.")] = None,
    task_type: Annotated[TaskType | None, typer.Option(help="Only of this task type.")] = None,
    concept: Annotated[str | None, typer.Option(help="Only of this concept.")] = None,
    model: Annotated[str | None, typer.Option(help="Only of this judge.")] = None,
) -> None:
    """List experiments with their state in each workflow."""
    from deployments.cli.database import database
    from judge_gym.store.listings import experiments
    from judge_gym.store.progress import experiment_progress

    with database() as session:
        found = experiments(session, sweep=sweep, task_type=task_type, concept=concept, model=model)
        progress = experiment_progress(session, [one.id for one in found])
        rows = [
            (
                one.tag,
                one.task_type,
                one.concept,
                one.model,
                *(_state(part) for part in progress[one.id].values()),
            )
            for one in found
        ]
    columns = ("tag", "task", "concept", "judge", "W3 scoring", "W4 swap", "W5 probe")
    show_table(counted(len(rows), "experiment"), columns, rows)


@app.command()
def show(tag: Annotated[str, typer.Argument(help="The tag.", show_default=False)]) -> None:
    """Show an experiment: its point of the design space, its counts and its outcomes."""
    from deployments.cli.database import database
    from judge_gym.store.experiments import experiments_by_tag
    from judge_gym.store.listings import outcomes
    from judge_gym.store.progress import experiment_progress

    with database() as session:
        [(experiment_id, experiment)] = experiments_by_tag(session, [tag]).items()
        progress = experiment_progress(session, [experiment_id])[experiment_id]
        counted = outcomes(session, experiment_id)
    console.print(experiment.model_dump_json(indent=2, exclude_none=True), markup=False)
    states = [(workflow, part.state, _state(part)) for workflow, part in progress.items()]
    show_table("Workflows", ("workflow", "state", "done"), states)
    show_table("Samples", ("arm", "status", "samples"), counted)


@app.command()
def create(
    file: Annotated[Path, typer.Argument(help="A sweep file.", show_default=False)],
) -> None:
    """Store the experiments of a sweep file, without running anything; prints their tags."""
    from deployments.cli.database import database
    from judge_gym.design.sweep import load_sweep
    from judge_gym.store.experiments import register_sweep

    sweep = load_sweep(file)
    swap = sweep.swap.model_dump(mode="json") if sweep.swap else None
    with database() as session:
        tags = register_sweep(session, sweep.name, sweep.description, swap, sweep.experiments())
    for tag in tags:
        console.print(tag, markup=False)


def _state(part: object) -> str:
    from judge_gym.store.progress import Progress

    assert isinstance(part, Progress)
    failed = f", {part.failed} failed" if part.failed else ""
    return f"{part.done}/{'?' if part.total is None else part.total}{failed}"
