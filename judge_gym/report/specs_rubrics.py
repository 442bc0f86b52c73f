"""Tables of what another rubric, or a free choice of stages, does to verdicts."""

from judge_gym.metrics import decomposition
from judge_gym.metrics.decomposition import polarization_parts
from judge_gym.metrics.inference import paired_contrast, paired_difference
from judge_gym.metrics.presentation import swap_sensitivity, verdict_change
from judge_gym.metrics.subsets import forced_choice
from judge_gym.report.spec import Cell, Spec

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
