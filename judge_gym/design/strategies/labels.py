"""Axis `randomize_labels`: the letter of each stage in a sample."""

from dataclasses import dataclass
from string import ascii_uppercase

from judge_gym.design.experiment import Experiment
from judge_gym.seeds import generator

AXES = ("randomize_labels",)


@dataclass(frozen=True)
class Labels:
    randomize: bool
    stages: int

    def assign(self, seed: int) -> tuple[str, ...]:
        """Return the letters of stages 1, 2, …, shuffled by the sample's seed."""
        letters = list(ascii_uppercase[: self.stages])
        if self.randomize:
            generator("labels", seed).shuffle(letters)
        return tuple(letters)


def resolve(experiment: Experiment) -> Labels:
    return Labels(experiment.randomize_labels, experiment.scale_size)
