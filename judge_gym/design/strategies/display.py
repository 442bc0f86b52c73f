"""Axis `shuffle_order`: the order of the stages in a sample."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment
from judge_gym.seeds import generator

AXES = ("shuffle_order",)


@dataclass(frozen=True)
class Display:
    shuffle: bool
    stages: int
    pairs: bool = False
    """Whether the stages are the two answers of a pair, and the tie."""

    def order(self, seed: int, *, turned: bool = False) -> tuple[int, ...]:
        """Return the stages (1-based) in order of display, shuffled by the sample's seed.

        A pair is `turned` round in every other replicate, so that two have both orders. A tie is
        listed last.
        """
        if self.pairs:
            answers = (self.stages, 1) if self.shuffle and turned else (1, self.stages)
            return (*answers, *range(2, self.stages))
        order = list(range(1, self.stages + 1))
        if self.shuffle:
            generator("display", seed).shuffle(order)
        return tuple(order)


def resolve(experiment: Experiment) -> Display:
    pairs = experiment.task_type == "pairs"
    return Display(experiment.shuffle_order, experiment.scale_size, pairs)
