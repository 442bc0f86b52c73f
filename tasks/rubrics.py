"""W2's tasks."""

from collections import Counter

from prefect import task

from judge_gym.asking.engine import all_of
from judge_gym.lab import rubrics
from judge_gym.questions.rubricer import RubricRequest
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="write-rubrics", **WRITING)
async def write_rubrics(units: list[RubricRequest], critic_model: str) -> dict[str, int]:
    """Have these rubrics written and rated; returns counts by status."""
    async with runtime() as current:
        writing = (rubrics.write_rubric(current, request, critic_model) for request in units)
        return dict(Counter(await all_of(writing)))
