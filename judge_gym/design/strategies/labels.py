"""Axis `randomize_labels`: which letter each stage carries in a sample."""

from dataclasses import dataclass
from string import ascii_uppercase

from judge_gym.design.experiment import Experiment
from judge_gym.seeds import generator


@dataclass(frozen=True)
class Labels:
    randomize: bool
    stages: int

    def assign(self, seed: int) -> tuple[str, ...]:
        """Return the letter of stage 1, 2, …, drawn from the sample's seed when randomised."""
        letters = list(ascii_uppercase[: self.stages])
        if self.randomize:
            generator("labels", seed).shuffle(letters)
        return tuple(letters)


def resolve(experiment: Experiment) -> Labels:
    return Labels(experiment.randomize_labels, experiment.scale_size)
