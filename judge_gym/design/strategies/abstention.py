"""Axis `abstain`: whether the judge is offered to decline."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment


@dataclass(frozen=True)
class Abstention:
    offered: bool


def resolve(experiment: Experiment) -> Abstention:
    return Abstention(offered=experiment.abstain)
