"""Axis `actors`: whose names the evidence shows."""

from judge_gym.design.actors import Actors
from judge_gym.design.experiment import Experiment

AXES = ("actors",)


def resolve(experiment: Experiment) -> Actors:
    return experiment.actors
