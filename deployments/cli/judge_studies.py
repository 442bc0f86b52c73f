"""`judge-gym judge calibrate` and `judge benchmark`: how far a judge can be trusted."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.options import AsJson, Everything, PlanOnly, RetryFailed
from deployments.cli.output import (
    console,
    marked,
    say_simulated,
    show_checks,
    show_table,
)
from deployments.cli.parts_done import report_calibration
from deployments.cli.study import StudyCommand
from deployments.cli.thresholds import (
    ByVerdict,
    FailUnder,
    exit_by_verdicts,
    held,
    least_of,
    verdicts_json,
)
from judge_gym.counting import counted
from judge_gym.errors import JudgeGymError

if TYPE_CHECKING:
    from judge_gym.calibration.design import CalibrationDesign
    from judge_gym.judges import Item, Judge
    from judge_gym.judges.calibrating.estimating import CalibrationFindings


def calibrate(
    file: Annotated[Path, typer.Argument(help="The calibration file (YAML).", show_default=False)],
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
    fail_under: FailUnder = None,
    by_verdict: ByVerdict = False,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """Measure what a judge detects in texts changed in known ways.

    Writes a page. Rerun the command to resume; stored judgements are reused. `--fail-under` takes
    readable and agreement.
    """
    from deployments.cli.answerers import check_functions
    from judge_gym.calibration.design import load_calibration
    from judge_gym.judges.calibrating.judging import load_judges, load_originals

    least = least_of(fail_under, ("readable", "agreement"))
    # Errors in files are raised before a server is started.
    design = load_calibration(file)
    judges = load_judges(design)
    originals = load_originals(design, judges)
    console.plain(originals.said(judges[0], file))
    check_functions((judge, file) for judge in judges)
    if plan:
        _plan_calibration(design, judges, originals.texts)
        return
    report_calibration(design, judges, originals)
    findings, error = _run_calibration(
        file, design, judges, retry_failed=retry_failed, everything=everything
    )
    assessments = findings.assessments
    figures = {
        one.judge.name: {check.name: check.estimate for check in one.checks} for one in assessments
    }
    thresholds = held(figures, least)
    decisions = [one.decision for one in assessments]
    if as_json:
        checks = [one.checks for one in assessments]
        judges = [one.judge for one in assessments]
        verdicts_json(judges, decisions, checks, thresholds, why=findings.why)
    if error:
        raise error
    exit_by_verdicts(decisions, thresholds, by_verdict=by_verdict)


def _plan_calibration(
    design: "CalibrationDesign", judges: "Sequence[Judge]", originals: "Sequence[Item]"
) -> None:
    from deployments.cli.environment import database
    from deployments.cli.estimates import show_judging, show_perturbing
    from deployments.cli.judge import expected_critics
    from judge_gym.judges.calibrating.judging import Asked
    from judge_gym.judges.calibrating.perturbing import expected
    from judge_gym.judges.calibrating.texts import changed_texts, rewritings

    to_rewrite = rewritings(originals, design)
    with database() as session:
        texts = changed_texts(originals, design, expected(session, to_rewrite))
    rows = [
        (
            change.name,
            design.made_by(change) or "rules",
            design.expectation(change),
            ", ".join(f"{severity:g}" for severity in design.severities_of(change)),
            str(sum(len(texts.changed[change.name, s]) for s in design.severities_of(change))),
            str(texts.not_applicable[change.name]),
        )
        for change in design.chosen
    ]
    show_table(
        f"Calibration {design.name}: {counted(len(texts.originals), 'text')}",
        ("change", "made by", "expected", "severities", "texts to judge", "not applicable"),
        rows,
    )
    if design.perturber and to_rewrite:
        show_perturbing(design.perturber, to_rewrite)
    show_judging(
        f"Estimate, {counted(len(texts.items), 'text')}, {counted(design.repeats, 'time')} each",
        [Asked(judge, texts.items, design.repeats) for judge in judges]
        + expected_critics(judges, texts.items, design.repeats),
    )


def _run_calibration(
    file: Path,
    design: "CalibrationDesign",
    judges: "Sequence[Judge]",
    *,
    retry_failed: bool,
    everything: bool,
) -> "tuple[CalibrationFindings, JudgeGymError | None]":
    """Run it and show what it found; returns that, with the error of a run that did not succeed."""
    import asyncio

    from deployments.cli.environment import prepare_environment, run_flow, simulator_for

    models = [model for judge in judges for model in judge.answerers]
    models += [judge.reason_critic.model for judge in judges if judge.reason_critic]
    models += [design.perturber.model] if design.perturber else []
    prepare_environment()
    shown: list[CalibrationFindings] = []
    try:
        run_flow(
            "calibration",
            lambda: shown.append(asyncio.run(_show_calibration(design, everything=everything))),
            simulator_for(models),
            show_failed=True,
            file=file,
            retry_failed=retry_failed,
        )
    except JudgeGymError as error:
        if not shown:
            raise
        return shown[0], error
    return shown[0], None


async def _show_calibration(
    design: "CalibrationDesign", *, everything: bool
) -> "CalibrationFindings":
    from judge_gym.judges.calibrating.estimating import read_findings
    from judge_gym.report.calibration import gap, page_path, warning
    from judge_gym.runtime import runtime

    async with runtime() as current:
        findings = read_findings(current, design)
        page = page_path(design, current.settings.reports_dir)
    if everything:
        _show_all_checks(findings)
    _show_verdicts(findings)
    if findings.related:
        console.print(f"Note: {warning(findings)}", markup=False)
    if findings.missing:
        console.print(gap(findings), markup=False)
    if findings.simulated:
        say_simulated()
    if not everything:
        console.print("All checks: on the page, or rerun the command with --all.")
    console.plain(f"Page: {page.resolve()}")
    return findings


def _show_all_checks(findings: "CalibrationFindings") -> None:
    """Print every check of every judge, and of the judges beside each other."""
    from judge_gym.calibration.checks import span
    from judge_gym.formats import dollars
    from judge_gym.report.calibration import asking, contradictions_in_words

    for assessment in findings.assessments:
        name = f"{assessment.judge.name}, {assessment.answered}"
        show_checks(marked(name, simulated=assessment.simulated), assessment.checks)
        if assessment.contradictions or assessment.criticism:
            console.plain(
                "Reasons that contradict their score: "
                f"{contradictions_in_words(assessment)} The page shows them.\n"
            )
    if findings.together:
        show_checks("Between the judges", findings.together)
    if findings.policies:
        show_table(
            "When to ask a second judge",
            ("who is asked", "right", "less than the best of these", "USD per text"),
            [
                (
                    policy.name,
                    span(policy.accuracy),
                    span(policy.loss),
                    dollars(policy.cost.estimate),
                )
                for policy in findings.policies
            ],
        )
        console.print(f"{asking(findings)}\n", markup=False)


def _show_verdicts(findings: "CalibrationFindings") -> None:
    """Print the verdict on each judge and its reasons, the judge to use first."""
    from judge_gym.calibration.checks import Result

    show_table(
        "Which judge to use",
        ("judge", "answered by", "verdict", "pass", "fail", "open", "scored"),
        [
            (
                marked(assessment.judge.name, simulated=assessment.simulated),
                str(assessment.answered),
                assessment.decision.verdict.words,
                *(
                    sum(check.result is result for check in assessment.checks)
                    for result in (Result.PASSES, Result.FAILS, Result.INCONCLUSIVE)
                ),
                f"{assessment.statuses['scored']} of {assessment.statuses.total()}",
            )
            for assessment in findings.assessments
        ],
    )
    console.plain(findings.why)
    for assessment in findings.assessments:
        if assessment.decision.why not in findings.why:
            console.plain(assessment.decision.why)


def benchmark(
    judges: Annotated[
        list[Path], typer.Argument(help="Judge files (YAML), one or more.", show_default=False)
    ],
    items: Annotated[
        Path,
        typer.Option(help="The benchmark's file (CSV, Excel, JSON, JSONL).", show_default=False),
    ],
    mapping: Annotated[
        Path,
        typer.Option(
            help="The meaning of its columns (YAML), as in deployments/benchmarks.",
            show_default=False,
        ),
    ],
    limit: Annotated[
        int | None, typer.Option(help="Judge the first items only.", min=1, show_default="all")
    ] = None,
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
    fail_under: FailUnder = None,
    by_verdict: ByVerdict = False,
    as_json: AsJson = False,
) -> None:
    """Measure the accuracy of judges on a benchmark with known answers.

    Pairs are judged in both orders; a pair is right if both orders are right on balance. Rerun
    the command to resume; stored judgements are reused. Writes a page.
    `--fail-under` takes accuracy.
    """
    from judge_gym.studies import benchmark as studies

    least = least_of(fail_under, ("accuracy",))
    # Errors in files are raised before a server is started.
    study = studies.benchmark(judges, items, mapping, limit)
    options = StudyCommand(judges, plan, retry_failed, as_json, thresholds=least)
    parameters = {"judges": judges, "items": items, "mapping": mapping, "limit": limit}
    ended = options.run_by_flow(study, "benchmark", parameters | {"retry_failed": retry_failed})
    if ended:
        ended.exit(by_verdict=by_verdict)
