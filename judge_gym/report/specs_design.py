"""Tables of the design space: contrasts, axes, concepts, regressions."""

from judge_gym.metrics.accuracy import rank_correlation
from judge_gym.metrics.inference import paired_contrast, paired_difference
from judge_gym.metrics.ranking import concept_correlations, pool_pairs, rank_levels
from judge_gym.metrics.regression import least_squares
from judge_gym.metrics.regression_checks import mixed_model, ordered_logit
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
