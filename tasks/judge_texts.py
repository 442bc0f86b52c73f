"""The task of calibrations and benchmarks: a chunk of texts, or pairs of them, judged."""

from collections import Counter

from prefect import task

from judge_gym.judges import Item, Judge
from judge_gym.judges.judging import judge_items
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="judge-texts", **WRITING)
async def judge_texts(
    units: list[Item], judge: Judge, repeats: int, occasion: str = ""
) -> dict[str, int]:
    """Judge these texts; returns counts of judgements by status."""
    async with runtime() as current:
        results = await judge_items(current, judge, units, repeats=repeats, occasion=occasion)
    return dict(Counter(result.status for result in results))
