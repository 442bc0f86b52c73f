"""`judge-gym data`: import and export experiments, and describe the views."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.environment import database, database_engine
from deployments.cli.json_output import print_json
from deployments.cli.options import (
    AllowUnreadable,
    AsJson,
    RecordedColumns,
    RecordedCriteria,
    RecordedCuts,
    RecordedFormat,
    RecordedHeader,
    RecordedJudges,
    RecordedMapping,
    RecordedPaths,
    RecordedPeople,
    RecordedRows,
    RecordedTruth,
    Yes,
    name_of,
)
from deployments.cli.output import command, confirmed, console, show_table, simulated_caveat
from judge_gym.counting import counted
from judge_gym.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deployments.cli.recorded import MappedFiles
    from judge_gym.lab.annotating import ImportedLabels
    from judge_gym.lab.importing import Imported
    from judge_gym.lab.recorded_answers import Repeats

_MOST_SIZES = 4
"""Numbers of repeats that are listed one by one."""


def export_bundle(
    to: Annotated[Path, typer.Option(help="A new folder.", show_default=False)],
    sweep: Annotated[
        str | None, typer.Argument(help="The sweep's name or file.", show_default=False)
    ] = None,
    experiment: Annotated[
        list[str] | None,
        typer.Option(help="An experiment's tag or number; may be repeated.", show_default=False),
    ] = None,
    written: Annotated[
        str, typer.Option("--format", help="tables (CSV and Parquet) or inspect (.eval logs).")
    ] = "tables",
    judge: Annotated[
        str | None,
        typer.Option(help="With --format inspect: a judge's name or key.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export a sweep or experiments, with all they need, to CSV and Parquet.

    With --format inspect, write the judgements of a sweep or of a judge as logs of Inspect.
    """
    if written != "tables" or judge:
        _export_logs(to, sweep, judge, bool(experiment), written, as_json=as_json)
        return
    from judge_gym.store.bundles import export
    from judge_gym.store.experiments import experiment_tag

    if (sweep is None) == (not experiment):
        raise ConfigError("Name either a sweep or experiments (--experiment TAG), not both.")
    with database_engine() as engine:
        with database() as session:
            tags = [experiment_tag(session, name) for name in experiment or ()]
        manifest = export(engine, to, sweep=name_of(sweep) if sweep else None, tags=tags)
    rows = {name: table.rows for name, table in manifest.tables.items()}
    if as_json:
        print_json(
            folder=to, experiments=manifest.experiments, rows=rows, simulated=manifest.simulated
        )
        return
    _show_rows(rows, "rows")
    caveat = simulated_caveat(manifest.simulated)
    console.print(
        f"Exported {counted(len(manifest.experiments), 'experiment')} to {to}.{caveat}",
        markup=False,
    )
    console.print(f"To import them elsewhere: {command()} data import {to}", markup=False)


def _export_logs(
    to: Path,
    sweep: str | None,
    judge: str | None,
    experiments: bool,
    written: str,
    *,
    as_json: bool,
) -> None:
    """Write judgements as logs of Inspect."""
    from judge_gym.analysis.inspect_logs import export_judge, export_sweep

    if written != "inspect":
        raise ConfigError(f"--format is {written!r}.", "Use tables, or inspect (with --judge).")
    if (sweep is None) == (judge is None) or experiments:
        raise ConfigError("Name either a sweep or a judge (--judge NAME) for --format inspect.")
    with database():
        files = export_sweep(name_of(sweep), to) if sweep else export_judge(judge or "", to)
    if as_json:
        print_json(folder=to, logs=files)
        return
    console.print(f"Exported {counted(len(files), 'log')} of Inspect to {to}.", markup=False)


def import_bundle(
    folder: Annotated[Path, typer.Argument(help="A bundle's folder.", show_default=False)],
) -> None:
    """Import an exported folder into this database.

    Existing rows are kept. Importing the folder again changes nothing.
    """
    from judge_gym.store.bundle_reading import import_bundle as read_bundle

    with database_engine() as engine:
        manifest, new = read_bundle(engine, folder)
    _show_rows(new, "new rows")
    caveat = simulated_caveat(manifest.simulated)
    experiments = counted(len(manifest.experiments), "experiment")
    console.print(f"Imported {experiments}.{caveat}", markup=False)


def _show_rows(rows: dict[str, int], heading: str) -> None:
    show_table("Bundle", ("table", heading), rows.items())


def import_verdicts(
    files: RecordedPaths,
    mapping: RecordedMapping = None,
    allow_unreadable: AllowUnreadable = False,
    yes: Yes = False,
    read_as: RecordedFormat = "",
    judges: RecordedJudges = "",
    people: RecordedPeople = "",
    scorer: RecordedCriteria = None,
    truth: RecordedTruth = "",
    cut: RecordedCuts = None,
    rows: RecordedRows = "",
    columns: RecordedColumns = "",
    header: RecordedHeader = 0,
) -> None:
    """Import judgements recorded elsewhere, and mark them as imported.

    Reads logs of Inspect, results of promptfoo, annotations of AlpacaEval, CSV and JSONL.
    """
    from deployments.cli.recorded import readings
    from deployments.cli.sweep import confirm_leaving
    from judge_gym.lab import importing
    from judge_gym.recorded.derived import options_of

    options = options_of(judges, scorer, truth, cut, rows, columns, header, people)
    found = readings(files, mapping, options, read_as, yes=yes)
    for note in found.notes:
        console.print(note, markup=False)
    with database() as session:
        for one in found.read:
            done = importing.import_verdicts(
                session,
                one.files,
                one.recorded,
                one.rubric,
                allow_unreadable=allow_unreadable,
                confirm=lambda left: confirm_leaving(left, yes=yes),
            )
            _show_imported(one, done)


def _show_imported(read: "MappedFiles", done: "Imported") -> None:
    """Print what was imported as a sweep, what to be careful about, and what is next."""
    from judge_gym.report.file_cautions import agreement, file_cautions

    name = read.recorded.name
    ends = ", ".join(f"{count:,} {status}" for status, count in sorted(done.statuses.items()))
    wordings = f" under {counted(done.wordings, 'wording')}" if done.wordings > 1 else ""
    console.print(
        f"Sweep {name}: {counted(done.judgements, 'judgement')} by "
        f"{counted(done.judges, 'judge')}{wordings} of {counted(done.items, 'item')} ({ends}); "
        f"new: {done.new:,}.",
        markup=False,
    )
    console.print(_repeats(done.repeats), markup=False)
    if labels := done.labels:
        people = f"{labels.people} {'person' if labels.people == 1 else 'people'}"
        console.print(
            f"Stored as labels {labels.name}: {counted(labels.labels, 'label')} of {people} of "
            f"{counted(labels.items, 'item')}.",
            markup=False,
        )
    for caution in file_cautions(done.repeats, done.unread, mapped=read.mapped, stored=True):
        console.warn(caution)
    if done.compared and done.compared.answers:
        console.print(agreement(done.compared), markup=False)
    if done.too_few:
        console.warn(
            f"{done.too_few} A judge without any readable answer has no accuracy. For the "
            "others, unreadable answers are left out of the share correct, and count 0 on pairs."
        )
    console.print(f"Next: {command()} analyse figures {name}", markup=False)


def _repeats(repeats: "Repeats") -> str:
    """Return how often a judge judged an item, and in which orders."""
    cells = repeats.sizes.total()
    sizes = sorted(repeats.sizes.items())
    often = ", ".join(f"{size:,} ({counted(number, 'time')})" for size, number in sizes)
    if len(sizes) > _MOST_SIZES:
        often = f"{sizes[0][0]:,} to {sizes[-1][0]:,}"
    orders = "each item or pair in one order"
    if repeats.both_orders:
        orders = f"in both orders {repeats.both_orders:,} of {cells:,} times"
    return f"Judgements of an item by a judge: {often}; {orders}."


def import_annotations(
    path: Annotated[
        Path,
        typer.Argument(
            help="A file of labels (CSV, Excel, JSON, JSONL), or a folder of them.",
            show_default=False,
        ),
    ],
    mapping: Annotated[
        Path,
        typer.Option(
            help="What its columns mean (YAML; see deployments/annotations).", show_default=False
        ),
    ],
    sweep: Annotated[
        str | None,
        typer.Option(help="Attach the labels to the items of this sweep.", show_default=False),
    ] = None,
    rubric: Annotated[
        str, typer.Option(help="The rubric whose stages they name (key or owner).")
    ] = "",
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Delete the stored labels of the file, for this sweep, first."
        ),
    ] = False,
) -> None:
    """Import labels of people, one row for an item, an annotator and a label.

    With --sweep its analysis compares its judges with them. Without it they are a data set of
    their own, and judges may be among the annotators.
    """
    from judge_gym.annotations import load_mapping, read_annotations
    from judge_gym.lab.annotating import import_annotations as store

    read = read_annotations(path, load_mapping(mapping))
    if rubric and sweep is None:
        raise ConfigError("--rubric is given without a sweep.", "Name the sweep with --sweep.")
    with database() as session:
        name = name_of(sweep) if sweep else None
        done = [
            store(session, given, sweep=name, rubric=rubric, replaced=replace) for given in read
        ]
    _show_annotations(done)
    for given in read:
        if alike := given.names_alike:
            console.warn(
                f"names that differ only in case are different annotators: {alike} items. "
                "Write one of them in the file if they are one."
            )
    following = f"figures {name}" if name else f"alt-test {done[0].name}"
    console.print(f"Next: {command()} analyse {following}", markup=False)


def _show_annotations(sets: "Iterable[ImportedLabels]") -> None:
    show_table(
        "Annotations",
        ("set", "people", "judges", "items", "labels", "of several", "new", "deleted", "stored"),
        (
            (
                *(one.name, one.people, one.judges, one.items, one.labels),
                *(one.several, one.new, one.deleted, one.stored),
            )
            for one in sets
        ),
    )


def delete_annotations(
    name: Annotated[
        str, typer.Argument(help="The set: its file's name, without suffixes.", show_default=False)
    ],
    sweep: Annotated[
        str | None, typer.Option(help="Only the labels of this sweep's items.", show_default=False)
    ] = None,
    yes: Yes = False,
) -> None:
    """Delete an imported set of labels, of one sweep or altogether.

    Shows the labels first and asks for confirmation.
    """
    from judge_gym.errors import StoreError, listing
    from judge_gym.store.annotations import delete_labels, labels_by_sweep

    with database() as session:
        stored = labels_by_sweep(session, name)
        chosen = [one for one in stored if sweep is None or one.sweep == name_of(sweep)]
        if not chosen:
            raise StoreError(
                f"The annotations {name!r} have no labels of sweep {sweep}.",
                listing([one.sweep for one in stored if one.sweep], "judge-gym sweep status"),
            )
        items = frozenset[int]().union(*(one.items for one in chosen))
        show_table(
            f"Labels {name} that would be deleted",
            ("sweep", "annotators", "items", "labels"),
            (
                (one.sweep or "none", one.annotators, len(one.items) or "–", one.labels)
                for one in chosen
            ),
        )
        if others := [one.sweep for one in stored if one not in chosen and one.items & items]:
            console.print(
                f"Their items are also those of {', '.join(others)}, whose labels go with them.",
                markup=False,
            )
        if not confirmed("Delete them?", yes=yes):
            console.print("Nothing was deleted.")
            raise typer.Exit
        deleted = sum(delete_labels(session, name, one.items) for one in chosen)
    console.print(f"Deleted {counted(deleted, 'row')} of labels {name}.", markup=False)


def examples(
    folder: Annotated[
        Path, typer.Argument(help="Where; . is the current folder.", show_default=False)
    ],
) -> None:
    """Write the example files, so that documented commands run in FOLDER.

    Files that exist with the same content are kept. If one exists with other content, nothing is
    written.
    """
    from judge_gym.shipped import examples as shipped

    files = [(source, folder / path) for source, path in shipped()]
    changed = [
        target
        for source, target in files
        if target.exists() and target.read_bytes() != source.read_bytes()
    ]
    if changed:
        raise ConfigError(
            f"{changed[0]} exists with other content; nothing was written.", "Name another folder."
        )
    for source, target in files:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    console.print(
        f"Wrote {counted(len(files), 'example')} below {folder.absolute()}.", markup=False
    )
    console.print("Next, in that folder: judge-gym sweep plan deployments/sweeps/quick.yaml")


def schema(
    kind: Annotated[
        str | None, typer.Argument(help="A kind of file.", show_default="list the kinds")
    ] = None,
) -> None:
    """Print the JSON Schema of a kind of YAML file, or list the kinds.

    Editors complete and check a file that names its schema, as the examples do.
    """
    from deployments.cli.schemas import KINDS, text_of
    from judge_gym.errors import did_you_mean

    if kind is None:
        rows = ((name, about) for name, (about, _) in KINDS.items())
        show_table("Kinds of files", ("kind", "describes"), rows)
        return
    if kind not in KINDS:
        raise ConfigError(
            f"{kind!r} is not a kind of file.",
            f"{did_you_mean(kind, KINDS)}Use {', '.join(KINDS)}.",
        )
    typer.echo(text_of(kind), nl=False)


def views(
    view: Annotated[
        str | None, typer.Argument(help="A view's name.", show_default="all views")
    ] = None,
) -> None:
    """List the analysis views, or the columns of one view."""
    from judge_gym.analysis import describe

    view = view and view.removeprefix("analysis.")
    described = describe(view)
    title = f"Columns of analysis.{view}" if view else "Views of the schema analysis"
    show_table(title, list(described.columns), described.itertuples(index=False))
