"""The estimators that the self-test runs on drawn data, by the names of their figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from judge_gym.metrics.accuracy import (
    cohens_kappa,
    control_error,
    control_rank_correlation,
    share_correct,
    subset_accuracy,
)
from judge_gym.metrics.agreement import gwet_ac, krippendorff_alpha
from judge_gym.metrics.belief import (
    belief_distance,
    combination_record,
    conflict,
    self_conflict,
    stage_support,
    uncertainty_gap,
)
from judge_gym.metrics.cells import scores
from judge_gym.metrics.components import variance_components
from judge_gym.metrics.consistency import replicate_icc, replicate_variance
from judge_gym.metrics.decomposition import (
    ITEM,
    JUDGE,
    RUBRIC,
    complete_block,
    crossed_cells,
    polarization_parts,
)
from judge_gym.metrics.entrenchment import calibration, entrenchment
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.masses import cell_masses
from judge_gym.metrics.polarization import Divergence, measure_polarization
from judge_gym.metrics.power_study_truths import DrawnData, true_stages
from judge_gym.metrics.presentation import label_bias, position_bias
from judge_gym.metrics.regression import least_squares
from judge_gym.metrics.subsets import subset_information, subset_width
from judge_gym.metrics.swap import Arm, swap_sensitivity, verdict_change, verdict_shift

PERMUTATIONS = 199

Run = Callable[[DrawnData, np.random.Generator], Sequence[Estimate]]


@dataclass(frozen=True)
class Family:
    """Figures that one estimator gives together, in the order of `names`."""

    names: tuple[str, ...]
    run: Run

    def measure(self, data: DrawnData, rng: np.random.Generator) -> dict[str, Estimate]:
        """Return each figure by its name here."""
        found = zip(self.names, self.run(data, rng), strict=True)
        return {name: replace(estimate, metric=name) for name, estimate in found}


def _polarization(
    divergence: Divergence, data: DrawnData, rng: np.random.Generator
) -> Sequence[Estimate]:
    found = measure_polarization(data.own, rng, divergence=divergence, permutations=PERMUTATIONS)
    return found.estimate, found.excess


def _entrenchment(data: DrawnData, rng: np.random.Generator) -> Sequence[Estimate]:
    # Its floor is not read here, so a few permutations do.
    return (entrenchment(data.own, data.own_probes, rng, permutations=9),)


def _calibration(data: DrawnData, rng: np.random.Generator) -> Sequence[Estimate]:
    found = calibration(data.own, data.own_probes)
    return found.overconfidence, found.brier


def _beliefs(data: DrawnData, rng: np.random.Generator) -> Sequence[Estimate]:
    cells = cell_masses(data.own)
    second = stage_support(cells)[1]
    return (
        conflict(cells).overall,
        self_conflict(cells),
        belief_distance(cells).overall,
        uncertainty_gap(cells),
        second.belief,
        second.betp,
        second.plausibility,
    )


def _combinations(data: DrawnData, rng: np.random.Generator) -> Sequence[Estimate]:
    return combination_record(cell_masses(data.own))[:2]


def _swaps(data: DrawnData, rng: np.random.Generator) -> Sequence[Estimate]:
    return (
        swap_sensitivity(data.own_probes, data.swap_probes, rng),
        swap_sensitivity(data.own_probes, data.sham_probes, rng, Arm.SHAM),
        verdict_shift(data.own, data.swap, rng),
        verdict_change(data.own, data.swap, rng, permutations=PERMUTATIONS),
    )


def _biases(data: DrawnData, rng: np.random.Generator) -> Sequence[Estimate]:
    return tuple(bias(data.displays, rng, PERMUTATIONS) for bias in (position_bias, label_bias))


def _consistency(data: DrawnData, rng: np.random.Generator) -> Sequence[Estimate]:
    return replicate_variance(data.own), replicate_icc(data.own.of_judges([0]), rng)


def _accuracy(data: DrawnData, rng: np.random.Generator) -> Sequence[Estimate]:
    truth = true_stages(data.reading, data.own.n_stages)
    return (
        share_correct(data.own, truth),
        cohens_kappa(data.own, truth, rng),
        *subset_accuracy(data.own, truth),
        control_error(data.own, data.reading),
        control_rank_correlation(data.own, data.reading),
    )


def _regression(data: DrawnData, rng: np.random.Generator) -> Sequence[Estimate]:
    """Second judge less first; and items of odd number less even, which makes no difference."""
    columns = (data.own.judge == 1, data.own.item % 2 == 1)
    return tuple(_coefficient(data, column.astype(np.float64)) for column in columns)


def _coefficient(data: DrawnData, column: np.ndarray) -> Estimate:
    design = np.column_stack([np.ones(len(column)), column])
    fitted = least_squares(["intercept", "effect"], design, scores(data.own), data.own.item)
    return fitted[1].estimate


def _parts(data: DrawnData, rng: np.random.Generator) -> Sequence[Estimate]:
    """Judges crossed with two rubrics, and one judge more that applied its own and one of these.

    That one judges as the first, but it does not cross with the others: the parts are to be those
    of the complete block.
    """
    extra = int(data.own.judge.max()) + 1
    own, swap = (verdicts.of_judges([0]) for verdicts in (data.own, data.swap))
    arms = [(data.own, None, 0), (data.swap, None, 1), (own, extra, 0), (swap, extra, 2)]
    judge = [one.judge if by is None else np.full(len(one), by) for one, by, _ in arms]
    cells = crossed_cells(
        (JUDGE, RUBRIC, ITEM),
        (
            np.concatenate(judge),
            np.concatenate([np.full(len(one), rubric) for one, _, rubric in arms]),
            np.concatenate([one.item for one, _, _ in arms]),
        ),
        np.concatenate([scores(one) for one, _, _ in arms]),
    )
    block = complete_block(cells)
    parts = polarization_parts(block.cells if block else cells)
    return parts["judges"], parts["rubrics"]


FAMILIES = (
    Family(
        ("polarization", "polarization_excess"), partial(_polarization, Divergence.JENSEN_SHANNON)
    ),
    Family(
        ("polarization_ordinal", "polarization_ordinal_excess"),
        partial(_polarization, Divergence.ORDINAL),
    ),
    Family(("entrenchment",), _entrenchment),
    Family(("overconfidence", "brier_score"), _calibration),
    Family(
        (
            "conflict",
            "self_conflict",
            "belief_distance",
            "uncertainty_gap",
            "belief",
            "betp",
            "plausibility",
        ),
        _beliefs,
    ),
    Family(("dempster_conflict", "total_conflict"), _combinations),
    Family(
        ("subset_width", "subset_information"),
        lambda data, rng: (subset_width(data.own), subset_information(data.own)),
    ),
    Family(
        ("krippendorff_alpha", "gwet_ac"),
        lambda data, rng: (krippendorff_alpha(data.own, rng), gwet_ac(data.own, rng)),
    ),
    Family(
        ("variance_item", "variance_judge", "variance_judge_item", "variance_replicate"),
        lambda data, rng: variance_components(data.own, rng),
    ),
    Family(("judges", "rubrics"), _parts),
    Family(("judge_difference", "concept_difference"), _regression),
    Family(
        ("swap_sensitivity", "sham_sensitivity", "swap_verdict_shift", "swap_verdict_change"),
        _swaps,
    ),
    Family(("position_bias", "label_bias"), _biases),
    Family(("replicate_variance", "replicate_icc"), _consistency),
    Family(
        (
            "accuracy",
            "cohens_kappa",
            "coverage",
            "accuracy_discounted",
            "accuracy_u65",
            "accuracy_u80",
            "control_error",
            "control_rank_correlation",
        ),
        _accuracy,
    ),
)
"""Estimators; the value each figure should find is in `power_study_planted`, by its name."""

MEASURES = {name: family for family in FAMILIES for name in family.names}
"""The family of each figure."""

NULLS = {
    "polarization": "polarization_excess",
    "polarization_excess": "polarization_excess",
    "polarization_ordinal": "polarization_excess",
    "polarization_ordinal_excess": "polarization_excess",
    "overconfidence": "overconfidence",
    "belief_distance": "belief_distance",
    "judge_difference": "judge_difference",
    "concept_difference": "concept_difference",
    "swap_sensitivity": "swap_sensitivity",
    "sham_sensitivity": "sham_sensitivity",
    "swap_verdict_shift": "swap_verdict_shift",
    "swap_verdict_change": "swap_verdict_shift",
    "position_bias": "position_bias",
    "label_bias": "label_bias",
}
"""Figures that are tested, each with the planted value that is 0 when its null hypothesis holds."""


def measure(name: str, data: DrawnData, rng: np.random.Generator) -> Estimate:
    """Return the estimate of one figure."""
    return MEASURES[name].measure(data, rng)[name]
