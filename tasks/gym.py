"""The tasks of gyms: a candidate's share of the cases, and the page."""

import asyncio
from pathlib import Path

from prefect import task

from judge_gym.gyms.evaluating import ask, read_gym
from judge_gym.report.gym import write_gym
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="make-candidates", **WRITING)
async def make_candidates(
    units: list[str], file: Path, candidate: str, retry_failed: bool
) -> dict[str, int]:
    """Have models do what a candidate needs for these cases; returns counts by status."""
    async with runtime() as current:
        return await ask(current, read_gym(file), candidate, units, retry_failed=retry_failed)


@task(name="write-gym", task_run_name="report on {file.name}", **WRITING)
async def report_gym(file: Path) -> Path:
    """Write the page and the tables of what is made and judged; returns the page."""
    async with runtime() as current:
        return await asyncio.to_thread(write_gym, current, read_gym(file))
