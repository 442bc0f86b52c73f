"""Which tables there are: their order, words and columns, as data. `tables` fills them."""

from dataclasses import dataclass
from typing import Literal

Part = Literal["figure", "floor", "p", "adjusted", "items", "n"]


@dataclass(frozen=True)
class Cell:
    """A column: one part of one metric's figure."""

    heading: str
    metric: str
    part: Part = "figure"
    digits: int = 2


@dataclass(frozen=True)
class Spec:
    """A table. `across` compares judges: figures under own rubrics get a table of their own.

    `beside` names a part of the scope that figures may lack and still stand in a line: a sham
    has no rival. With `drop_zero`, a column that is zero throughout becomes a note. A table that
    is not `brief` stands on the page alone, not in the terminal.
    """

    title: str
    explanation: str
    cells: tuple[Cell, ...]
    across: bool = False
    beside: str = ""
    drop_zero: bool = False
    brief: bool = True

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of the table, each once."""
        return tuple(dict.fromkeys(cell.metric for cell in self.cells))


MIXED = "_mixed"
MIXED_TITLE = "own rubrics (mixes rubric and judgement)"
MIXED_NOTE = (
    "Each judge has a rubric of its own here, so a difference is of rubric and judgement at once."
)

_FLOOR = (
    "The floor is what judges without any difference would show at this number of verdicts: "
    "read the excess above it. Intervals are 95% over items."
)

SPECS = (
    Spec(
        "Polarization",
        f"How far judge families stand apart on the same items, in bits from 0 to 1. {_FLOOR}",
        (
            Cell("P", "polarization"),
            Cell("floor P0", "polarization", "floor"),
            Cell("P - P0", "polarization_excess"),
            Cell("p", "polarization", "p"),
            Cell("items", "polarization", "items"),
            Cell("verdicts", "polarization", "n"),
        ),
        across=True,
    ),
    Spec(
        "Polarization by distance",
        "The same by how many stages apart the verdicts are, as a share of the scale's length: "
        "near stages count less.",
        (
            Cell("P", "polarization_ordinal"),
            Cell("floor P0", "polarization_ordinal", "floor"),
            Cell("P - P0", "polarization_ordinal_excess"),
            Cell("p", "polarization_ordinal", "p"),
            Cell("items", "polarization_ordinal", "items"),
            Cell("verdicts", "polarization_ordinal", "n"),
        ),
        across=True,
    ),
    Spec(
        "Polarization by pair",
        "Which two families stand apart, in bits from 0 to 1; each pair has a floor of its own, "
        "and p is corrected for the number of pairs (Holm).",
        (
            Cell("P", "polarization_pair"),
            Cell("floor P0", "polarization_pair", "floor"),
            Cell("p (Holm)", "polarization_pair", "adjusted"),
            Cell("items", "polarization_pair", "items"),
            Cell("verdicts", "polarization_pair", "n"),
        ),
        across=True,
        brief=False,
    ),
    Spec(
        "Entrenchment",
        "Polarization times the judges' mean stated confidence, in bits: high when judges "
        "disagree and are sure. The floor is the same product with P0.",
        (
            Cell("E", "entrenchment"),
            Cell("floor", "entrenchment", "floor"),
            Cell("items", "entrenchment", "items"),
            Cell("verdicts", "entrenchment", "n"),
        ),
        across=True,
    ),
    Spec(
        "Agreement beyond chance",
        "1 is perfect agreement between judges, 0 what chance gives: Krippendorff's alpha counts "
        "near stages as less of a disagreement, Gwet's AC holds up where one stage is rare.",
        (
            Cell("alpha", "krippendorff_alpha_ordinal"),
            Cell("AC", "gwet_ac_nominal"),
            Cell("items", "krippendorff_alpha_ordinal", "items"),
        ),
        across=True,
    ),
    Spec(
        "Conflict and distance",
        "Conflict is the chance that the verdicts of two judges exclude each other; it is above 0 "
        "for two copies of an unsteady judge, so read it beside self-conflict. Distance compares "
        "whole sets and is 0 on average for equal judges.",
        (
            Cell("conflict k", "conflict"),
            Cell("distance d²", "belief_distance"),
            Cell("items", "conflict", "items"),
            Cell("verdicts", "conflict", "n"),
        ),
        across=True,
    ),
    Spec(
        "Conflict and distance by pair",
        "The same for two judges at a time.",
        (
            Cell("conflict k", "conflict_pair"),
            Cell("distance d²", "belief_distance_pair"),
            Cell("items", "conflict_pair", "items"),
        ),
        across=True,
        brief=False,
    ),
    Spec(
        "Combined by the classical rules",
        "For the record: the conflict of all judges at once, and the share of items on which it is "
        "total, so that Dempster's rule gives nothing.",
        (
            Cell("conflict", "dempster_conflict"),
            Cell("total", "total_conflict"),
            Cell("items", "dempster_conflict", "items"),
        ),
        across=True,
        brief=False,
    ),
    Spec(
        "Uncertainty after combining",
        "Uncertainty gap of the judges' verdicts combined by each rule, from 0 (certain) to 1.",
        (Cell("gap", "combined_gap"), Cell("items", "combined_gap", "items")),
        across=True,
        brief=False,
    ),
    Spec(
        "Variance of the scores",
        "Where verdicts on the 0-1 scale differ: between items, between judges, between judges "
        "from item to item, or between replicates.",
        (
            Cell("item", "variance_item", digits=3),
            Cell("judge", "variance_judge", digits=3),
            Cell("judge x item", "variance_judge_item", digits=3),
            Cell("replicate", "variance_replicate", digits=3),
            Cell("items", "variance_item", "items"),
        ),
        across=True,
        brief=False,
    ),
    Spec(
        "Confidence and overconfidence",
        "Confidence is the share of experts a judge expects to choose its verdict, from 0 to 1; "
        "overconfidence is that less the share of the other judges who did (above 0: too sure); "
        "the Brier score is the squared error of it (lower is better).",
        (
            Cell("confidence", "confidence"),
            Cell("overconfidence", "overconfidence"),
            Cell("Brier", "brier_score"),
            Cell("items", "confidence", "items"),
        ),
        across=True,
    ),
    Spec(
        "Swap sensitivity",
        "Change of a judge's confidence (a probability) under a rival's rubric, beside the change "
        "under a second rubric of its own (sham): a swap says something where it goes beyond the "
        "sham. Below 0: less sure.",
        (
            Cell("rival's rubric", "swap_sensitivity"),
            Cell("p (Holm)", "swap_sensitivity", "adjusted"),
            Cell("sham", "sham_sensitivity"),
            Cell("p (Holm)", "sham_sensitivity", "adjusted"),
            Cell("items", "swap_sensitivity", "items"),
        ),
        beside="rival",
    ),
    Spec(
        "Verdict move under a swap",
        "How far the verdict moves up or down the 0-1 scale under a rival's rubric, beside the "
        "sham.",
        (
            Cell("rival's rubric", "swap_verdict_shift"),
            Cell("p (Holm)", "swap_verdict_shift", "adjusted"),
            Cell("sham", "sham_verdict_shift"),
            Cell("p (Holm)", "sham_verdict_shift", "adjusted"),
            Cell("items", "swap_verdict_shift", "items"),
        ),
        beside="rival",
    ),
    Spec(
        "Verdict change under a swap",
        "The size of that move whatever its direction, on the 0-1 scale; noise alone gives a "
        "size, so read it against its floor.",
        (
            Cell("rival's rubric", "swap_verdict_change"),
            Cell("floor", "swap_verdict_change", "floor"),
            Cell("p (Holm)", "swap_verdict_change", "adjusted"),
            Cell("sham", "sham_verdict_change"),
            Cell("floor", "sham_verdict_change", "floor"),
            Cell("p (Holm)", "sham_verdict_change", "adjusted"),
        ),
        beside="rival",
        brief=False,
    ),
    Spec(
        "Judges or rubrics",
        "How much of the polarization comes from judges, from rubrics, and from a judge's own way "
        "of reading a rubric, in squared 0-1 scale and as a share; about these judges and rubrics. "
        "An estimate of a small part can be below 0.",
        (
            Cell("part", "decomposition", digits=3),
            Cell("share", "decomposition_share"),
            Cell("items", "decomposition", "items"),
        ),
    ),
    Spec(
        "Variance components of the swap design",
        "What those parts are made of, in squared 0-1 scale.",
        (
            Cell("variance", "variance_component", digits=3),
            Cell("items", "variance_component", "items"),
        ),
        brief=False,
    ),
    Spec(
        "Forced choice",
        "What letting judges name several stages takes off the distance between them: in all, what "
        "widening at random would take off, and what is left. Above 0: doubt that a forced choice "
        "had turned into disagreement.",
        (
            Cell("P: drop", "forced_choice_polarization_drop"),
            Cell("by chance", "forced_choice_polarization_drop", "floor"),
            Cell("beyond", "forced_choice_polarization"),
            Cell("d²: drop", "forced_choice_distance_drop"),
            Cell("by chance", "forced_choice_distance_drop", "floor"),
            Cell("beyond", "forced_choice_distance"),
            Cell("items", "forced_choice_polarization", "items"),
        ),
    ),
    Spec(
        "Abstention and other outcomes",
        "Abstained: share of the judgements made. Unparseable, refused and failed: shares of all "
        "samples, never counted as scores.",
        (
            Cell("abstained", "abstention_rate"),
            Cell("unparseable", "unparseable_rate"),
            Cell("refused", "refused_rate"),
            Cell("failed", "failed_rate"),
            Cell("samples", "failed_rate", "n"),
        ),
        drop_zero=True,
    ),
    Spec(
        "Consistency",
        "Whether a judge repeats itself on the same item: the variance of its replicates on the "
        "0-1 scale (lower is steadier), the share of variance that tells items apart (ICC, up to "
        "1), and how much a probe asked twice differs (a probability).",
        (
            Cell("variance", "replicate_variance", digits=3),
            Cell("ICC", "replicate_icc"),
            Cell("probe twice", "probe_difference"),
            Cell("items", "replicate_variance", "items"),
        ),
    ),
    Spec(
        "Accuracy",
        "Verdicts against what is known: the share at the true stage, and Cohen's kappa, which "
        "is 0 for guessing. Error and rank correlation are against the index of a control: mean "
        "distance on the 0-1 scale, and Spearman's rho over items.",
        (
            Cell("correct", "accuracy"),
            Cell("kappa", "cohens_kappa"),
            Cell("error", "control_error"),
            Cell("rank corr.", "control_rank_correlation"),
            Cell("items", "accuracy", "items"),
        ),
    ),
    Spec(
        "Accuracy on pairs",
        "Pairs judged in both orders: a right verdict counts 1, a wrong one -1, a tie or none 0, "
        "and a pair is got right when the sum is above 0. Beside it the share of pairs whose "
        "verdict changes with the order.",
        (
            Cell("correct", "accuracy_both_orders"),
            Cell("order decides", "order_inconsistency"),
            Cell("pairs", "accuracy_both_orders", "items"),
        ),
    ),
    Spec(
        "Accuracy of subsets",
        "Coverage is the share of subset verdicts that hold the true stage (wide sets cover for "
        "free); 1/size, u65 and u80 reward narrow ones, and reach 1 for a right single stage.",
        (
            Cell("coverage", "coverage"),
            Cell("1/size", "accuracy_discounted"),
            Cell("u65", "accuracy_u65"),
            Cell("u80", "accuracy_u80"),
            Cell("items", "coverage", "items"),
        ),
    ),
    Spec(
        "Subset width",
        "How much of the scale a judge leaves open when it may name several stages: 0 names one, "
        "1 names all; counted in stages, and in bits.",
        (
            Cell("of the stages", "subset_width"),
            Cell("of the bits", "subset_information"),
            Cell("items", "subset_width", "items"),
            Cell("verdicts", "subset_width", "n"),
        ),
    ),
    Spec(
        "Self-conflict and uncertainty",
        "Self-conflict is the chance that two verdicts of a judge on one item exclude each other; "
        "the gap is what its sets leave between what is certain and what is possible.",
        (
            Cell("self-conflict", "self_conflict"),
            Cell("uncertainty gap", "uncertainty_gap"),
            Cell("items", "self_conflict", "items"),
        ),
        brief=False,
    ),
    Spec(
        "Support of each stage",
        "On average over items: what is certain for a stage (Bel), bet on it (BetP) and open to it "
        "(Pl), each a probability.",
        (
            Cell("Bel", "belief"),
            Cell("BetP", "betp"),
            Cell("Pl", "plausibility"),
            Cell("items", "belief", "items"),
        ),
        brief=False,
    ),
    Spec(
        "Position and label bias",
        "Excess share of verdicts for the stage shown first, and for the one lettered A; 0 is "
        "none. Known only where the display varies between replicates.",
        (
            Cell("shown first", "position_bias"),
            Cell("p", "position_bias", "p"),
            Cell("lettered A", "label_bias"),
            Cell("p", "label_bias", "p"),
            Cell("items", "position_bias", "items"),
        ),
    ),
    Spec(
        "Contrasts",
        "The same judge on the same items with one axis changed: change of the verdict on the 0-1 "
        "scale, and of confidence (a probability). p is corrected over the contrasts of an axis "
        "(Benjamini-Hochberg).",
        (
            Cell("verdict", "contrast"),
            Cell("p (BH)", "contrast", "adjusted"),
            Cell("confidence", "contrast_confidence"),
            Cell("p (BH)", "contrast_confidence", "adjusted"),
            Cell("items", "contrast", "items"),
        ),
    ),
    Spec(
        "Axes over the grid",
        "What changing one axis does wherever it was changed alone: mean change of the verdict on "
        "the 0-1 scale and of confidence, over settings.",
        (
            Cell("verdict", "axis_effect"),
            Cell("confidence", "axis_effect_confidence"),
            Cell("items", "axis_effect", "items"),
        ),
    ),
    Spec(
        "Which level gives the higher verdicts",
        "Share of controlled pairs in which a level's verdicts are the higher; 0.5 is neither.",
        (Cell("share", "axis_share_higher"), Cell("pairs", "axis_share_higher", "n")),
        brief=False,
    ),
    Spec(
        "Concepts compared",
        "Rank correlation of mean scores between two concepts, over what both were judged by.",
        (
            Cell("rho", "concept_rank_correlation"),
            Cell("experiments", "concept_rank_correlation", "items"),
        ),
        brief=False,
    ),
    Spec(
        "Regression",
        "Score on the 0-1 scale (or uncertainty gap) by judge, concept and axis; errors clustered "
        "by item (CR2, Satterthwaite), p by Benjamini-Hochberg. The checks ask whether it hangs on "
        "the model: log odds of a higher stage, and random items.",
        (
            Cell("coefficient", "regression"),
            Cell("p (BH)", "regression", "adjusted"),
            Cell("ordered logit", "regression_ordered_logit"),
            Cell("mixed model", "regression_mixed_model"),
            Cell("items", "regression", "items"),
        ),
    ),
)
