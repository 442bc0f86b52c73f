"""`judge-gym judge calibrate` and `judge benchmark`: how far a judge can be trusted."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.options import AsJson, Everything, PlanOnly, RetryFailed
from deployments.cli.study import StudyCommand
from deployments.cli.thresholds import ByVerdict, FailUnder, least_of_study


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
    from judge_gym.studies import calibrate as studies

    # Errors in files are raised before a server is started.
    study = studies.calibrate(file)
    least = least_of_study(fail_under, study)
    files = [file] * len(study.judges)
    options = StudyCommand(
        files, plan, retry_failed, as_json, thresholds=least, everything=everything
    )
    ended = options.run_by_flow(study, "calibration", {"file": file, "retry_failed": retry_failed})
    if ended:
        ended.exit(by_verdict=by_verdict)


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
    `--fail-under` takes accuracy of known pairs, and agreement (concordance) of known scores.
    """
    from judge_gym.studies import benchmark as studies

    # Errors in files are raised before a server is started.
    study = studies.benchmark(judges, items, mapping, limit)
    least = least_of_study(fail_under, study)
    options = StudyCommand(judges, plan, retry_failed, as_json, thresholds=least)
    parameters = {"judges": judges, "items": items, "mapping": mapping, "limit": limit}
    ended = options.run_by_flow(study, "benchmark", parameters | {"retry_failed": retry_failed})
    if ended:
        ended.exit(by_verdict=by_verdict)
