"""Verdicts that may name several stages."""

from collections.abc import Iterator, Sequence

import numpy as np

from judge_gym.analysis.data import Arms, SweepData, SweepJudge
from judge_gym.analysis.groups import Group, generator_of, result_row
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.metrics.belief import item_distances
from judge_gym.metrics.cells import FloatArray, Verdicts, pignistic
from judge_gym.metrics.masses import cell_masses
from judge_gym.metrics.polarization import mean_jensen_shannon
from judge_gym.metrics.subsets import forced_choice
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

_KNOWN = "subset verdicts on items whose known answer is a stage of the rubric"
_BOTH_FORMS = "the same judges with single and with subset verdicts under a common rubric"
_SETS = "verdicts that may name several stages"

TABLES = (
    FigureTable(
        "Forced choice",
        (
            "What letting judges name several stages takes off the distance between them: in all, "
            "what widening at random would take off, and what is left. Above 0: doubt that a "
            "forced choice had turned into disagreement."
        ),
        question="forced-choice",
        rank=0,
        figures=(
            Figure("forced_choice_polarization_drop", "bits", _BOTH_FORMS),
            Figure("forced_choice_polarization", "bits", _BOTH_FORMS),
            Figure("forced_choice_distance_drop", "squared Jaccard distance", _BOTH_FORMS),
            Figure("forced_choice_distance", "squared Jaccard distance", _BOTH_FORMS),
        ),
        columns=(
            Column("P: drop", "forced_choice_polarization_drop"),
            Column("by chance", "forced_choice_polarization_drop", "floor"),
            Column("beyond", "forced_choice_polarization"),
            Column("d²: drop", "forced_choice_distance_drop"),
            Column("by chance", "forced_choice_distance_drop", "floor"),
            Column("beyond", "forced_choice_distance"),
            Column("items", "forced_choice_polarization", "items"),
        ),
        formulas=(
            "drop = D(single) − D(subset)",
            "by chance = D(single) − D(single widened at random to the sizes of the subsets)",
            "beyond = drop − by chance; D = P of pᵢ (bits), or d²",
        ),
        needs=("Needs two judges and one item.",),
    ),
    FigureTable(
        "Subset width",
        (
            "How much of the scale a judge leaves open when it may name several stages: 0 names "
            "one, 1 names all; counted in stages, and in bits."
        ),
        question="forced-choice",
        rank=10,
        figures=(
            Figure("subset_width", "share", _SETS),
            Figure("subset_information", "share", _SETS),
        ),
        columns=(
            Column("of the stages", "subset_width"),
            Column("of the bits", "subset_information"),
            Column("items", "subset_width", "items"),
            Column("verdicts", "subset_width", "n"),
        ),
        formulas=("mean (|A| − 1)/(S − 1); mean log₂|A| / log₂ S",),
        needs=("Needs one item.",),
        sources=("Source: Hartley 1928.",),
    ),
    FigureTable(
        "Accuracy of subsets",
        (
            "Coverage is the share of subset verdicts that hold the true stage (wide sets cover "
            "for free); 1/size, u65 and u80 reward narrow ones, and reach 1 for a right single "
            "stage."
        ),
        question="forced-choice",
        rank=20,
        figures=(
            Figure("coverage", "share", _KNOWN),
            Figure("accuracy_discounted", "utility", _KNOWN),
            Figure("accuracy_u65", "utility", _KNOWN),
            Figure("accuracy_u80", "utility", _KNOWN),
        ),
        columns=(
            Column("coverage", "coverage"),
            Column("1/size", "accuracy_discounted"),
            Column("u65", "accuracy_u65"),
            Column("u80", "accuracy_u80"),
            Column("items", "coverage", "items"),
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
)


SINGLE, SUBSET = "single", "subset"


def forced_choices(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield what subsets take off the distance between judges, for groups under one rubric."""
    by_method: dict[str, dict[str, Group]] = {}
    for group in groups:
        first = group.judges[0].experiment
        if first.rubric.kind != "own" and first.scoring_method in (SINGLE, SUBSET):
            content = first.model_dump(
                mode="json",
                exclude={"tag", "window", "replicates", "model", "family", "scoring_method"},
            )
            key = canonical_json([content, first.window.key])
            by_method.setdefault(key, {})[first.scoring_method] = group
    for pair in by_method.values():
        if len(pair) == 2:
            yield from _pair_figures(data, pair[SINGLE], pair[SUBSET])


def _pair_figures(data: SweepData, single: Group, subset: Group) -> Iterator[ResultRow]:
    models = sorted(
        {single.judges[number].model for number in single.present}
        & {subset.judges[number].model for number in subset.present}
    )
    arms = [_own(group, models) for group in (single, subset)]
    items = data.items_of([*arms[0], *arms[1]])
    single_verdicts, set_verdicts = (data.verdicts(own, items, single.n_stages) for own in arms)
    scope = {name: value for name, value in single.scope.items() if name != "scoring_method"}
    origin = data.origin_of([*arms[0], *arms[1]])
    twice = single_verdicts.common_items(2) & set_verdicts.common_items(2)
    for name, unit, distance, pair in (
        ("forced_choice_polarization", "bits", _divergence, (single_verdicts, set_verdicts)),
        (
            "forced_choice_distance",
            "squared Jaccard distance",
            _distance,
            (
                single_verdicts.rows(twice[single_verdicts.item]),
                set_verdicts.rows(twice[set_verdicts.item]),
            ),
        ),
    ):
        change = forced_choice(name, *pair, distance, generator_of(name, scope), unit)
        for estimate in (change.drop, change.beyond_chance):
            yield result_row(estimate, scope, origin)


def _own(group: Group, models: Sequence[str]) -> Arms:
    by_model: dict[str, SweepJudge] = {judge.model: judge for judge in group.judges}
    return [by_model[model].of_kind("own") for model in models]


def _divergence(verdicts: Verdicts) -> FloatArray:
    p, _ = pignistic(verdicts)
    return mean_jensen_shannon(p.swapaxes(0, 1))


def _distance(verdicts: Verdicts) -> FloatArray:
    upper = np.triu_indices(verdicts.n_judges, k=1)
    distances = item_distances(cell_masses(verdicts))
    return np.asarray(distances[:, upper[0], upper[1]].mean(axis=1))


OF_SWEEP = (forced_choices,)
