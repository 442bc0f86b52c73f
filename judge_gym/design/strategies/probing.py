"""Axis `probe_window`: whether confidence is asked afresh or in the scoring conversation."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment


@dataclass(frozen=True)
class Probing:
    continues_conversation: bool


def resolve(experiment: Experiment) -> Probing:
    return Probing(continues_conversation=experiment.probe_window == "same")
