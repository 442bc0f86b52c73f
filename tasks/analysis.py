"""The analysis flow's tasks."""

import asyncio

from prefect import task

from judge_gym.analysis.running import analyse
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="analyse-sweep", task_run_name="analyse {sweep}", **WRITING)
async def analyse_sweep(sweep: str) -> int:
    """Compute and store every figure of a sweep; returns the id of the analysis run."""
    async with runtime() as current:
        return await asyncio.to_thread(analyse, current.engine, sweep)
