"""Tables of what another rubric, a free choice of stages, or one changed axis does."""

from judge_gym.report.spec import (
    HENDERSON,
    NEEDS_CROSSED,
    NEEDS_SHARED_ITEM,
    NEEDS_UNITS,
    Cell,
    Spec,
)

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
        needs=(NEEDS_SHARED_ITEM,),
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
        sources=(
            (
                "Random effects between settings: τ² by DerSimonian and Laird 1986; "
                "interval of the mean by Hartung and Knapp 2001 with their variance "
                "never below the common one (Röver, Knapp and Friede 2015)."
            ),
        ),
    ),
    Spec(
        "Which level gives the higher verdicts",
        "Share of controlled pairs in which a level's verdicts are the higher; 0.5 is neither.",
        (Cell("share", "axis_share_higher"), Cell("pairs", "axis_share_higher", "n")),
        brief=False,
        formulas=("(pairs won + half the ties) / pairs",),
        needs=("Needs one pair with both figures.",),
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
        needs=(NEEDS_UNITS,),
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
            "contested concepts (ecc): those alone, with the quality of the rubric as a term",
            "all tasks (ablation): every task",
            "uncertainty_gap: |A|/S of subset verdicts (0 for one stage) in the place of x",
            "ordered logit: log odds of a higher stage; mixed model: items and owners random",
        ),
        needs=(
            (
                'A coefficient that the columns leave undetermined is "not estimable", '
                "with the columns it cannot be told apart from."
            ),
        ),
        sources=(
            (
                "Variance: CR2 of Bell and McCaffrey 2002 with an identity working "
                "model, in which residuals of cluster g are multiplied by the symmetric "
                "(pseudo) root (I - H_gg)^(-1/2): unbiased when the model's errors are "
                "independent and equal, nearly so when they are not."
            ),
            (
                "The t quantile and p have Satterthwaite degrees of freedom, a set per "
                "coefficient (Pustejovsky and Tipton 2018)."
            ),
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
        needs=(
            "15 items advised, 34 to find d_z = 0.5.",
            NEEDS_SHARED_ITEM,
        ),
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
        needs=(NEEDS_SHARED_ITEM,),
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
        needs=(("Needs one cell with both rubrics, and several replicates for a floor below it."),),
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
        needs=(
            "A part needs all its components.",
            NEEDS_CROSSED,
            "Needs 3 items.",
        ),
        sources=(HENDERSON,),
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
        needs=("Needs two judges and one item.",),
    ),
)
