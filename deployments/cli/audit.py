"""`judge-gym audit`: recorded judgements of others in, one page out, without a database."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Exit, Option

from deployments.cli.options import (
    AllowUnreadable,
    AsJson,
    Everything,
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
    ShowMapping,
    Yes,
)
from deployments.cli.output import command, console
from judge_gym.errors import ConfigError
from judge_gym.writable import check_writable

if TYPE_CHECKING:
    from deployments.cli.recorded import MappedFiles

Picture = Annotated[
    Path | None, Option(help="Draw the accuracy of judges of pairs into this SVG file.")
]


def _print_keys(wanted: bool) -> None:
    """Print the keys of a mapping file, and end the command."""
    from judge_gym.recorded.mapping import mapping_keys

    if wanted:
        for key, meaning in mapping_keys().items():
            console.print(f"{key}\n  {meaning}", markup=False, highlight=False)
        raise Exit


Keys = Annotated[
    bool,
    Option(
        "--keys", help="Print every key of a mapping file.", callback=_print_keys, is_eager=True
    ),
]


def audit(
    files: RecordedPaths,
    mapping: RecordedMapping = None,
    picture: Picture = None,
    allow_unreadable: AllowUnreadable = False,
    keys: Keys = False,
    everything: Everything = False,
    as_json: AsJson = False,
    read_as: RecordedFormat = "",
    judges: RecordedJudges = "",
    people: RecordedPeople = "",
    scorer: RecordedCriteria = None,
    truth: RecordedTruth = "",
    cut: RecordedCuts = None,
    rows: RecordedRows = "",
    columns: RecordedColumns = "",
    header: RecordedHeader = 0,
    show_mapping: ShowMapping = False,
    yes: Yes = False,
) -> None:
    """Audit judgements recorded elsewhere: one page, no key, no database.

    Reads logs of Inspect, results of promptfoo, annotations of AlpacaEval, and CSV or JSONL with
    the columns item, judge and score; other files by a mapping, which is proposed for a table with
    a column for each judge. Prints accuracy, preference for place and length, independent votes and
    what depends on the wording.
    """
    from deployments.cli.recorded import print_mappings, readings
    from judge_gym.answers.readability import TooFewReadableError
    from judge_gym.recorded.derived import options_of

    check_writable("--picture", picture)
    options = options_of(judges, scorer, truth, cut, rows, columns, header, people)
    found = readings(files, mapping, options, read_as, yes=yes)
    if show_mapping:
        print_mappings(found)
        return
    if (picture or as_json) and len(found.read) > 1:
        raise ConfigError(
            f"--{'picture' if picture else 'json'} is of one audit, and the files hold "
            f"{len(found.read)}.",
            "Choose one with --scorer.",
        )
    for note in () if as_json else found.notes:
        console.print(note, markup=False)
    shown = Shown(
        picture, everything=everything, as_json=as_json, notes=(*found.notes, *found.columns)
    )
    too_few = [_audit(one, shown) for one in found.read]
    if (message := " ".join(filter(None, too_few))) and not allow_unreadable:
        raise TooFewReadableError(
            f"The page is written. {message}",
            "Mend the file or its mapping, or add --allow-unreadable.",
        )


@dataclass(frozen=True)
class Shown:
    """How an audit is shown."""

    picture: Path | None
    everything: bool
    as_json: bool
    notes: Sequence[str]
    """How the files were read."""


def _audit(reading: "MappedFiles", shown: Shown) -> str:
    """Audit one reading; returns which judges have too few readable answers, "" without any."""
    from deployments.cli.results import print_json, show_everything, show_headlines
    from judge_gym.analysis.recorded import audited
    from judge_gym.report.page import save_report
    from judge_gym.report.recorded import audit_report, save_picture
    from judge_gym.seeds import digest
    from judge_gym.settings import settings

    recorded = reading.recorded
    found = audited(reading.files, recorded, reading.rubric)
    report = audit_report(found, recorded, mapped=reading.mapped)
    places = []
    if picture := shown.picture:
        if report.audit is None or report.audit.plot is None:
            raise ConfigError(
                "There is no picture: no judge of pairs has a known answer and a readable one.",
                remedy="Leave out --picture, or name the column of the known answer as item.truth.",
            )
        save_picture(report.audit.plot, recorded, picture)
        places = [("Picture", str(picture.resolve()))]
    # Audits of several files, or with other known answers, have one name and are kept apart.
    read = sorted({one.window.key for one in found.experiments.values()})
    kind = f"audit-{digest(recorded.model_dump(mode='json'), read)[:6]}"
    file = save_report(report, settings().reports_dir, kind)
    stored = f"{command()} data import-verdicts, with the same files and options"
    places += [("Report", str(file.resolve())), ("Store it", stored)]
    if shown.as_json:
        print_json(report, file, everything=True, notes=shown.notes)
    elif shown.everything:
        show_everything(report, places)
    else:
        show_headlines(report, places)
    return found.too_few.message if found.too_few else ""
