"""The task of the prune flow."""

import asyncio
from datetime import UTC, datetime, timedelta

from prefect import task

from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="prune-records", **WRITING)
async def prune_records(older_than_days: int, *, dry_run: bool) -> str:
    """Empty the prompts of old, finished work, or only count them; returns what in words."""
    from judge_gym.lab.retention import prune

    before = datetime.now(UTC) - timedelta(days=older_than_days)
    async with runtime() as current:
        return str(await asyncio.to_thread(prune, current.engine, before, dry_run=dry_run))
