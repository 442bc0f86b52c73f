"""A judge of judge-gym as the scorer of an Inspect eval: inspect eval inspect_scorer.py."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import generate

from judge_gym.integrations.inspect import judge_scorer


@task  # type: ignore[untyped-decorator, unused-ignore]
def notes() -> Task:
    samples = [Sample(input="Write a note on the price of bread.")]
    scorer = judge_scorer("deployments/judges/notes.yaml")
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=scorer)
