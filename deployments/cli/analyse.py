"""`judge-gym analyse`: figures of a sweep, its experiments and the notebooks."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.environment import database, prepare_environment
from deployments.cli.json_output import json_output, print_json
from deployments.cli.options import AsJson, Everything, SweepFile, name_of
from deployments.cli.output import console, show_table
from judge_gym.counting import counted
from judge_gym.design.names import TaskType
from judge_gym.errors import StoreError, listing
from judge_gym.shipped import NOTEBOOKS

if TYPE_CHECKING:
    from judge_gym.design.experiment import Experiment
    from judge_gym.store.progress import WorkflowProgress


def figures(
    sweep: Annotated[
        str | None, typer.Argument(help="The sweep's name or file.", show_default=False)
    ] = None,
    everything: Everything = False,
    as_json: AsJson = False,
    listed: Annotated[
        bool, typer.Option("--list", help="List every figure with its unit and what it needs.")
    ] = False,
) -> None:
    """Compute a sweep's figures again and write its report.

    Makes no calls.
    """
    if listed:
        _list_figures(as_json=as_json)
        return
    if sweep is None:
        raise typer.BadParameter("Name a sweep, or list the figures with --list.")
    import asyncio

    from deployments.cli.environment import prefect_api
    from deployments.cli.results import show_results
    from judge_gym.store.experiments import sweep_tags

    name = name_of(sweep)
    with database() as session:
        sweep_tags(session, name)  # raises for an unknown sweep, before Prefect is started
    prepare_environment()
    with prefect_api("flows.analysis"):
        from flows.analysis import analysis

        run_id = asyncio.run(analysis(name))
    show_results(run_id, everything=everything, as_json=as_json)


def published(
    file: SweepFile,
    given: Annotated[
        Path,
        typer.Argument(metavar="PUBLISHED", help="The published figures.", show_default=False),
    ],
) -> None:
    """Print published figures beside those of a sweep's last analysis.

    On simulated judges, what is planted in them stands between. Makes no calls.
    """
    from judge_gym.design.published import load_published
    from judge_gym.design.sweep import load_sweep
    from judge_gym.report.published import read_published
    from judge_gym.report.table import TerminalTable
    from judge_gym.store.results import latest_run

    sweep, figures = load_sweep(file), load_published(given)
    with database() as session:
        run = latest_run(session, sweep.name)
        if run is None:
            raise StoreError(
                f"Sweep {sweep.name} has no figures yet.", f"Run judge-gym sweep run {file}."
            )
        stand_ins = sweep.definition.get("stand_ins", {})
        table = read_published(session, figures, sweep.name, run.id, stand_ins)
    console.print(TerminalTable(table))


def _list_figures(*, as_json: bool) -> None:
    from judge_gym.analysis import registry

    found = [(table, figure) for table in registry.tables() for figure in table.figures]
    if as_json:
        print_json(
            figures=[
                {
                    "figure": figure.name,
                    "unit": figure.unit,
                    "requires": figure.requires,
                    "table": table.title,
                    "question": table.question,
                    "formulas": table.formulas,
                    "needs": table.needs,
                    "sources": table.sources,
                }
                for table, figure in found
            ]
        )
        return
    rows = [(one.name, table.title, one.unit, one.requires) for table, one in found]
    show_table(f"{len(rows)} figures", ("figure", "table", "unit", "a sweep needs"), rows)


def alt_test(
    data: Annotated[
        str,
        typer.Argument(
            help="A file of labels, or the name of imported annotations.", show_default=False
        ),
    ],
    mapping: Annotated[
        Path | None,
        typer.Option(help="What a file's columns mean (YAML; see deployments/annotations)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test whether judges may stand in for the people of a data set.

    The alternative annotator test of Calderon, Reichart and Dror (2025): a judge passes with a
    winning rate of 0.5. Makes no calls. A file is read without a database.
    """
    from judge_gym.analysis.figures.people import of_data_set
    from judge_gym.annotations import load_mapping, read_annotations
    from judge_gym.report.people import beside_people_json, beside_people_table
    from judge_gym.report.table import TerminalTable
    from judge_gym.store.annotations import stored_annotations

    if mapping is not None:
        sets = read_annotations(Path(data), load_mapping(mapping))
    else:
        with database() as session:
            sets = [stored_annotations(session, data)]
    found = [(given, list(of_data_set(given))) for given in sets]
    if as_json:
        json_output.give([beside_people_json(*of) for of in found])
        return
    for given, judges in found:
        console.print(TerminalTable(beside_people_table(given, judges)))


def notebooks() -> None:
    """List the analysis notebooks and how to open them."""
    files = sorted(NOTEBOOKS.glob("*.ipynb"))
    show_table("Notebooks", ("file", "about"), ((file, _title(file)) for file in files))
    console.print("Open one in JupyterLab or an editor, and name the sweep in its second cell.")


def _title(notebook: Path) -> str:
    """Return the heading of a notebook."""
    source: list[str] = json.loads(notebook.read_text())["cells"][0]["source"]
    return "".join(source).splitlines()[0].lstrip("# ")


def list_experiments(
    sweep: Annotated[str | None, typer.Option(help="Only of this sweep.")] = None,
    task_type: Annotated[TaskType | None, typer.Option(help="Only of this task type.")] = None,
    concept: Annotated[str | None, typer.Option(help="Only of this concept.")] = None,
    model: Annotated[str | None, typer.Option(help="Only of this judge.")] = None,
) -> None:
    """List experiments with their progress in each workflow."""
    from judge_gym.report.scopes import task_in_words
    from judge_gym.store.experiments import experiment_lines, experiments_by_id, sweep_tags
    from judge_gym.store.progress import experiment_progress

    with database() as session:
        if sweep is not None:
            sweep = name_of(sweep)
            sweep_tags(session, sweep)  # raises for an unknown sweep
        lines = experiment_lines(
            session, sweep=sweep, task_type=task_type, concept=concept, model=model
        )
        if not lines:
            every = experiment_lines(session)
            _check_name("concept", concept, {line.concept for line in every})
            _check_name("judge", model, {line.model for line in every})
        ids = [line.id for line in lines]
        progress = experiment_progress(session, ids, sweep)
        varying = _varying(experiments_by_id(session, ids))
    subjects = {(line.task_type, line.concept) for line in lines}
    parts = dict.fromkeys(part for by_part in progress.values() for part in by_part)
    columns = ["number", "tag", "task", "concept", "judge", "settings that vary"]
    columns += [part.partition("-")[0].upper() for part in parts]
    rows: list[list[object]] = [
        [
            line.id,
            line.tag,
            task_in_words(line.task_type),
            line.concept,
            line.model,
            ", ".join(varying[line.id]),
            *(_counts(part) for part in progress[line.id].values()),
        ]
        for line in lines
    ]
    title = counted(len(rows), "experiment")
    if not any(varying.values()):
        _drop_columns(columns, rows, "settings that vary")
    if len(subjects) == 1:
        [(task, about)] = subjects
        title += f" ({task_in_words(task)}, {about})"
        _drop_columns(columns, rows, "task", "concept")
    show_table(title, columns, rows, unbroken=("tag",))


def _drop_columns(columns: list[str], rows: list[list[object]], *names: str) -> None:
    for name in names:
        index = columns.index(name)
        del columns[index]
        for cells in rows:
            del cells[index]


def _check_name(kind: str, name: str | None, names: set[str]) -> None:
    if name is not None and name not in names:
        remedy = listing(sorted(names), "judge-gym analyse experiments list", name)
        raise StoreError(f"There is no experiment with the {kind} {name!r}.", remedy)


def _varying(by_number: "Mapping[int, Experiment]") -> dict[int, list[str]]:
    """Return the settings of each experiment that differ among these, as axis=value."""
    from judge_gym.design.axes import axes

    names = [axis.name for axis in axes()]
    values = {
        number: {"window": experiment.window.name}
        | {name: str(getattr(experiment, name)) for name in names}
        for number, experiment in by_number.items()
    }
    varying = [
        name for name in ("window", *names) if len({row[name] for row in values.values()}) > 1
    ]
    return {number: [f"{name}={row[name]}" for name in varying] for number, row in values.items()}


def show(
    name: Annotated[
        str, typer.Argument(metavar="TAG", help="The tag or number.", show_default=False)
    ],
) -> None:
    """Show an experiment's design, progress and outcomes."""
    from judge_gym.store.experiments import count_outcomes, experiment_tag, experiments_by_tag
    from judge_gym.store.progress import experiment_progress

    with database() as session:
        tag = experiment_tag(session, name)
        [(experiment_id, experiment)] = experiments_by_tag(session, [tag]).items()
        progress = experiment_progress(session, [experiment_id])[experiment_id]
        counts = count_outcomes(session, experiment_id)
    console.print(experiment.model_dump_json(indent=2, exclude_none=True), markup=False)
    states = [(workflow, part.state, _counts(part)) for workflow, part in progress.items()]
    show_table("Workflows", ("workflow", "state", "done"), states)
    show_table("Samples", ("arm", "status", "samples"), counts)


def _counts(part: "WorkflowProgress") -> str:
    failed = f", {part.failed} failed" if part.failed else ""
    return f"{part.done}/{'?' if part.total is None else part.total}{failed}"
