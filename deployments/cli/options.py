"""Arguments and options that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judge_gym.design.names import Workflow

if TYPE_CHECKING:
    from judge_gym.judges import LabelFile

JudgeFile = Annotated[Path, typer.Argument(help="The judge file (YAML).", show_default=False)]
SweepFile = Annotated[Path, typer.Argument(help="The sweep file (YAML).", show_default=False)]
SweepName = Annotated[str, typer.Argument(help="The sweep's name or file.", show_default=False)]
WindowName = Annotated[str, typer.Argument(help="The window's name or number.", show_default=False)]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")]
Repeats = Annotated[int, typer.Option(help="Judgements per item.", min=1)]
Everything = Annotated[
    bool, typer.Option("--all", help="Print all tables, not only the headlines.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Estimate calls and cost without running.")]
RetryFailed = Annotated[
    bool,
    typer.Option("--retry-failed", help="Retry failed calls and empty answers of earlier runs."),
]
Fields = Annotated[
    list[str] | None,
    typer.Option(
        "--fields",
        help="Read a field from another column, as truth=human_score; may be repeated.",
        show_default=False,
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        help="People's labels (CSV, Excel, JSON, JSONL), several a text.",
        show_default="none",
    ),
]
LabelFields = Annotated[
    list[str] | None,
    typer.Option(
        "--label-fields",
        help="Read a field of labels from another column, as annotator=rater; may be repeated.",
        show_default=False,
    ),
]

Name = Annotated[
    str,
    typer.Argument(
        help="A sweep's name or file, or an experiment's tag or number.", show_default=False
    ),
]
OfWorkflow = Annotated[Workflow | None, typer.Option("--workflow", help="Only this workflow.")]
OfFailure = Annotated[
    str | None,
    typer.Option(
        "--failure", metavar="CLASS", help="Only this failure class, as `sweep status` lists it."
    ),
]
RecordedPaths = Annotated[
    list[Path],
    typer.Argument(
        help="Inspect logs, promptfoo or AlpacaEval results, CSV, Excel, JSONL; or a folder.",
        show_default=False,
    ),
]
RecordedMapping = Annotated[
    Path | None,
    typer.Option(
        "--mapping",
        help="What its columns mean (YAML; deployments/recorded has examples).",
        show_default="told by the format",
    ),
]
RecordedFormat = Annotated[
    str,
    typer.Option(
        "--format",
        help="Read as inspect, promptfoo, alpaca_eval or rows.",
        show_default="told by the content",
    ),
]
RecordedJudges = Annotated[
    str,
    typer.Option(
        "--judges",
        help="Columns of judges: a,b or rest; of an Inspect log: models or scorers.",
        show_default="told by the content",
    ),
]
RecordedPeople = Annotated[
    str,
    typer.Option(
        "--people", help="Columns with labels of people: ann,bo.", show_default="told by names"
    ),
]
RecordedCriteria = Annotated[
    list[str] | None,
    typer.Option("--scorer", help="Read only this scorer or metric; may be repeated."),
]
RecordedTruth = Annotated[
    str,
    typer.Option(
        "--truth",
        help="The known answer: a path such as metadata.human or vars.label.",
        show_default=False,
    ),
]
RecordedCuts = Annotated[
    list[float] | None,
    typer.Option("--cut", help="A score at which a new stage begins; may be repeated."),
]
RecordedRows = Annotated[
    str,
    typer.Option(
        "--rows",
        help="Where the rows stand: a key such as data.items, or a sheet.",
        show_default=False,
    ),
]
RecordedColumns = Annotated[
    str,
    typer.Option(
        "--columns",
        help="Names of the columns of a file without a header: item,judge,score.",
        show_default=False,
    ),
]
RecordedHeader = Annotated[
    int,
    typer.Option(
        "--header",
        help="The line that has the names of the columns, below a title.",
        min=0,
        show_default="the first",
    ),
]
ShowMapping = Annotated[
    bool,
    typer.Option("--show-mapping", help="Print the mapping that the format gives, and stop."),
]
AllowUnreadable = Annotated[
    bool,
    typer.Option(
        "--allow-unreadable", help="Accept a judge with fewer than half its answers readable."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def fields_of(items: Path | None, assignments: Sequence[str] | None) -> dict[str, str]:
    """Return field → column of `--fields`, of the file `items`.

    Raises `ConfigError` for anything else, and without the file.
    """
    from judge_gym.records.conversations import KEYS
    from judge_gym.records.items import COLUMNS

    return _columns(("--fields", "--items"), items, assignments, (*COLUMNS, *KEYS))


def labels_of(path: Path | None, assignments: Sequence[str] | None) -> "LabelFile | None":
    """Read the file of `--labels` with the columns of `--label-fields`; None without one."""
    from judge_gym.judges.label_files import read_labels

    columns = label_fields_of(path, assignments)
    return read_labels(path, columns) if path else None


def label_fields_of(labels: Path | None, assignments: Sequence[str] | None) -> dict[str, str]:
    """Return field → column of `--label-fields`, of the file `labels`; raises as `fields_of`."""
    from judge_gym.judges.label_files import FIELDS

    return _columns(("--label-fields", "--labels"), labels, assignments, FIELDS)


def _columns(
    options: tuple[str, str],
    file: Path | None,
    assignments: Sequence[str] | None,
    fields: Sequence[str],
) -> dict[str, str]:
    """Return field → column; `options` are that of columns and that of their `file`."""
    from judge_gym.errors import ConfigError, did_you_mean
    from judge_gym.evidence.choosing import KEYS, is_key

    option, of_file = options
    if assignments and file is None:
        raise ConfigError(
            f"{option} is {assignments[0]!r}, and there is no {of_file}.",
            f"Name the file that has this column with {of_file}. For a file that a judge file "
            f"names, write {option[2:].replace('-', '_')} beside it there.",
        )
    columns: dict[str, str] = {}
    for assignment in assignments or ():
        field, equals, column = assignment.partition("=")
        known = field in fields or is_key(field)
        if not equals or not column or not known or field in columns:
            raise ConfigError(
                f"{option} is {assignment!r}.",
                f"{did_you_mean(field, (*fields, *KEYS))}"
                "Use FIELD=COLUMN, each field once, with a field of "
                f"{', '.join((*fields, *KEYS))}.",
            )
        columns[field] = column
    return columns


def name_of(sweep: str) -> str:
    """Return the name of a sweep given by name or file."""
    from judge_gym.design.sweep import load_sweep

    return load_sweep(Path(sweep)).name if is_sweep_file(sweep) else sweep


def is_sweep_file(sweep: str) -> bool:
    """Return whether a sweep is given by its file, not by its name."""
    return sweep.endswith((".yaml", ".yml"))
