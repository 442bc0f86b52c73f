"""The task that takes in what batches have brought; sending them is part of asking."""

from prefect import task

from judge_gym.asking import batching
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="collect-batches", task_run_name="take in batches that have ended", **WRITING)
async def collect_batches() -> list[str]:
    """Take in every batch that has ended; returns why providers could not be asked."""
    async with runtime() as current:
        return await batching.collect(current)
