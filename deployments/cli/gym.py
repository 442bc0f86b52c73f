"""`judge-gym judge gym`: compare pipeline steps with a judge."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.options import AsJson, PlanOnly, RetryFailed
from deployments.cli.study import StudyCommand


def gym(
    file: Annotated[Path, typer.Argument(help="The gym's file (YAML).", show_default=False)],
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
    as_json: AsJson = False,
) -> None:
    """Compare candidates for one step of a pipeline with a judge.

    Every candidate works on every case, and a judge scores the results. Writes a page. Rerun the
    command to resume; stored results are reused.
    """
    from judge_gym.gyms.evaluating import read_gym
    from judge_gym.studies import gym as studies

    # Errors in files are raised before a server is started.
    loaded = read_gym(file)
    study = studies.gym(loaded)
    options = StudyCommand([loaded.gym.judge], plan, retry_failed, as_json)
    if ended := options.run_by_flow(study, "gym", {"file": file, "retry_failed": retry_failed}):
        ended.exit()
