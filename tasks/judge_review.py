"""The judge review flow's own task."""

import asyncio
from datetime import date
from pathlib import Path

from prefect import task
from prefect.artifacts import acreate_markdown_artifact

from judge_gym.judges.reviewing.cases import load_review
from judge_gym.judges.reviewing.writing import write_review
from tasks.artifacts import artifact_key
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="write-judge-review", task_run_name="judge review of {day}", **WRITING)
async def report_review(file: Path, day: date) -> Path:
    """Write the rows and the page of what is judged, and show the page; returns its path."""
    async with runtime() as current:
        review = await asyncio.to_thread(load_review, file)
        page = await asyncio.to_thread(write_review, current, review, day)
    await acreate_markdown_artifact(
        page.read_text(encoding="utf-8"),
        artifact_key("judge-review", review.file.name),
        f"Judges in use on {day}: keep or reconsider. A person decides.",
    )
    return page
