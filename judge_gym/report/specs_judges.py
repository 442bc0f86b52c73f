"""Tables about each judge by itself."""

from judge_gym.report.spec import (
    DESIGN_EFFECT,
    Cell,
    Spec,
)

JUDGES = (
    Spec(
        "Abstention",
        "Share of the judgements made in which a judge abstained: neither a score nor a failure.",
        (
            Cell("abstained", "abstention_rate"),
            Cell("judgements", "abstention_rate", "n"),
            Cell("items", "abstention_rate", "items"),
        ),
        formulas=("abstained / (scored + abstained); Wilson interval clustered by item",),
        needs=("Needs one sample.",),
        sources=(DESIGN_EFFECT,),
    ),
    Spec(
        "Unparseable, refused, failed",
        "Shares of all samples that gave no judgement: the answer could not be read, the model "
        "would not judge, or no answer came. They are never counted as scores.",
        (
            Cell("unparseable", "unparseable_rate"),
            Cell("refused", "refused_rate"),
            Cell("failed", "failed_rate"),
            Cell("samples", "failed_rate", "n"),
        ),
        troubles=True,
        formulas=("samples that ended so / all samples; Wilson interval clustered by item",),
        needs=("Needs one sample.",),
        sources=(DESIGN_EFFECT,),
    ),
    Spec(
        "Reasoning, as a critic marks it",
        "Shares of verdicts whose reasoning passes a critic: it cites something in the evidence, "
        "leads to the verdict, and rests on the evidence. No other table leaves out what fails.",
        (
            Cell("passes", "reasoning_passes"),
            Cell("cites evidence", "reasoning_observable"),
            Cell("fits verdict", "reasoning_consistent"),
            Cell("rests on evidence", "reasoning_uses_evidence"),
            Cell("without reasoning", "reasoning_absent"),
            Cell("without marks", "reasoning_unmarked"),
            Cell("marked", "reasoning_passes", "n"),
        ),
        formulas=("marked so / marked; passes: all three marks; Wilson clustered by item",),
        needs=("Needs `score_critic` in the sweep file, and one sample.",),
        sources=(DESIGN_EFFECT,),
    ),
    Spec(
        "Scores whose reasoning passes",
        "A judge's mean score on the verdicts whose reasoning passes the critic, and how far it "
        "lies from the mean of all its verdicts on the same items: 0 is no difference.",
        (
            Cell("mean, passing", "score_mean_passing"),
            Cell("passing - all", "score_mean_shift", digits=3),
            Cell("items", "score_mean_shift", "items"),
            Cell("verdicts", "score_mean_shift", "n"),
        ),
        formulas=("mean over items of x̄(passing); of x̄(passing) − x̄(all), paired by item",),
        needs=("Needs one item with a passing verdict.",),
    ),
    Spec(
        "Consistency",
        "A judge's mean score, and whether it repeats itself on the same item: the variance of its "
        "replicates on the 0-1 scale (lower is steadier), the share of variance that tells items "
        "apart (ICC, up to 1), and how much a probe asked twice differs (a probability).",
        (
            Cell("mean score", "mean_score"),
            Cell("on common items", "mean_score_common"),
            Cell("variance", "replicate_variance", digits=3),
            Cell("ICC", "replicate_icc"),
            Cell("probe twice", "probe_difference"),
            Cell("items", "replicate_variance", "items"),
        ),
        formulas=(
            "mean score = x̄ of each item, averaged over the judge's items; on common items = over "
            "those that every judge scored, where these are fewer",
            "variance = mean over cells of s² of x over replicates (ddof 1), in squared 0-1 scale",
            "ICC = (MSB − MSW)/(MSB + (n₀ − 1)·MSW); probe twice = mean |c₁ − c₂|",
        ),
        needs=("Needs one item.",),
    ),
    Spec(
        "Accuracy",
        "Verdicts against what is known: the share at the true stage, and Cohen's kappa, which "
        "is 0 for guessing. Of known answers with an order also how many stages a verdict is off "
        "on average, and kappa with quadratic weights. Error and rank correlation are against the "
        "index of a control: mean distance on the 0-1 scale, and Spearman's rho over items.",
        (
            Cell("correct", "accuracy"),
            Cell("by chance", "accuracy", "floor"),
            Cell("kappa", "cohens_kappa"),
            Cell("stages off", "stage_error"),
            Cell("weighted kappa", "cohens_kappa_quadratic"),
            Cell("error", "control_error"),
            Cell("rank corr.", "control_rank_correlation"),
            Cell("items", "accuracy", "items"),
        ),
        formulas=(
            "correct = share of verdicts at the true stage",
            "by chance = max(1/number of stages that occur as truth, Σ share true·share given)",
            "true stage of an index v = 1 + round(v·(S − 1))",
            "κ = 1 − observed / expected share of wrong verdicts; weighted κ: of squared distances",
            "stages off = mean |stage − true stage| of all verdicts",
            "error = mean |x − v|; rank corr. = Spearman's ρ of mean x and v over items",
        ),
        needs=(
            "Needs one verdict, and point verdicts only; 100 items advised.",
            "Needs point verdicts and two true stages; 100 items advised.",
            "Needs one verdict.",
            "Needs 4 items, and scores and indices that vary; 100 items advised.",
        ),
        sources=(
            (
                "1 - Σ w·observed / Σ w·expected, w = 1 off the diagonal, or (i - j)² "
                "when quadratic (Cohen 1960, 1968)."
            ),
            ("Interval: Fisher's z with variance (1 + ρ²/2)/(n - 3) (Bonett and Wright 2000)."),
        ),
    ),
    Spec(
        "Scores as written",
        "Recorded scores with half points, or of more values than there are stages, in the points "
        "of their file: the mean, the mean distance from the known answer or the mean of people's "
        "labels, and Spearman's rho with it over items.",
        (
            Cell("mean", "written_mean"),
            Cell("distance", "written_error"),
            Cell("correlation", "written_correlation"),
            Cell("items", "written_mean", "items"),
        ),
        formulas=(
            "mean = mean score of each item, averaged over items; distance = mean |score − known|, "
            "averaged alike; correlation = Spearman's ρ of mean score and known over items",
        ),
        needs=("Needs 4 items, and scores and known answers that vary, for the correlation.",),
    ),
    Spec(
        "Token probability of verdicts",
        "The probability that the model's tokens gave the letter of its verdict, against whether "
        "the verdict is right: overconfidence is the mean difference (above 0: too sure), the "
        "Brier score the mean squared one (lower is better).",
        (
            Cell("overconfidence", "letter_overconfidence"),
            Cell("Brier", "letter_brier_score"),
            Cell("judgements", "letter_brier_score", "n"),
            Cell("items", "letter_brier_score", "items"),
        ),
        formulas=(
            "overconfidence = mean (p − r); Brier = mean (p − r)²; r = 1 at the true stage, else 0",
        ),
        needs=("Needs `logprobs: true` and one verdict of a single letter; 30 items advised.",),
        sources=("Brier: mean squared error of a stated probability, in [0, 1] (Brier 1950).",),
    ),
    Spec(
        "Pairs by the order shown",
        "Accuracy on all judgements, where an answer that could not be read is not right: in all, "
        "with the pair in the file's order and swapped, and right in every order. The share of "
        "winners that were shown first is 0.50 without a preference for a place.",
        (
            Cell("right", "accuracy_of_all"),
            Cell("as listed", "accuracy_as_listed"),
            Cell("swapped", "accuracy_swapped"),
            Cell("every order", "accuracy_every_order"),
            Cell("same choice", "same_winner"),
            Cell("both ties", "same_tie"),
            Cell("same outcome", "same_choice"),
            Cell("first shown", "first_shown_share"),
            Cell("kappa of orders", "kappa_between_orders"),
        ),
        formulas=(
            "right, as listed, swapped = right / all judgements, or those of one order",
            "every order, same choice, both ties = share of pairs that are right, have one winner, "
            "or are ties, in both orders; same outcome counts two unreadable answers too",
            "first shown = verdicts for the answer shown first / verdicts for either",
            "kappa of orders = Cohen's κ between the choices in the two orders",
        ),
        needs=("Needs one verdict; 100 items advised.",),
        sources=(DESIGN_EFFECT,),
    ),
    Spec(
        "Pairs over wordings",
        "Accuracy on all judgements under the wordings of the prompt that all judges have.",
        (
            Cell("right", "accuracy_over_wordings"),
            Cell("judgements", "accuracy_over_wordings", "n"),
            Cell("pairs", "accuracy_over_wordings", "items"),
        ),
        formulas=("right = right / all judgements; the interval is over pairs",),
        needs=("Needs two wordings that all judges have; 100 items advised.",),
        sources=(DESIGN_EFFECT,),
    ),
    Spec(
        "As published",
        "Figures of recorded pairs with the published value beside them, from the file that the "
        "mapping names.",
        tuple(
            cell
            for metric, heading in (
                ("accuracy_of_all", "right"),
                ("accuracy_as_listed", "as listed"),
                ("accuracy_swapped", "swapped"),
                ("accuracy_every_order", "every order"),
                ("same_choice", "same outcome"),
                ("kappa_between_orders", "kappa"),
            )
            for cell in (
                Cell(heading, f"{metric}_as_published", digits=4),
                Cell("published", f"{metric}_as_published", "floor", digits=4),
            )
        ),
        formulas=("as in Pairs by the order shown",),
        needs=("Needs `published` in the mapping of the recorded judgements.",),
        sources=(DESIGN_EFFECT,),
        brief=False,
    ),
    Spec(
        "Accuracy on pairs",
        "Pairs judged in both orders: a right verdict counts 1, a wrong one -1, a tie or none 0, "
        "and a pair is got right when the sum is above 0. Beside it the share of pairs whose "
        "verdict changes with the order.",
        (
            Cell("correct", "accuracy_both_orders"),
            Cell("right less wrong", "pair_balance"),
            Cell("order decides", "order_inconsistency"),
            Cell("pairs", "accuracy_both_orders", "items"),
        ),
        formulas=(
            (
                "correct = share of pairs whose votes (+1 right, −1 wrong, 0 a tie "
                "or none) sum above 0 over both orders"
            ),
            "right less wrong = mean over pairs of the sign of that sum",
            "order decides = share of pairs with another verdict in the other order",
        ),
        needs=(
            "Needs one verdict.",
            "Wilson interval over pairs; needs one pair.",
        ),
        sources=("Source: Tan et al. 2024 (JudgeBench).",),
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
        formulas=(
            "coverage = share of sets A that hold the true stage",
            (
                "with z = 1/|A| for these, else 0: 1/size = mean z, u65 = mean (1.6z "
                "− 0.6z²), u80 = mean (2.2z − 1.2z²)"
            ),
        ),
        needs=("Needs one verdict; 100 items advised.",),
        sources=(
            (
                "Source: Zaffalon, Corani and Maua 2012, International Journal of "
                "Approximate Reasoning 53."
            ),
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
        formulas=("mean (|A| − 1)/(S − 1); mean log₂|A| / log₂ S",),
        needs=("Needs one item.",),
        sources=("Source: Hartley 1928.",),
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
        formulas=(
            "kᵢᵢ = n/(n − 1) · Σ mᵢ(A)·mᵢ(B) over disjoint A, B, a probability",
            "gap = (1/S)·Σ (Pl(s) − Bel(s)); 0 to 1",
        ),
        needs=(
            "Needs n >= 2 in every cell of an item.",
            "Needs n >= 1.",
        ),
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
        formulas=(
            "Bel(s) = m({s}); BetP(s) = Σ m(A)/|A| and Pl(s) = Σ m(A), over sets A that hold s",
        ),
        needs=("Needs n >= 1.",),
        sources=("Sources: Shafer 1976; Smets and Kennes 1994 for BetP.",),
    ),
    Spec(
        "Position and label bias",
        "Excess share of verdicts for the stage shown first, and for the one lettered A, beyond "
        "what displays permuted within a cell give; 0 is none. Known only where the display "
        "varies between replicates; recorded judgements have an order and no letters.",
        (
            Cell("shown first", "position_bias"),
            Cell("p", "position_bias", "p"),
            Cell("lettered A", "label_bias"),
            Cell("p", "label_bias", "p"),
            Cell("items", "position_bias", "items"),
        ),
        formulas=(
            (
                "share of verdicts at the stage shown first (lettered A) − its mean with displays "
                "permuted within a cell, scaled by how much more displays vary over all cells"
            ),
            "p by the same permutations",
        ),
        needs=("Needs a cell whose displays differ.",),
    ),
)
