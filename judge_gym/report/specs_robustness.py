"""Tables of whether a conclusion hangs on a design choice: specification curves."""

from judge_gym.report.spec import Cell, Spec

ROBUSTNESS = (
    Spec(
        "Specification curves",
        "One claim in every defensible cell of the design: polarization above its floor, or the "
        "first judge of a pair less the second. The median of the cells; the share of cells of "
        "one sign and the share significant on one side, each beside its mean by chance; and the "
        "share significant against the median.",
        (
            Cell("median", "specification_median"),
            Cell("p (Holm)", "specification_median", "adjusted"),
            Cell("same sign", "specification_same_sign"),
            Cell("by chance", "specification_same_sign", "floor"),
            Cell("p", "specification_same_sign", "p"),
            Cell("significant", "specification_significant"),
            Cell("by chance", "specification_significant", "floor"),
            Cell("p", "specification_significant", "p"),
            Cell("against", "specification_against"),
            Cell("cells", "specification_same_sign", "n"),
        ),
        formulas=(
            "a cell: mean over items of (value of the first judge − value of the second)",
            "median, share of one sign, share with an interval off 0, over cells",
            "null: the labels of the two judges exchanged within an item or not, at random, the "
            "same in every cell; of polarization, the samples of an item dealt to the judges, in "
            "the order of random keys that are the same in every cell",
        ),
        needs=(
            "Needs two cells in which the same judges applied a common rubric. p takes the judges "
            "as exchangeable: where their differences are skewed around 0 (skewness 2), p of the "
            "median is below 0.05 in 7 to 9% of simulations with 16 and 30 items.",
        ),
        sources=("Simonsohn, Simmons and Nelson 2020, Nature Human Behaviour 4.",),
    ),
    Spec(
        "Items that function differently",
        "How much higher a judge places the items of a country, outlet or category than other "
        "items where the other judges agree on them; on the 0-1 scale. It explores: p is "
        "corrected over judges and groups (Benjamini-Hochberg).",
        (
            Cell("difference", "item_functioning"),
            Cell("p (BH)", "item_functioning", "adjusted"),
            Cell("items", "item_functioning", "items"),
        ),
        formulas=(
            "x of the judge = a + b · consensus + difference · [item in the group] + error",
            "b = s_xy / (s_xx − s_ee + 3 · s_ee / (items − 2)) within groups, s_ee the error "
            "variance of the mean of the other judges",
        ),
        needs=("Needs three judges under a common rubric, 5 items in the group and 5 outside.",),
        sources=(
            "Fuller 1987, Measurement Error Models, section 2.5; Porter 1967; Shealy and Stout "
            "1993, Psychometrika 58 (regression correction).",
        ),
    ),
    Spec(
        "Texts that move one judge more",
        "How much more a change of the text (its view, its actors) moved a judge's verdict than "
        "those of the other judges on the same items; on the 0-1 scale.",
        (
            Cell("difference", "paired_functioning"),
            Cell("p (BH)", "paired_functioning", "adjusted"),
            Cell("items", "paired_functioning", "items"),
        ),
        formulas=(
            "mean over items of (change of x of the judge − mean change of x of the others)",
            "p by flipping signs",
        ),
        needs=("Needs two judges under a common rubric and an item with both texts.",),
    ),
    Spec(
        "Shares of variance of two axes",
        "Of the variance between the cells of two crossed axes: the share of either axis, and of "
        "their interaction (p: none), which is what the effect of one depends on the other.",
        (
            Cell("axis", "interaction_share_first"),
            Cell("other axis", "interaction_share_second"),
            Cell("interaction", "interaction_share_both"),
            Cell("p", "interaction_share_both", "p"),
            Cell("items", "interaction_share_both", "items"),
        ),
        formulas=(
            "mean square of the effects (sum to zero) of expected cell means, by products of "
            "different items; share = part / sum of the parts",
            "p by flipping the signs of items",
        ),
        needs=(
            "Needs 4 items with a score in every cell of a full crossing, and cells that differ. "
            "Exploratory: in simulations with 16 and 30 items intervals hold the true share in 88 "
            "to 97%, and nearly always where it is 0.",
        ),
        sources=("McLaren et al. 2026, arXiv 2603.26898; Scheffé 1959, section 4.1.",),
    ),
    Spec(
        "Effects that change sign",
        "The effect of changing one axis at the levels of another: its mean over them, the lowest "
        "and the highest. A small p: the effect is above 0 at one level and below 0 at another.",
        (
            Cell("mean effect", "effect_over_levels"),
            Cell("lowest", "effect_lowest"),
            Cell("highest", "effect_highest"),
            Cell("p (Holm)", "effect_over_levels", "adjusted"),
            Cell("items", "effect_over_levels", "items"),
        ),
        brief=False,
        formulas=(
            "effect = mean over items of (x at the second level − x at the first)",
            "p = L · max(smallest p of no effect above 0, smallest p of none below 0)",
        ),
        needs=(
            "Needs two items with a score in every cell of a full crossing. Intervals of the "
            "lowest and the highest of L effects have the level 1 − 0.1/L, as they are chosen.",
        ),
        sources=("Gail and Simon 1985, Biometrics 41; Berger 1982, Technometrics 24.",),
    ),
    Spec(
        "Cells of the specification curves",
        "The claim in each cell, with its 95% interval.",
        (Cell("estimate", "specification"), Cell("items", "specification", "items")),
        brief=False,
        formulas=("as above, one cell at a time; t interval over items",),
        needs=("Needs an item that both judges scored, two that differ for the interval.",),
    ),
)
