"""Tables about judges beside people, and of figures corrected by labels."""

from judge_gym.report.spec import Cell, Spec

ALT_TEST = "Source: Calderon, Reichart and Dror 2025, ACL (alternative annotator test)."
POWERED = (
    "Sources: Angelopoulos et al. 2023, Science 382; Angelopoulos, Duchi and Zrnic 2023 for the"
    " weight λ."
)
RANDOM_PART = (
    "Needs 20 labelled items, a random part of all, and two others; labels that crowd at one end"
    " give no interval."
)

PEOPLE = (
    Spec(
        "Judges beside people",
        "Whether a judge may stand in for one of the people who labelled its items. Winning rate: "
        "share of people whom it is shown to match, given what they cost; 0.5 passes. Advantage: "
        "probability that it agrees with the other people at least as well as a person. Lead: "
        "share of items on which a person agrees better less the share on which the judge does.",
        (
            Cell("winning rate", "alt_test_winning_rate"),
            Cell("advantage", "alt_test_advantage"),
            Cell("lead of people", "alt_test_lead"),
            Cell("items", "alt_test_advantage", "items"),
        ),
        formulas=(
            "of person j on item i: W = 1 if the judge's label agrees with the others' at least as "
            "well as that of j; advantage = mean over people of the mean of W",
            "winning rate = share of people with the null (W of the person less W of the judge ≥ ε)"
            " rejected: one-sided t test over items, Benjamini-Yekutieli at 5%",
        ),
        needs=(
            "Needs two people an item, and a person with 30 such items. Advantage: t interval, "
            "items resampled, people fixed.",
        ),
        sources=(ALT_TEST,),
    ),
    Spec(
        "Distance to people",
        "How far a judgement is from the labels of people, beside how far a person is from the "
        "others; an excess below 0 is nearer to people than they are to each other. Sets count by "
        "their overlap, and by distance along the scale. Distance of sets is 0 for a judge whose "
        "verdicts are spread as people's labels.",
        (
            Cell("distance", "people_distance"),
            Cell("of people", "people_distance", "floor"),
            Cell("excess", "people_distance_excess"),
            Cell("by stages", "people_distance_ordinal"),
            Cell("of people", "people_distance_ordinal", "floor"),
            Cell("excess", "people_distance_ordinal_excess"),
            Cell("of sets", "people_belief_distance"),
            Cell("items", "people_distance", "items"),
        ),
        formulas=(
            "distance = mean over items, judgements A and people B of 1 − |A∩B|/|A∪B|; by stages "
            "|s − t|/(S − 1)",
            "of people = the same for the label of each person and those of the others; excess = "
            "distance − of people, item by item",
        ),
        needs=(
            "Needs an item with two people and a judgement; distance of sets two replicates. 30 "
            "items advised: at 16 an excess of nothing is significant in 7% of data sets.",
        ),
    ),
    Spec(
        "Agreement of people",
        "Agreement of the people with each other beyond chance: Krippendorff's alpha.",
        (
            Cell("alpha", "people_alpha_ordinal"),
            Cell("items", "people_alpha_ordinal", "items"),
            Cell("labels", "people_alpha_ordinal", "n"),
        ),
        brief=False,
        formulas=("α = 1 − observed / expected squared distance of mean ranks",),
        needs=("Needs an item that two people labelled, and two stages in use.",),
        sources=("Source: Krippendorff 2019, Content Analysis, chapter 12.",),
    ),
    Spec(
        "Corrected by labels",
        "The mean score (0-1 scale) and the share of each stage that the labels of a part of the "
        "items would give for all of them, and the difference between categories of items. By "
        "stratum: labels drawn at random within each stage of the judge. The rest by Se and "
        "Sp: of the items without a label alone, by the judge's sensitivity and specificity on "
        "the others (Rogan-Gladen).",
        (
            Cell("mean", "corrected_mean"),
            Cell("by stratum", "corrected_mean_stratified"),
            Cell("share", "corrected_share"),
            Cell("rest by Se and Sp", "corrected_share_rogan_gladen"),
            Cell("difference", "corrected_difference"),
            Cell("rest by Se and Sp", "corrected_difference_rogan_gladen"),
            Cell("items", "corrected_mean", "items"),
        ),
        formulas=(
            "corrected = λ · mean of the judge on the other items + mean (label − λ · judge) on "
            "labelled items",
            "by stratum = Σ W · mean label of the items that the judge gave a stage, W their share",
            "by Se and Sp: (AP + Sp − 1)/(Se + Sp − 1); of a difference ΔAP/(Se + Sp − 1); AP is "
            "the share that the judge marks of the items without a label",
        ),
        needs=(
            RANDOM_PART,
            "By Se and Sp: 5 labelled items of each class, and one Se and Sp for all items; "
            "exploratory below 60 labels, where its interval is wide (coverage 95 to 100%).",
        ),
        sources=(
            POWERED,
            "Rogan and Gladen 1978; interval of Lang and Reiczigel 2014, Preventive Veterinary "
            "Medicine 113. Strata: Cochran 1977, section 5.4.",
        ),
    ),
    Spec(
        "What to label next",
        "Of the next labels, how many to draw at random among the items that the judge gave each "
        "stage, and the half-width of the interval of the mean by stratum expected now, with "
        "labels at random and with this plan. Read the mean by stratum afterwards.",
        (
            Cell("labels", "labels_next", digits=0),
            Cell("half-width", "labels_half_width", digits=3),
        ),
        brief=False,
        formulas=(
            "labels in proportion to W · s: the share of items and the spread of labels",
            "half-width = t · √(Σ W²·s²/n + Σ W·(mean − overall mean)²/N), labels n, items N",
        ),
        needs=("Needs two labels, and items without one.",),
        sources=("Source: Neyman 1934, Journal of the Royal Statistical Society 97.",),
    ),
)
