"""The estimators that self-test and power study run, by name, on drawn data."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from judge_gym.metrics.accuracy import share_correct
from judge_gym.metrics.cells import scores
from judge_gym.metrics.consistency import replicate_icc, replicate_variance
from judge_gym.metrics.decomposition import (
    ITEM,
    JUDGE,
    RUBRIC,
    crossed_cells,
    polarization_parts,
)
from judge_gym.metrics.entrenchment import calibration, entrenchment
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.polarization import measure_polarization
from judge_gym.metrics.power_study_truths import DrawnData
from judge_gym.metrics.presentation import label_bias, position_bias
from judge_gym.metrics.regression import least_squares
from judge_gym.metrics.subsets import subset_width
from judge_gym.metrics.swap import Arm, swap_sensitivity, verdict_shift

PERMUTATIONS = 199

Measure = Callable[[DrawnData, np.random.Generator], Estimate]


def _polarization(data: DrawnData, rng: np.random.Generator) -> Estimate:
    return measure_polarization(data.own, rng, permutations=PERMUTATIONS).estimate


def _polarization_excess(data: DrawnData, rng: np.random.Generator) -> Estimate:
    return measure_polarization(data.own, rng, permutations=PERMUTATIONS).excess


def _entrenchment(data: DrawnData, rng: np.random.Generator) -> Estimate:
    # Its floor is not read here, so a few permutations do.
    return entrenchment(data.own, data.own_probes, rng, permutations=9)


def _judge_difference(data: DrawnData, rng: np.random.Generator) -> Estimate:
    """Second judge less first, by the regression."""
    return _coefficient(data, (data.own.judge == 1).astype(np.float64))


def _concept_difference(data: DrawnData, rng: np.random.Generator) -> Estimate:
    """Items of odd number less those of even: a concept that makes no difference."""
    return _coefficient(data, (data.own.item % 2).astype(np.float64))


def _coefficient(data: DrawnData, column: np.ndarray) -> Estimate:
    design = np.column_stack([np.ones(len(column)), column])
    fitted = least_squares(["intercept", "effect"], design, scores(data.own), data.own.item)
    return fitted[1].estimate


def _replicate_icc(data: DrawnData, rng: np.random.Generator) -> Estimate:
    return replicate_icc(data.own.of_judges([0]), rng)


def _accuracy(data: DrawnData, rng: np.random.Generator) -> Estimate:
    stage = 1 + np.floor(data.reading * data.own.n_stages).astype(np.int64)
    return share_correct(data.own, np.minimum(stage, data.own.n_stages))


def _part(name: str) -> Measure:
    def measure(data: DrawnData, rng: np.random.Generator) -> Estimate:
        n = len(data.own)
        cells = crossed_cells(
            (JUDGE, RUBRIC, ITEM),
            (
                np.concatenate([data.own.judge, data.swap.judge]),
                np.repeat([0, 1], n),
                np.concatenate([data.own.item, data.swap.item]),
            ),
            np.concatenate([scores(data.own), scores(data.swap)]),
        )
        return polarization_parts(cells)[name]

    return measure


MEASURES: dict[str, Measure] = {
    "polarization": _polarization,
    "polarization_excess": _polarization_excess,
    "entrenchment": _entrenchment,
    "judge_difference": _judge_difference,
    "concept_difference": _concept_difference,
    "judges": _part("judges"),
    "rubrics": _part("rubrics"),
    "subset_width": lambda data, rng: subset_width(data.own),
    "overconfidence": lambda data, rng: calibration(data.own, data.own_probes).overconfidence,
    "swap_sensitivity": lambda data, rng: swap_sensitivity(data.own_probes, data.swap_probes, rng),
    "sham_sensitivity": lambda data, rng: swap_sensitivity(
        data.own_probes, data.sham_probes, rng, Arm.SHAM
    ),
    "swap_verdict_shift": lambda data, rng: verdict_shift(data.own, data.swap, rng),
    "position_bias": lambda data, rng: position_bias(data.displays, rng, PERMUTATIONS),
    "label_bias": lambda data, rng: label_bias(data.displays, rng, PERMUTATIONS),
    "replicate_variance": lambda data, rng: replicate_variance(data.own),
    "replicate_icc": _replicate_icc,
    "accuracy": _accuracy,
}
"""Estimators by the name of their planted value in `power_study_planted`."""


def measure(name: str, data: DrawnData, rng: np.random.Generator) -> Estimate:
    """Return the estimate of one measure, under the measure's name."""
    return replace(MEASURES[name](data, rng), metric=name)
