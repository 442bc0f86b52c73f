"""Axis `probe_window`: whether the probe is a new conversation or continues the scoring."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment

AXES = ("probe_window",)


@dataclass(frozen=True)
class Probing:
    continues_conversation: bool
    template: str
    """The template of the probe."""


def resolve(experiment: Experiment) -> Probing:
    template = "probe_same" if experiment.probe_window == "same" else "probe"
    return Probing(
        continues_conversation=experiment.probe_window == "same",
        template=f"{template}_pair" if experiment.task_type == "pairs" else template,
    )
