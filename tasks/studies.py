"""The task of rolling studies: the drift page, and what it says in Prefect's page."""

import asyncio
from pathlib import Path

from prefect import task
from prefect.artifacts import acreate_markdown_artifact

from judge_gym.analysis.drift import StudyDrift, drift_of
from judge_gym.counting import counted
from judge_gym.design.study_file import StudyFile, load_study
from judge_gym.report.drift import anchors_said, conclusion
from judge_gym.report.table import escaped
from judge_gym.runtime import Runtime
from tasks.analysis import where_the_report_is
from tasks.artifacts import artifact_key
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="write-drift", task_run_name="drift page of {file.name}", **WRITING)
async def report_drift(file: Path) -> Path:
    """Write the drift page of a study from its points, and show what it says; returns its path."""
    async with runtime() as current:
        study = load_study(file)
        drift, page = await asyncio.to_thread(_write, current, study)
        where = where_the_report_is(page, current.settings.reports_url)
    anchors = "".join(f"{escaped(said)}\n\n" for said in anchors_said(drift))
    mark = "**SIMULATED.** " if drift.simulated else ""
    await acreate_markdown_artifact(
        f"{mark}{escaped(conclusion(drift))}\n\n{anchors}{where}",
        artifact_key("drift", study.name),
        f"Drift of {study.name}: {counted(len(drift.points), 'point')}",
    )
    return page


def _write(runtime: Runtime, study: StudyFile) -> tuple[StudyDrift, Path]:
    # What draws the plots takes seconds to import.
    from judge_gym.report.drift import save_drift

    with runtime.session() as session:
        drift = drift_of(session, study)
    return drift, save_drift(drift, runtime.settings.reports_dir).resolve()
