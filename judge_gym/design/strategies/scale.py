"""Axis `scale_size`: how many stages, which letters, and whether there is a middle stage."""

from dataclasses import dataclass
from string import ascii_uppercase

from judge_gym.design.experiment import Experiment


@dataclass(frozen=True)
class Scale:
    """`letters` are the labels offered, in alphabetical order, one a stage."""

    stages: int
    letters: tuple[str, ...]
    midpoint: int | None
    """The middle stage (1-based) of an odd scale."""


def resolve(experiment: Experiment) -> Scale:
    return scale_of(experiment.scale_size)


def scale_of(stages: int) -> Scale:
    """Return the scale of that many stages; a rubric is written for a scale, not an experiment."""
    return Scale(
        stages=stages,
        letters=tuple(ascii_uppercase[:stages]),
        midpoint=(stages + 1) // 2 if stages % 2 else None,
    )
