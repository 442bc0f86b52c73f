"""Figures that a sweep has none of: a row each, so that what is missing is said and not guessed."""

from collections.abc import Iterator, Sequence

from judge_gym.analysis.data import Origin
from judge_gym.analysis.groups import MIXED, result_row
from judge_gym.metrics.estimate import not_estimable
from judge_gym.store.results import ResultRow

NEEDS = {
    "an experiment": (
        *("polarization", "polarization_excess"),
        *("polarization_ordinal", "polarization_ordinal_excess"),
        *("entrenchment", "overconfidence", "brier_score", "confidence"),
        *("conflict", "belief_distance", "self_conflict"),
        *("dempster_conflict", "total_conflict", "combined_gap"),
        *("krippendorff_alpha_ordinal", "gwet_ac_nominal"),
        *("variance_item", "variance_judge", "variance_judge_item", "variance_replicate"),
        *("abstention_rate", "unparseable_rate", "refused_rate", "failed_rate"),
        *("replicate_variance", "replicate_icc", "probe_difference"),
        *("position_bias", "label_bias"),
    ),
    "verdicts of two judge families on the same items": ("polarization_pair",),
    "verdicts of two judges on the same items": ("conflict_pair", "belief_distance_pair"),
    "single verdicts of two judges": ("conflict_polarization_correlation",),
    "a judge that applied a rival's rubric": (
        *("swap_sensitivity", "swap_verdict_shift", "swap_verdict_change"),
        *("decomposition", "decomposition_share", "variance_component"),
    ),
    "a judge that applied a second rubric of its own": (
        *("sham_sensitivity", "sham_verdict_shift", "sham_verdict_change"),
    ),
    "the same judges with single and with subset verdicts under a common rubric": (
        *("forced_choice_polarization", "forced_choice_polarization_drop"),
        *("forced_choice_distance", "forced_choice_distance_drop"),
    ),
    "single verdicts on items whose known answer is a stage of the rubric": (
        *("accuracy", "cohens_kappa"),
    ),
    "a control with an index for its items": ("control_error", "control_rank_correlation"),
    "a benchmark of pairs judged in both orders": (
        *("accuracy_both_orders", "pair_balance", "order_inconsistency"),
    ),
    "subset verdicts on items whose known answer is a stage of the rubric": (
        *("coverage", "accuracy_discounted", "accuracy_u65", "accuracy_u80"),
    ),
    "verdicts that may name several stages": (
        *("subset_width", "subset_information", "uncertainty_gap"),
        *("belief", "betp", "plausibility"),
    ),
    "two experiments of a judge that differ in one axis alone": (
        *("contrast", "contrast_confidence"),
        *("axis_effect", "axis_effect_confidence", "axis_share_higher"),
    ),
    "two concepts": ("concept_rank_correlation",),
    "a scored verdict": ("regression", "regression_ordered_logit", "regression_mixed_model"),
}
"""What a sweep must hold for there to be a row of these metrics."""


def absences(rows: Sequence[ResultRow], origin: Origin) -> Iterator[ResultRow]:
    """Yield a row about the whole sweep for every metric that has none, saying what it needs."""
    present = {row.metric.removesuffix(MIXED) for row in rows}
    for needs, metrics in NEEDS.items():
        for metric in metrics:
            if metric not in present:
                yield result_row(not_estimable(metric, f"it needs {needs}"), {}, origin)
