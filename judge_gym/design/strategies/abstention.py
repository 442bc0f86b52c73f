"""Axis `abstain`: whether the judge may abstain."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment

AXES = ("abstain",)


@dataclass(frozen=True)
class Abstention:
    offered: bool


def resolve(experiment: Experiment) -> Abstention:
    return Abstention(offered=experiment.abstain)
