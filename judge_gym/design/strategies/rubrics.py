"""Axes `rubric` and `rubric_draw`: whose rubric the judge applies in its own arm, and which."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import Rubric

AXES = ("rubric", "rubric_draw")


@dataclass(frozen=True)
class Rubrics:
    owner: str
    """The model that writes the rubric; empty if it is provided."""
    provided: Rubric | None
    draw: int
    """Which of the rubrics that the owner writes from the same prompt; 0 is the first."""


def resolve(experiment: Experiment) -> Rubrics:
    source = experiment.rubric
    owner = {"own": experiment.model, "shared": source.model, "provided": ""}[source.kind]
    return Rubrics(owner=owner, provided=source.rubric, draw=experiment.rubric_draw)
