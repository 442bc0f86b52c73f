"""`judge-gym analyse`: figures of a sweep, its experiments, the notebooks and a self-test."""

import json
from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.options import Everything
from deployments.cli.output import console, show_table
from judge_gym.counting import counted
from judge_gym.design.experiment import TaskType
from judge_gym.settings import REPOSITORY

app = typer.Typer(
    help="Compute figures again, read experiments and check the estimators.", no_args_is_help=True
)
experiments = typer.Typer(help="List and show experiments.", no_args_is_help=True)
app.add_typer(experiments, name="experiments")


@app.command()
def figures(
    sweep: Annotated[str, typer.Argument(help="The sweep's name.", show_default=False)],
    everything: Everything = False,
) -> None:
    """Compute a sweep's figures again and write its report.

    Makes no calls.
    """
    import asyncio

    from deployments.cli.environment import database, prefect_api, prepare_environment
    from deployments.cli.results import show_results
    from judge_gym.settings import settings
    from judge_gym.store.experiments import sweep_tags

    with database() as session:
        sweep_tags(session, sweep)  # an unknown sweep is said before Prefect is started
    prepare_environment(settings().data_dir, verbose=False)
    with prefect_api("flows.analysis"):
        from flows.analysis import analysis

        run_id = asyncio.run(analysis(sweep))
    show_results(run_id, everything=everything)


@app.command()
def notebooks() -> None:
    """List the analysis notebooks and how to open them."""
    files = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
    show_table("Notebooks", ("file", "about"), ((file, _title(file)) for file in files))
    console.print(
        "Open one with JupyterLab or an editor, and set the sweep's name in its second cell."
    )


def _title(notebook: Path) -> str:
    """Return the first line of a notebook, without the marks of a heading."""
    return (
        str("".join(json.loads(notebook.read_text())["cells"][0]["source"]))
        .lstrip("# ")
        .splitlines()[0]
    )


@experiments.command("list")
def list_experiments(
    sweep: Annotated[str | None, typer.Option(help="Only of this sweep.")] = None,
    task_type: Annotated[TaskType | None, typer.Option(help="Only of this task type.")] = None,
    concept: Annotated[str | None, typer.Option(help="Only of this concept.")] = None,
    model: Annotated[str | None, typer.Option(help="Only of this judge.")] = None,
) -> None:
    """List experiments with their progress in each workflow."""
    from deployments.cli.environment import database
    from judge_gym.store import listings
    from judge_gym.store.progress import experiment_progress

    with database() as session:
        found = listings.experiments(
            session, sweep=sweep, task_type=task_type, concept=concept, model=model
        )
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


@experiments.command()
def show(tag: Annotated[str, typer.Argument(help="The tag.", show_default=False)]) -> None:
    """Show an experiment's design, progress and outcomes."""
    from deployments.cli.environment import database
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


def _state(part: object) -> str:
    from judge_gym.store.progress import Progress

    assert isinstance(part, Progress)
    failed = f", {part.failed} failed" if part.failed else ""
    return f"{part.done}/{'?' if part.total is None else part.total}{failed}"
