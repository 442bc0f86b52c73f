"""Axes of sampling: what a request for a judgement or a probe sets beside its prompt."""

from dataclasses import dataclass

from judge_gym.design.experiment import Effort, Experiment

AXES = ("temperature", "top_p", "max_tokens", "reasoning_effort", "logprobs")


@dataclass(frozen=True)
class Sampling:
    temperature: float
    top_p: float
    max_tokens: int
    reasoning_effort: Effort | None = None
    """None: the model's own default."""
    logprobs: bool = False
    """Judgements alone ask for them: a probe has no letter."""


def resolve(experiment: Experiment) -> Sampling:
    effort = experiment.reasoning_effort
    return Sampling(
        experiment.temperature,
        experiment.top_p,
        experiment.max_tokens,
        None if effort == "default" else effort,
        experiment.logprobs,
    )
