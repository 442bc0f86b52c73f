"""`judge-gym audit`: recorded judgements of others in, one page out, without a database."""

from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from deployments.cli.options import AllowUnreadable, AsJson, RecordedFiles, RecordedMapping
from deployments.cli.output import command, console
from judge_gym.errors import ConfigError

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
    files: RecordedFiles,
    mapping: RecordedMapping,
    picture: Picture = None,
    allow_unreadable: AllowUnreadable = False,
    keys: Keys = False,
    as_json: AsJson = False,
) -> None:
    """Audit judgements recorded elsewhere: one page, no key, no database.

    Prints accuracy, preference for place and length, independent votes and what depends on the
    wording. For scores, a mapping has the keys name, concept, source, scale, judge_column, item
    and verdicts; deployments/recorded/scores is an example.
    """
    from deployments.cli.results import print_json, show_headlines
    from judge_gym.analysis.recorded import audited
    from judge_gym.answers.readability import TooFewReadableError
    from judge_gym.recorded.mapping import load_recorded
    from judge_gym.recorded.reading import recorded_files
    from judge_gym.report.page import save_report
    from judge_gym.report.recorded import audit_report, save_picture
    from judge_gym.settings import settings

    recorded, rubric = load_recorded(mapping)
    found = audited(recorded_files(files, recorded), recorded, rubric)
    report = audit_report(found, recorded)
    places = []
    if picture:
        if report.audit is None or report.audit.plot is None:
            raise ConfigError(
                "There is no picture: no judge of pairs has a known answer and a readable one.",
                remedy="Leave out --picture, or name the column of the known answer as item.truth.",
            )
        save_picture(report.audit.plot, recorded, picture)
        places = [("Picture", str(picture.resolve()))]
    file = save_report(report, settings().reports_dir, "audit")
    stored = f"{command()} data import-verdicts, with the same files and mapping"
    if as_json:
        print_json(report, file, everything=True)
    else:
        show_headlines(report, [*places, ("Report", str(file.resolve())), ("Store it", stored)])
    if found.too_few and not allow_unreadable:
        raise TooFewReadableError(
            f"The page is written. {found.too_few.message}",
            "Mend the file or its mapping, or add --allow-unreadable.",
        )
