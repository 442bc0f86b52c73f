"""Axis `replicates`: the number of judgements per item and rubric."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment

AXES = ("replicates",)


@dataclass(frozen=True)
class Replication:
    replicates: int


def resolve(experiment: Experiment) -> Replication:
    return Replication(experiment.replicates)
