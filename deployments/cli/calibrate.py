"""`judge-gym calibrate`: what a judge can and cannot tell apart, before it is trusted."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.options import PlanOnly, RetryFailed
from deployments.cli.output import (
    console,
    in_options,
    marked,
    say_simulated,
    show_checks,
    show_table,
)
from judge_gym.counting import counted
from judge_gym.errors import StoreError

if TYPE_CHECKING:
    from judge_gym.calibration.design import CalibrationDesign
    from judge_gym.judges import Item, Judge
    from judge_gym.report.calibration import CalibrationReport


def calibrate(
    file: Annotated[Path, typer.Argument(help="The calibration file (YAML).", show_default=False)],
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
) -> None:
    """Judge texts, and the same texts changed in known ways; write a page on what that shows.

    Stopped, it goes on with the same command: what is judged is not asked again.
    """
    from judge_gym.calibration.design import load_calibration
    from judge_gym.judges.calibrating.judging import load_judges, load_originals

    # A mistake in a file is said before any server is started.
    design = load_calibration(file)
    judges = load_judges(design)
    originals = load_originals(design, judges)
    console.print(originals.said(judges[0], file), markup=False, soft_wrap=True)
    if plan:
        _plan(design, judges, originals.texts)
        return
    _run(file, design, judges, retry_failed=retry_failed)


def _plan(
    design: "CalibrationDesign", judges: "Sequence[Judge]", originals: "Sequence[Item]"
) -> None:
    from deployments.cli.database import database
    from deployments.cli.estimates import show_judging, show_perturbing
    from judge_gym.judges.calibrating.judging import Asked
    from judge_gym.judges.calibrating.perturbing import expected
    from judge_gym.judges.calibrating.texts import changed_texts, rewritings

    wanted = rewritings(originals, design)
    with database() as session:
        texts = changed_texts(originals, design, expected(session, wanted))
    rows = [
        (
            one.name,
            design.made_by(one) or "rules",
            design.expectation(one),
            ", ".join(f"{severity:g}" for severity in design.severities_of(one)),
            str(sum(len(texts.changed[one.name, s]) for s in design.severities_of(one))),
            str(texts.not_applicable[one.name]),
        )
        for one in design.chosen
    ]
    show_table(
        f"Calibration {design.name}: {counted(len(texts.originals), 'text')}",
        ("change", "made by", "expected", "severities", "texts to judge", "nothing to change in"),
        rows,
    )
    if design.perturber and wanted:
        show_perturbing(design.perturber, wanted)
    show_judging(
        f"What it will use, {counted(len(texts.items), 'text')}, "
        f"{counted(design.repeats, 'time')} each",
        [Asked(judge, texts.items, design.repeats) for judge in judges],
    )


def _run(
    file: Path, design: "CalibrationDesign", judges: "Sequence[Judge]", *, retry_failed: bool
) -> None:
    import asyncio

    from deployments.cli.environment import prepare_environment
    from deployments.cli.prefect_api import prefect_api
    from deployments.cli.running import lost_servers_named, result_of, simulator_for
    from judge_gym.settings import settings

    asked = [judge.answered_by for judge in judges]
    asked += [design.perturber.model] if design.perturber else []
    prepare_environment(settings().data_dir, verbose=False)
    with (
        simulator_for(asked),
        prefect_api("flows.calibration"),
        lost_servers_named(),
    ):
        from flows.calibration import calibration
        from flows.endings import PartialFailure
        from flows.judged_items import PartlyJudgedError

        made: Any = calibration(file, retry_failed=retry_failed, return_state=True)
        state = asyncio.run(made)
        # What was judged is shown before the error of a run that did not do all of it.
        with suppress(PartlyJudgedError, PartialFailure):
            result_of(state)
        try:
            asyncio.run(_show(design))
        except StoreError:
            result_of(state)  # that nothing was judged follows from what failed
            raise
        result_of(state)


async def _show(design: "CalibrationDesign") -> None:
    from judge_gym.calibration.checks import span
    from judge_gym.formats import dollars
    from judge_gym.judges.calibrating.reporting import read_report, reports_folder
    from judge_gym.report.calibration import page_path
    from judge_gym.runtime import runtime

    async with runtime() as current:
        report = read_report(current, design)
        page = page_path(design, reports_folder(current))
    for one in report.assessments:
        name = f"{one.judge.name}, {one.judge.answered_by}"
        show_checks(marked(name, simulated=one.simulated), one.checks)
    if report.together:
        show_checks("Between the judges", report.together)
    if report.policies:
        show_table(
            "When to ask a second judge",
            ("who is asked", "right", "less than the best of these", "cost a text, USD"),
            [
                (one.name, span(one.accuracy), span(one.loss), dollars(one.cost.estimate))
                for one in report.policies
            ],
        )
        console.print(f"{report.asking}\n", markup=False)
    if report.warning:
        console.print(f"Note: {report.warning}", markup=False)
    _show_verdicts(report)
    if report.gap:
        console.print(report.gap, markup=False)
    if report.simulated:
        say_simulated()
    console.print(f"The page: {page.resolve()}", markup=False, soft_wrap=True)


def _show_verdicts(report: "CalibrationReport") -> None:
    """Print what to do with each judge, and why: first of the judge to use, then of the others."""
    show_table(
        "Which judge to use",
        ("judge", "answered by", "verdict", "judgements", "with a score"),
        [
            (
                marked(one.judge.name, simulated=one.simulated),
                one.judge.answered_by,
                one.decision.verdict.words,
                one.statuses.total(),
                one.statuses["scored"],
            )
            for one in report.assessments
        ],
    )
    console.print(in_options(report.why), markup=False, soft_wrap=True)
    for one in report.assessments:
        if one.decision.why not in report.why:
            console.print(in_options(one.decision.why), markup=False, soft_wrap=True)
