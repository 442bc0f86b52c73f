"""Axis `wording`: the paraphrase of the judging prompt."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment

AXES = ("wording",)


@dataclass(frozen=True)
class Wording:
    name: str


def resolve(experiment: Experiment) -> Wording:
    return Wording(experiment.wording)
