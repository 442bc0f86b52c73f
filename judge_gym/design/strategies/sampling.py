"""Axes `temperature`, `top_p` and `max_tokens`: what is sent with every judgement and probe."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment


@dataclass(frozen=True)
class Sampling:
    temperature: float
    top_p: float
    max_tokens: int


def resolve(experiment: Experiment) -> Sampling:
    return Sampling(experiment.temperature, experiment.top_p, experiment.max_tokens)
