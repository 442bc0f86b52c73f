"""Axis `shuffle_order`: the order of the stages in a sample."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment
from judge_gym.seeds import generator

AXES = ("shuffle_order",)


@dataclass(frozen=True)
class Display:
    shuffle: bool
    stages: int

    def order(self, seed: int) -> tuple[int, ...]:
        """Return the stages (1-based) in order of display, shuffled by the sample's seed."""
        order = list(range(1, self.stages + 1))
        if self.shuffle:
            generator("display", seed).shuffle(order)
        return tuple(order)


def resolve(experiment: Experiment) -> Display:
    return Display(experiment.shuffle_order, experiment.scale_size)
