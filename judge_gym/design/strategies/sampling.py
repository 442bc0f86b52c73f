"""Axes `temperature`, `top_p` and `max_tokens`: sampling of judgements and probes."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment

AXES = ("temperature", "top_p", "max_tokens")


@dataclass(frozen=True)
class Sampling:
    temperature: float
    top_p: float
    max_tokens: int


def resolve(experiment: Experiment) -> Sampling:
    return Sampling(experiment.temperature, experiment.top_p, experiment.max_tokens)
