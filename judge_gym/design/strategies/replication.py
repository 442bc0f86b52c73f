"""Axis `replicates`: how often each item is judged under one rubric."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment


@dataclass(frozen=True)
class Replication:
    replicates: int


def resolve(experiment: Experiment) -> Replication:
    return Replication(experiment.replicates)
