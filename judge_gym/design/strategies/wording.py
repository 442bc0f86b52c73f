"""Axis `wording`: the paraphrase of the judging prompt."""

from dataclasses import dataclass

from judge_gym.design.experiment import STANDARD_WORDING, Experiment

AXES = ("wording",)


@dataclass(frozen=True)
class Wording:
    template: str
    """The template of the judging prompt."""


def resolve(experiment: Experiment) -> Wording:
    if experiment.task_type == "pairs":
        return Wording("score_pair")
    is_standard = experiment.wording == STANDARD_WORDING
    return Wording("score" if is_standard else f"wording_{experiment.wording}")
