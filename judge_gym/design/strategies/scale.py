"""Axis `scale_size`: number of stages, letters and middle stage."""

from dataclasses import dataclass
from string import ascii_uppercase

from judge_gym.design.experiment import Experiment

AXES = ("scale_size",)


@dataclass(frozen=True)
class StageScale:
    """`letters` are the labels of the stages, in alphabetical order."""

    stages: int
    letters: tuple[str, ...]
    midpoint: int | None
    """The middle stage (1-based) of an odd scale."""


def resolve(experiment: Experiment) -> StageScale:
    return scale_of(experiment.scale_size)


def scale_of(stages: int) -> StageScale:
    """Return the scale with this number of stages."""
    return StageScale(
        stages=stages,
        letters=tuple(ascii_uppercase[:stages]),
        midpoint=(stages + 1) // 2 if stages % 2 else None,
    )
