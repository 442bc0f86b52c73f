"""Axis `shuffle_order`: in which order the stages are listed in a sample."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment
from judge_gym.seeds import generator


@dataclass(frozen=True)
class Display:
    shuffle: bool
    stages: int

    def order(self, seed: int) -> tuple[int, ...]:
        """Return the stages (1-based) as listed, drawn from the sample's seed when shuffled."""
        order = list(range(1, self.stages + 1))
        if self.shuffle:
            generator("display", seed).shuffle(order)
        return tuple(order)


def resolve(experiment: Experiment) -> Display:
    return Display(experiment.shuffle_order, experiment.scale_size)
