"""Tables of what another rubric, a free choice of stages, or one changed axis does."""

from judge_gym.metrics import decomposition
from judge_gym.metrics.accuracy import rank_correlation
from judge_gym.metrics.decomposition import polarization_parts
from judge_gym.metrics.inference import paired_contrast, paired_difference
from judge_gym.metrics.presentation import swap_sensitivity, verdict_change
from judge_gym.metrics.ranking import concept_correlations, pool_pairs, rank_levels
from judge_gym.metrics.regression import least_squares
from judge_gym.metrics.regression_checks import mixed_model, ordered_logit
from judge_gym.metrics.subsets import forced_choice
from judge_gym.report.spec import Cell, Spec

DESIGN = (
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
        formulas=(
            "mean over items of (mean x, or mean c, at the second level − at the first)",
            "p by flipping signs",
        ),
        estimators=(paired_contrast, paired_difference),
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
        formulas=(
            "Σ w·contrast / Σ w over settings, w = 1/(SE² + τ²), τ² the variance between settings",
        ),
        estimators=(pool_pairs,),
    ),
    Spec(
        "Which level gives the higher verdicts",
        "Share of controlled pairs in which a level's verdicts are the higher; 0.5 is neither.",
        (Cell("share", "axis_share_higher"), Cell("pairs", "axis_share_higher", "n")),
        brief=False,
        formulas=("(pairs won + half the ties) / pairs",),
        estimators=(rank_levels,),
    ),
    Spec(
        "Concepts compared",
        "Rank correlation of mean scores between two concepts, over what both were judged by.",
        (
            Cell("rho", "concept_rank_correlation"),
            Cell("experiments", "concept_rank_correlation", "items"),
        ),
        brief=False,
        formulas=("Spearman's ρ of mean x over the design points that both concepts have",),
        estimators=(
            concept_correlations,
            rank_correlation,
        ),
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
        formulas=(
            "x = β₀ + β(judge) + β(concept) + β(level of each axis) + error",
            "ecc: contested concepts alone, with the quality of the rubric as a term",
            "ablation: all tasks",
            "uncertainty_gap: |A|/S of subset verdicts (0 for one stage) in the place of x",
            "ordered logit: log odds of a higher stage; mixed model: items and owners random",
        ),
        estimators=(
            least_squares,
            ordered_logit,
            mixed_model,
        ),
    ),
)


RUBRICS = (
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
        formulas=(
            "mean over items of (mean c under the other rubric − mean c under the own)",
            "p by flipping signs",
        ),
        estimators=(swap_sensitivity, paired_contrast, paired_difference),
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
        formulas=(
            "mean over items of (mean x under the other rubric − mean x under the own)",
            "p by flipping signs",
        ),
        estimators=(paired_contrast, paired_difference),
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
        formulas=(
            "mean over items of |mean x under the other rubric − mean x under the own|",
            "floor = its mean when the samples of a cell are dealt to the two rubrics at random",
        ),
        estimators=(verdict_change,),
    ),
    Spec(
        "Judges or rubrics",
        "How much of the polarization comes from judges, from rubrics, and from a judge's own way "
        "of reading a rubric, in squared 0-1 scale and as a share; about the largest block of "
        "judges and rubrics in which every judge applied every rubric. A part that is estimated "
        "below 0 is shown as 0.",
        (
            Cell("part", "decomposition", digits=3),
            Cell("share", "decomposition_share"),
            Cell("items", "decomposition", "items"),
        ),
        formulas=(
            (
                "½·E(x − x′)² of two verdicts on one item, less replicate noise = "
                "judges + rubrics + both"
            ),
            "share = part / sum of the parts",
        ),
        estimators=(
            polarization_parts,
            decomposition.variance_components,
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
        formulas=(
            (
                "x = mean + judge + rubric + item + their interactions + replicate: "
                "the variance of each term, in squared 0-1 scale"
            ),
        ),
        estimators=(decomposition.variance_components,),
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
        formulas=(
            "drop = D(single) − D(subset)",
            "by chance = D(single) − D(single widened at random to the sizes of the subsets)",
            "beyond = drop − by chance; D = P of pᵢ (bits), or d²",
        ),
        estimators=(forced_choice,),
    ),
)
