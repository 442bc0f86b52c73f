"""Tables that compare judges with each other."""

from judge_gym.report.spec import (
    JOUSSELME_GRETTON,
    LIN,
    NEEDS_FEW_MASSES,
    NEEDS_JUDGES,
    NEEDS_REPLICATES,
    NEEDS_THIRTY_ITEMS,
    NEEDS_UNITS,
    SHAFER,
    Cell,
    Spec,
)

_FLOOR = (
    "The floor is what judges without any difference would show at this number of verdicts: "
    "read the excess above it. Intervals are 95% over items."
)

ACROSS = (
    Spec(
        "Polarization",
        f"How far judge families stand apart on the same items, in bits from 0 to 1. {_FLOOR}",
        (
            Cell("P", "polarization"),
            Cell("floor P0", "polarization", "floor"),
            Cell("P - P0", "polarization_excess"),
            Cell("P corrected", "polarization_corrected"),
            Cell("p", "polarization", "p"),
            Cell("in time", "replicate_time_correlation"),
            Cell("items", "polarization", "items"),
            Cell("verdicts", "polarization", "n"),
        ),
        across=True,
        formulas=(
            "P = mean over items of the mean over pairs of families of JSD(pᵢ, pⱼ), in bits",
            "JSD(p, q) = H((p + q)/2) − (H(p) + H(q))/2, H(p) = −Σ p(s)·log₂ p(s)",
            "P0 = mean of P when the samples of an item are dealt to the judges at random",
            "p = (1 + deals that reach P) / (1 + deals)",
            (
                "in time = how much more replicates answered one after the other agree than others "
                "of their cell, as a correlation: 0 where P0 and p hold"
            ),
            (
                "P corrected = P − Σ over judges of (n − 1)·(mean of P without one of its n "
                "samples − P), per item"
            ),
        ),
        needs=(NEEDS_REPLICATES,),
        sources=(
            LIN,
            "P corrected: Zahl 1977, Ecology 58.",
        ),
    ),
    Spec(
        "Polarization of verdicts whose reasoning passes",
        "P - P0 of the verdicts whose reasoning passes the critic, and how far it lies from "
        "random subsets of all verdicts of the same size: 0 is no difference.",
        (
            Cell("P - P0, passing", "polarization_excess_passing"),
            Cell("passing - random", "polarization_excess_shift"),
            Cell("items", "polarization_excess_shift", "items"),
            Cell("verdicts", "polarization_excess_shift", "n"),
        ),
        across=True,
        formulas=(
            "passing − random = mean over items of (P − P0)(passing) − mean over 20 draws of "
            "(P − P0)(as many verdicts of each cell, at random)",
        ),
        needs=(NEEDS_REPLICATES,),
        sources=(LIN,),
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
        formulas=(
            (
                "as P, with W(p, q) = Σ |F(s) − G(s)| / (S − 1) in the place of JSD, "
                "F and G the cumulative shares, from 0 to 1"
            ),
        ),
        needs=(NEEDS_REPLICATES,),
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
        formulas=("Pᵢⱼ = mean over items of JSD(pᵢ, pⱼ), in bits",),
        needs=(NEEDS_REPLICATES,),
        sources=(LIN,),
    ),
    Spec(
        "Entrenchment",
        "Polarization times the judges' mean stated confidence, in bits: high when judges "
        "disagree and are sure. The floor is the same product with P0.",
        (
            Cell("E", "entrenchment"),
            Cell("floor E0", "entrenchment", "floor"),
            Cell("E - E0", "entrenchment_excess"),
            Cell("items", "entrenchment", "items"),
            Cell("verdicts", "entrenchment", "n"),
        ),
        across=True,
        formulas=("E = P · C, C = mean over judges of their mean c; E0 = P0 · C; in bits",),
        needs=("Needs what P needs, and a probe per judge.",),
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
        formulas=(
            (
                "α = 1 − Dₒ/Dₑ, D the observed and expected disagreement, two stages "
                "g ≤ h counting (n(g)/2 + Σ n(between) + n(h)/2)²"
            ),
            "AC = (A − Aₑ)/(1 − Aₑ), A the observed agreement, Aₑ = Σ π(s)(1 − π(s)) / (S − 1)",
        ),
        needs=(
            "Needs an item that two judges scored, and two stages in use.",
            "Needs an item that two judges scored.",
        ),
        sources=(
            "Source: Krippendorff 2019, Content Analysis, chapter 12.",
            ("Source: Gwet 2008, British Journal of Mathematical and Statistical Psychology 61."),
        ),
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
        formulas=(
            "kᵢⱼ = Σ mᵢ(A)·mⱼ(B) over disjoint A, B, a probability",
            (
                "d² = (Sᵢᵢ + Sⱼⱼ)/2 − Sᵢⱼ, S = mean |A ∩ B| / |A ∪ B| over pairs of "
                "samples, none with itself"
            ),
        ),
        needs=(
            NEEDS_JUDGES,
            NEEDS_THIRTY_ITEMS,
        ),
        sources=(
            SHAFER,
            JOUSSELME_GRETTON,
        ),
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
        formulas=("kᵢⱼ and d² of each two judges, as above",),
        needs=(
            NEEDS_JUDGES,
            NEEDS_THIRTY_ITEMS,
        ),
        sources=(
            SHAFER,
            JOUSSELME_GRETTON,
        ),
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
        formulas=(
            "conflict = Σ Π mᵢ(Aᵢ) over sets Aᵢ with an empty intersection, a probability",
            "total = share of items with conflict 1",
        ),
        needs=(NEEDS_FEW_MASSES,),
    ),
    Spec(
        "Uncertainty after combining",
        "Uncertainty gap of the judges' verdicts combined by each rule, from 0 (certain) to 1.",
        (Cell("gap", "combined_gap"), Cell("items", "combined_gap", "items")),
        across=True,
        brief=False,
        formulas=("gap = (1/S)·Σ (Pl(s) − Bel(s)) of the combined mass; 0 to 1",),
        needs=(NEEDS_FEW_MASSES,),
        sources=(
            "Source: Dubois and Prade 1988, Computational Intelligence 4.",
            "Source: Martin and Osswald 2006, after Smarandache and Dezert.",
        ),
    ),
    Spec(
        "Effective votes",
        "How many independent judges these are worth: as many as there are if their errors have "
        "nothing in common, 1 if each repeats the mistakes of the others. Without known answers "
        "only errors that judges of one family share can be told: it is the most they are worth.",
        (
            Cell("votes", "effective_votes"),
            Cell("correlation", "mean_error_correlation"),
            Cell("items", "effective_votes", "items"),
        ),
        across=True,
        formulas=(
            "votes = k / (1 + (k − 1)·r̄), r̄ = mean correlation of errors over pairs of judges",
            "without known answers r̄ = (c − c₀)/(v − c₀) · share of pairs of one family, c and c₀ "
            "the covariance of judges of one and of two families, v the variance",
        ),
        needs=("Needs 4 items, and known answers or two judges of one family and one of another.",),
        sources=("Source: Kish 1965, Survey Sampling; Kohli 2026, arXiv 2605.29800.",),
    ),
    Spec(
        "Where the variance is",
        "Where single scores differ: between items, judges, wordings and rubric draws, from one "
        "to the other (x), or between replicates. Exploratory: these intervals take the "
        "effects as normal. They hold the true variance in 0.94 to 0.97 of simulations then, of "
        "the items' in 0.99 where items are spread evenly and in 0.76 where they are skewed.",
        (
            Cell("variance", "variance_component", "small"),
            Cell("items", "variance_component", "items"),
        ),
        across=True,
        brief=False,
        formulas=("x = mean + every facet + every interaction + replicate: the variance of each",),
        needs=("Needs two levels of each facet in a complete crossing.",),
        sources=("Source: Searle, Casella and McCulloch 1992; Burdick and Graybill 1992.",),
    ),
    Spec(
        "Where the next dollar goes",
        "What would narrow the 95% interval of the mean by a fifth, all facets taken as random: "
        "how many of one facet it needs, as everything else stays, and what that adds to all "
        "judgements and probes of these judges. Items and replicates now are those with a score. "
        "A facet with no number is not what holds the error up.",
        (
            Cell("now", "next_step_levels", "floor"),
            Cell("needed", "next_step_levels", digits=0),
            Cell("judgements more", "next_step_judgements", digits=0),
            Cell("probes more", "next_step_probes", digits=0),
            Cell("USD more", "next_step_cost"),
        ),
        across=True,
        formulas=(
            "half-width = t · √(Σ over terms of variance / number of its levels), levels changed",
            "judgements, probes and USD more = (needed / now − 1) · all of now",
        ),
        needs=("Needs what the variances need; prices are those of the ledger.",),
        sources=("Source: Brennan 2001, Generalizability Theory.",),
    ),
    Spec(
        "Expected half-width",
        "Half the width of the 95% interval of the mean of single scores (of the share correct, "
        "where answers are known) with the items, judges, wordings and replicates of now.",
        (Cell("half-width", "half_width", digits=3), Cell("items", "half_width", "items")),
        across=True,
        brief=False,
        formulas=("as where the next dollar goes, with the levels of now",),
        needs=("Needs what the variances need.",),
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
        formulas=(
            "confidence = mean c; overconfidence = mean (c − q); Brier = mean (c² − 2cq + q)",
            (
                "q = share of the other judges' samples on the item with the same "
                "verdict, judges weighted equally"
            ),
        ),
        needs=("Needs two judges; 30 items advised.",),
        sources=(
            (
                "Brier: mean squared error of x against each such sample, x² - 2xq + q, "
                "in [0, 1] (Brier 1950)."
            ),
        ),
    ),
    Spec(
        "Check of the belief functions",
        "For single verdicts conflict beyond the judges' own should follow polarization from item "
        "to item: the rank correlation of the two, 1 if it does.",
        (
            Cell("rho", "conflict_polarization_correlation"),
            Cell("items", "conflict_polarization_correlation", "items"),
        ),
        across=True,
        brief=False,
        formulas=("Spearman's ρ over items of P and mean kᵢⱼ − mean kᵢᵢ",),
        needs=(NEEDS_UNITS,),
    ),
)
