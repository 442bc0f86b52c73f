"""Axis `randomize_labels`: the letter of each stage in a sample."""

from dataclasses import dataclass
from string import ascii_uppercase

from judge_gym.design.experiment import Experiment
from judge_gym.seeds import generator

AXES = ("randomize_labels",)


@dataclass(frozen=True)
class LabelDisplay:
    randomize: bool
    stages: int
    pairs: bool = False
    """Whether the stages are the two answers of a pair, lettered A and B, and the tie."""

    def assign(self, seed: int) -> tuple[str, ...]:
        """Return the letters of stages 1, 2, …, shuffled by the sample's seed."""
        if self.pairs:
            first, *last = self._of_pair(seed)
            return (first, *ascii_uppercase[2 : self.stages], *last)
        letters = list(ascii_uppercase[: self.stages])
        if self.randomize:
            generator("labels", seed).shuffle(letters)
        return tuple(letters)

    def _of_pair(self, seed: int) -> list[str]:
        letters = ["A", "B"]
        if self.randomize:
            generator("labels", seed).shuffle(letters)
        return letters


def resolve(experiment: Experiment) -> LabelDisplay:
    pairs = experiment.task_type == "pairs"
    return LabelDisplay(experiment.randomize_labels, experiment.scale_size, pairs)
