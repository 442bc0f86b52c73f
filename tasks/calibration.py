"""The calibration flow's own task."""

import asyncio
from pathlib import Path

from prefect import task

from judge_gym.calibration.design import load_calibration
from judge_gym.judges.calibrating.reporting import write_calibration
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="write-calibration", task_run_name="report on {file.name}", **WRITING)
async def report_calibration(file: Path) -> Path:
    """Write the page, the tables and the logbook entry of what is judged; returns the page."""
    async with runtime() as current:
        return await asyncio.to_thread(write_calibration, current, load_calibration(file))
