"""Axis `rubric`: whose rubric the judge applies in its own arm."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import Rubric

AXES = ("rubric",)


@dataclass(frozen=True)
class Rubrics:
    owner: str
    """The model that writes the rubric; empty if it is provided."""
    provided: Rubric | None


def resolve(experiment: Experiment) -> Rubrics:
    source = experiment.rubric
    owner = {"own": experiment.model, "shared": source.model, "provided": ""}[source.kind]
    return Rubrics(owner=owner, provided=source.rubric)
