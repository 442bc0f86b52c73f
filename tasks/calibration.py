"""The calibration flow's tasks."""

import asyncio
from collections import Counter
from pathlib import Path

from prefect import task

from judge_gym.calibration.design import load_calibration
from judge_gym.judges import Item, Judge
from judge_gym.judges.judging import judge_items
from judge_gym.workflows.calibrating.reporting import write_calibration
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="judge-texts", **WRITING)
async def judge_texts(units: list[Item], judge: Judge, repeats: int) -> dict[str, int]:
    """Judge these texts; returns counts of judgements by status."""
    async with runtime() as current:
        results = await judge_items(current, judge, units, repeats=repeats)
    return dict(Counter(result.status for result in results))


@task(name="write-calibration", task_run_name="report on {file.name}", **WRITING)
async def report_calibration(file: Path) -> Path:
    """Write the page, the tables and the logbook entry of what is judged; returns the page."""
    async with runtime() as current:
        return await asyncio.to_thread(write_calibration, current, load_calibration(file))
