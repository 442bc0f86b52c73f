"""Axis `probe_window`: whether the probe is a new conversation or continues the scoring."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment

AXES = ("probe_window",)


@dataclass(frozen=True)
class Probing:
    continues_conversation: bool


def resolve(experiment: Experiment) -> Probing:
    return Probing(continues_conversation=experiment.probe_window == "same")
