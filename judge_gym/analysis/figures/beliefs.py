"""Verdicts as belief functions: conflict, distance and support."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import NEEDS_UNITS, Column, Figure, FigureTable
from judge_gym.metrics.accuracy import rank_correlation
from judge_gym.metrics.belief import (
    PairFigures,
    belief_distance,
    conflict,
    item_conflicts,
    self_conflict,
    stage_support,
    uncertainty_gap,
)
from judge_gym.metrics.cells import Verdicts, pignistic
from judge_gym.metrics.combining import by_rule, conflict_of_all
from judge_gym.metrics.estimate import (
    Estimate,
    not_estimable,
)
from judge_gym.metrics.masses import CellMasses, cell_masses
from judge_gym.metrics.polarization import (
    mean_jensen_shannon,
)
from judge_gym.store.results import ResultRow

JOUSSELME_GRETTON = (
    "Sources: Jousselme, Grenier and Bossé 2001, Information Fusion 2; the unbiased form is "
    "that of Gretton et al. 2012, Journal of Machine Learning Research 13."
)
NEEDS_FEW_MASSES = (
    "Needs two judges and n >= 1; Dubois-Prade and PCR6 list every product of the judges' "
    "masses, and are not estimable with too many."
)
NEEDS_JUDGES = "Needs two judges and n >= 1."
NEEDS_THIRTY_ITEMS = (
    "Needs two judges and n >= 2; 30 items advised (0.044 is found 12% of the time at 15 items,"
    " 33% at 30, 69% at 60)."
)
SHAFER = (
    "The chance that a verdict of one judge and one of the other are incompatible (Shafer 1976)."
)
_TWO_JUDGES = "verdicts of two judges on the same items"
_SETS = "verdicts that may name several stages"

TABLES = (
    FigureTable(
        "Conflict and distance",
        (
            "Conflict is the chance that the verdicts of two judges exclude each other; it is "
            "above 0 for two copies of an unsteady judge, so read it beside self-conflict. "
            "Distance compares whole sets and is 0 on average for equal judges."
        ),
        question="stand-apart",
        rank=60,
        figures=(
            Figure("conflict", "probability"),
            Figure("belief_distance", "squared Jaccard distance"),
        ),
        columns=(
            Column("conflict k", "conflict"),
            Column("distance d²", "belief_distance"),
            Column("items", "conflict", "items"),
            Column("verdicts", "conflict", "n"),
        ),
        across=True,
        of_all_samples=True,
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
    FigureTable(
        "Conflict and distance by pair",
        "The same for two judges at a time.",
        question="stand-apart",
        rank=70,
        figures=(
            Figure("conflict_pair", "probability", _TWO_JUDGES),
            Figure("belief_distance_pair", "squared Jaccard distance", _TWO_JUDGES),
        ),
        columns=(
            Column("conflict k", "conflict_pair"),
            Column("distance d²", "belief_distance_pair"),
            Column("items", "conflict_pair", "items"),
        ),
        across=True,
        of_all_samples=True,
        in_terminal=False,
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
    FigureTable(
        "Conflict of all judges at once",
        (
            "Diagnostic: how far the premises of the rules below hold. The share of items on which "
            "conflict is total is that on which Dempster's rule gives nothing; in an open world an "
            "abstention says that no stage fits."
        ),
        question="stand-apart",
        rank=80,
        figures=(
            Figure("dempster_conflict", "probability"),
            Figure("total_conflict", "share"),
            Figure("open_world_conflict", "probability"),
        ),
        columns=(
            Column("conflict", "dempster_conflict"),
            Column("total", "total_conflict"),
            Column("open world", "open_world_conflict"),
            Column("items", "dempster_conflict", "items"),
        ),
        across=True,
        of_all_samples=True,
        in_terminal=False,
        formulas=(
            "conflict k = Σ Π mᵢ(Aᵢ) over sets Aᵢ with an empty intersection, a probability",
            "total = share of items with conflict 1",
            "open world = 1 − (1 − k)·Π (1 − aᵢ), aᵢ the share of judge i that abstains",
        ),
        needs=(NEEDS_JUDGES,),
        sources=("Source: Smets 1990, IEEE PAMI 12, of the open world.",),
    ),
    FigureTable(
        "What the judges say together, by rule",
        (
            "A conclusion that holds under one rule alone is a property of the rule. In the open "
            "world the expected stage is Dempster's."
        ),
        question="stand-apart",
        rank=90,
        figures=(
            Figure("combined_stage", "stage"),
            Figure("combined_entropy", "bits"),
            Figure("combined_top", "probability"),
            Figure("combined_gap", "probability"),
        ),
        columns=(
            Column("expected stage", "combined_stage"),
            Column("entropy", "combined_entropy"),
            Column("top stage", "combined_top"),
            Column("gap", "combined_gap"),
            Column("items", "combined_stage", "items"),
        ),
        across=True,
        of_all_samples=True,
        in_terminal=False,
        formulas=(
            "expected stage = Σ s·BetP(s), 1 to S; entropy of BetP, 0 to log₂ S bits",
            "top stage = the largest BetP(s); gap = (1/S)·Σ (Pl(s) − Bel(s)); 0 to 1",
        ),
        needs=(NEEDS_FEW_MASSES,),
        sources=(
            "Sources: Stone 1961 and Genest and Zidek 1986 for pools; Dempster 1967; Yager 1987; "
            "Dubois and Prade 1988; Martin and Osswald 2006 (PCR6); Murphy 2000 (averaged).",
        ),
    ),
    FigureTable(
        "Check of the belief functions",
        (
            "For single verdicts conflict beyond the judges' own should follow polarization from "
            "item to item: the rank correlation of the two, 1 if it does."
        ),
        question="stand-apart",
        rank=100,
        figures=(
            Figure("conflict_polarization_correlation", "rho", "single verdicts of two judges"),
        ),
        columns=(
            Column("rho", "conflict_polarization_correlation"),
            Column("items", "conflict_polarization_correlation", "items"),
        ),
        across=True,
        of_all_samples=True,
        in_terminal=False,
        formulas=("Spearman's ρ over items of P and mean kᵢⱼ − mean kᵢᵢ",),
        needs=(NEEDS_UNITS,),
    ),
    FigureTable(
        "Self-conflict and uncertainty",
        (
            "Self-conflict is the chance that two verdicts of a judge on one item exclude each "
            "other; the gap is what its sets leave between what is certain and what is possible."
        ),
        question="forced-choice",
        rank=30,
        figures=(
            Figure("self_conflict", "probability"),
            Figure("uncertainty_gap", "probability", _SETS),
        ),
        columns=(
            Column("self-conflict", "self_conflict"),
            Column("uncertainty gap", "uncertainty_gap"),
            Column("items", "self_conflict", "items"),
        ),
        in_terminal=False,
        formulas=(
            "kᵢᵢ = n/(n − 1) · Σ mᵢ(A)·mᵢ(B) over disjoint A, B, a probability; over wordings and "
            "draws of a rubric the mean of theirs",
            "gap = (1/S)·Σ (Pl(s) − Bel(s)); 0 to 1",
        ),
        needs=(
            "Needs n >= 2 in every cell of an item.",
            "Needs n >= 1.",
        ),
    ),
    FigureTable(
        "Support of each stage",
        (
            "On average over items: what is certain for a stage (Bel), bet on it (BetP) and open "
            "to it (Pl), each a probability."
        ),
        question="forced-choice",
        rank=40,
        figures=(
            Figure("belief", "probability", _SETS),
            Figure("betp", "probability", _SETS),
            Figure("plausibility", "probability", _SETS),
        ),
        columns=(
            Column("Bel", "belief"),
            Column("BetP", "betp"),
            Column("Pl", "plausibility"),
            Column("items", "belief", "items"),
        ),
        in_terminal=False,
        formulas=(
            "Bel(s) = m({s}); BetP(s) = Σ m(A)/|A| and Pl(s) = Σ m(A), over sets A that hold s",
        ),
        needs=("Needs n >= 1.",),
        sources=("Sources: Shafer 1976; Smets and Kennes 1994 for BetP.",),
    ),
)


_FEWEST_ITEMS = 4


def beliefs(group: Group) -> Iterator[ResultRow]:
    """Yield conflict, distance, gap, support and the classical combinations of a group."""
    if group.pooled_only:
        return
    verdicts = group.own.of_judges(group.present)
    cells = cell_masses(verdicts)
    for figures in (conflict(cells), belief_distance(cells)):
        yield from _by_pair(group, figures)
    if not group.is_subset:
        yield group.across(_excess_follows_polarization(verdicts))
    yield from _combined(group, cells)
    for place, number in enumerate(group.present):
        yield from _judge_figures(group, number, cells.of_judges([place]))


def _combined(group: Group, cells: CellMasses) -> Iterator[ResultRow]:
    read = group.readable(group.own_arms).of_judges(group.present)
    abstained = read.means((read.stages == 0).astype(np.float64)).value.T
    for estimate in conflict_of_all(cells, abstained):
        yield group.across(estimate)
    stated = group.answered(group.own_arms).of_judges(group.present).confidence()
    for rule, estimates in by_rule(cells, stated):
        for estimate in estimates:
            yield group.across(estimate, rule=rule)


def _by_pair(group: Group, figures: PairFigures) -> Iterator[ResultRow]:
    yield group.across(figures.overall)
    for pair, estimate in figures.by_pair.items():
        numbers = [group.present[place] for place in pair]
        named = replace(estimate, metric=estimate.metric + group.mixed)
        arms = [group.own_arms[number] for number in numbers]
        models = " and ".join(group.judges[number].model for number in numbers)
        yield group.row(named, arms, p_adjusted=None, pair=models)


def _judge_figures(group: Group, number: int, cells: CellMasses) -> Iterator[ResultRow]:
    arms, model = [group.own_arms[number]], group.judges[number].model
    yield group.row(self_conflict(cells), arms, judge=model)
    if group.is_subset:
        yield group.row(uncertainty_gap(cells), arms, judge=model)
        for support in stage_support(cells):
            for estimate in (support.belief, support.betp, support.plausibility):
                yield group.row(estimate, arms, judge=model, stage=str(support.stage))


def _excess_follows_polarization(verdicts: Verdicts) -> Estimate:
    """Return the rank correlation over items of P and the conflict beyond the judges' own.

    For point verdicts both say how far judges stand apart, so it checks the belief functions.
    """
    metric = "conflict_polarization_correlation"
    common = verdicts.common_items(2)
    if verdicts.n_judges < 2 or common.sum() < _FEWEST_ITEMS:
        because = f"it needs {_FEWEST_ITEMS} items with two samples of each of two judges"
        return not_estimable(metric, because, n=len(verdicts), n_items=int(common.sum()))
    kept = verdicts.rows(common[verdicts.item])
    conflicts = item_conflicts(cell_masses(kept).shared(2))
    upper = np.triu_indices(verdicts.n_judges, k=1)
    own = np.einsum("ijj->ij", conflicts).mean(axis=1)
    p, _ = pignistic(kept)
    apart = mean_jensen_shannon(p[:, common].swapaxes(0, 1))
    excess = conflicts[:, upper[0], upper[1]].mean(axis=1) - own
    return rank_correlation(metric, apart, excess, n=len(kept))


OF_GROUP = (beliefs,)
