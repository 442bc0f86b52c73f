"""Axis `prompt_order`: whether the rubric or the evidence comes first."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment

AXES = ("prompt_order",)


@dataclass(frozen=True)
class Order:
    rubric_first: bool


def resolve(experiment: Experiment) -> Order:
    return Order(rubric_first=experiment.prompt_order == "rubric_first")
