"""`judge-gym judge compare` and `judge review`: a judge in use beside its alternatives."""

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from deployments.cli.options import (
    AsJson,
    Fields,
    LabelFields,
    Labels,
    PlanOnly,
    Repeats,
    RetryFailed,
    Yes,
    fields_of,
    label_fields_of,
)
from deployments.cli.output import (
    console,
    errors,
)
from deployments.cli.study import StudyCommand
from deployments.cli.thresholds import (
    ByVerdict,
    FailUnder,
    least_of_study,
)
from judge_gym.counting import counted
from judge_gym.errors import ConfigError

if TYPE_CHECKING:
    from judge_gym.judges.reviewing.cases import LoadedReview


def compare(
    old: Annotated[Path, typer.Argument(help="The judge file in use.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="The judge file to replace it.", show_default=False)],
    items: Annotated[
        Path,
        typer.Option(
            "--items",
            "--corpus",
            help="Items for both to judge (CSV, Excel, JSON, JSONL).",
            show_default=False,
        ),
    ],
    repeats: Repeats = 1,
    bias: Annotated[
        float, typer.Option(help="Points of 100 by which the mean may move.", min=0.1, max=100)
    ] = 5.0,
    limits: Annotated[
        float, typer.Option(help="Points within which 95% of items must lie.", min=0.1, max=100)
    ] = 20.0,
    shown: Annotated[int, typer.Option(help="Items shown, the furthest apart first.", min=0)] = 5,
    retry_failed: RetryFailed = False,
    fields: Fields = None,
    labels: Labels = None,
    label_fields: LabelFields = None,
    fail_under: FailUnder = None,
    by_verdict: ByVerdict = False,
    as_json: AsJson = False,
    plan: PlanOnly = False,
    yes: Yes = False,
) -> None:
    """Test whether a new judge can replace an old one.

    Judges the same items with both and tests bias and limits of agreement, not a correlation.
    Stored judgements are reused. At a terminal it asks before it makes calls to a real model.
    `--fail-under` takes agreement and accuracy of the new judge, against the labels.
    """
    from judge_gym.calibration.checks import Margins
    from judge_gym.studies import compare as studies

    columns = fields_of(items, fields), label_fields_of(labels, label_fields)
    margins = Margins(replacement_bias=bias, replacement_limits=limits)
    study = studies.compare(old, new, items, repeats, margins, labels, *columns, shown=shown)
    least = least_of_study(fail_under, study)
    command = StudyCommand([old, new], plan, retry_failed, as_json, yes, thresholds=least)
    if ended := command.run(study):
        ended.exit(by_verdict=by_verdict)


def review(
    file: Annotated[Path, typer.Argument(help="The review file (YAML).", show_default=False)],
    day: Annotated[
        datetime | None,
        typer.Option(
            "--date",
            formats=["%Y-%m-%d"],
            help="The day of the review; stored results of the same day are reused.",
            show_default="today, in the time zone of the file",
        ),
    ] = None,
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
    by_verdict: ByVerdict = False,
    as_json: AsJson = False,
) -> None:
    """Review judges in use against their alternatives.

    Judges the items anew and recommends which judges to keep. Changes nothing. Rerun the command
    with the same date to resume. `--exit-code` exits with 1 if a judge is to be reconsidered, and
    with 3 if the data cannot tell whether it may be used, or there are too few texts to tell who
    moved.
    """
    from datetime import UTC

    from judge_gym.design.window_files import day_of
    from judge_gym.judges.reviewing.cases import load_review
    from judge_gym.judges.reviewing.findings import drift_caution
    from judge_gym.studies import review as studies

    # Errors in files are raised before a server is started.
    loaded = load_review(file)
    of = day.date() if day else day_of(datetime.now(UTC), loaded.file.time_zone)
    study = studies.review(loaded, of)
    if plan:
        for caution in drift_caution(loaded.cases, loaded.file.margins):
            errors.warn(caution, soft_wrap=True)
    elif reused := _reused(loaded, of):
        console.plain(reused)
    options = StudyCommand([file] * len(study.judges), plan, retry_failed, as_json)
    parameters = {"file": file, "day": of, "retry_failed": retry_failed}
    if ended := options.run_by_flow(study, "judge_review", parameters):
        ended.exit(by_verdict=by_verdict)


def _reused(loaded: "LoadedReview", of: date) -> str:
    """Return how many judgements of the day an earlier run stored; empty without one."""
    from deployments.cli.environment import database
    from judge_gym.judges.judging import judgements_made

    with database() as session:
        counts = [
            judgements_made(session, one.judge, one.items, one.repeats, one.review_day)
            for one in loaded.asked(of)
        ]
    stored, wanted = map(sum, zip(*counts, strict=True))
    if not stored:
        return ""
    return (
        f"{stored} of {counted(wanted, 'judgement')} of {of} are stored by an earlier run and "
        "reused. For new answers, name another day with --date."
    )


def _decide_gate(
    file: Path, name: str, decision: Literal["keep", "reconsider"], by: str, reason: str
) -> None:
    from deployments.cli.environment import database
    from judge_gym.judges.files import load_judge
    from judge_gym.judges.gate import save_gate_decision
    from judge_gym.judges.gate_texts import load_gate

    judge = load_judge(file)
    if judge.name != name:
        raise ConfigError(f"{file} is of judge {judge.name!r}, not {name!r}.", "Name it.")
    with database() as session:
        where = {"flow_run": "terminal"}
        kept = save_gate_decision(session, load_gate(judge), decision, by, reason, **where)
    stored = {"keep": "later answers are compared with these", "reconsider": "stored"}[decision]
    console.plain(f"{decision} {name}, on the texts judged again {kept}: {stored}.")


def decide(
    file: Annotated[
        Path, typer.Argument(help="The review file, or the judge's (YAML).", show_default=False)
    ],
    judge: Annotated[str, typer.Argument(help="The judge in use.", show_default=False)],
    decision: Annotated[
        Literal["keep", "reconsider"], typer.Argument(help="What you decide.", show_default=False)
    ],
    by: Annotated[str, typer.Option(metavar="NAME", help="Who decides.", show_default=False)],
    reason: Annotated[str, typer.Option(help="Why.", show_default=False)] = "",
    day: Annotated[
        datetime | None,
        typer.Option(
            "--date",
            formats=["%Y-%m-%d"],
            help="The day of the review.",
            show_default="today, in the time zone of the file",
        ),
    ] = None,
) -> None:
    """Record what a person decides about a judge after a review, or after its gate.

    The decision stands on the review's page, with the name. Judge files are not changed. After a
    gate, FILE is the judge's own, and later answers are compared with the newest ones.
    """
    from datetime import UTC

    from deployments.cli.environment import database
    from judge_gym.calibration.review_file import load_review_file
    from judge_gym.design.window_files import day_of
    from judge_gym.judges.files import is_judge_file
    from judge_gym.judges.reviewing.findings import save_decision
    from judge_gym.report.judge_review import review_report
    from judge_gym.settings import settings

    if not by.strip():
        raise ConfigError("--by is empty.", "Name who decides.")
    if is_judge_file(file):
        if day:
            raise ConfigError("--date is of reviews.", "A gate's newest answers are kept.")
        _decide_gate(file, judge, decision, by, reason)
        return
    loaded, _ = load_review_file(file)
    of = day.date() if day else day_of(datetime.now(UTC), loaded.time_zone)
    with database() as session:
        where = {"flow_run": "terminal"}
        rows = save_decision(session, loaded.name, of, judge, decision, by, reason, **where)
        page = review_report(loaded.name, of, rows).save(settings().reports_dir).path
    console.plain(f"Page: {page}")
