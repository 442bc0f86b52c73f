"""Forced-choice inflation: the same judges on the same items, with single and subset verdicts."""

from collections.abc import Iterator, Sequence

import numpy as np

from judge_gym.analysis.data import Arms, Judge, SweepData
from judge_gym.analysis.groups import Group, generator_of, result_row
from judge_gym.metrics.belief import item_distances
from judge_gym.metrics.cells import FloatArray, Verdicts, pignistic
from judge_gym.metrics.masses import cell_masses
from judge_gym.metrics.polarization import mean_jensen_shannon
from judge_gym.metrics.subsets import forced_choice
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

SINGLE, SUBSET = "single", "subset"


def forced_choices(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield what subsets take off the distance between judges, for groups under one rubric."""
    found: dict[str, dict[str, Group]] = {}
    for group in groups:
        first = group.judges[0].experiment
        if first.rubric.kind != "own" and first.scoring_method in (SINGLE, SUBSET):
            content = first.model_dump(
                mode="json",
                exclude={"tag", "window", "replicates", "model", "family", "scoring_method"},
            )
            key = canonical_json([content, first.window.key])
            found.setdefault(key, {})[first.scoring_method] = group
    for pair in found.values():
        if len(pair) == 2:
            yield from _of_pair(data, pair[SINGLE], pair[SUBSET])


def _of_pair(data: SweepData, single: Group, subset: Group) -> Iterator[ResultRow]:
    models = sorted(
        {single.judges[number].model for number in single.present}
        & {subset.judges[number].model for number in subset.present}
    )
    arms = [_own(group, models) for group in (single, subset)]
    items = data.items_of([*arms[0], *arms[1]])
    one, many = (data.verdicts(own, items, single.n_stages) for own in arms)
    scope = {name: value for name, value in single.scope.items() if name != "scoring_method"}
    origin = data.origin_of([*arms[0], *arms[1]])
    twice = one.common_items(2) & many.common_items(2)
    for name, unit, distance, pair in (
        ("forced_choice_polarization", "bits", _divergence, (one, many)),
        (
            "forced_choice_distance",
            "squared Jaccard distance",
            _distance,
            (one.rows(twice[one.item]), many.rows(twice[many.item])),
        ),
    ):
        found = forced_choice(name, *pair, distance, generator_of(name, scope), unit)
        for estimate in (found.drop, found.beyond_chance):
            yield result_row(estimate, scope, origin)


def _own(group: Group, models: Sequence[str]) -> Arms:
    by_model: dict[str, Judge] = {judge.model: judge for judge in group.judges}
    return [by_model[model].of_kind("own") for model in models]


def _divergence(verdicts: Verdicts) -> FloatArray:
    p, _ = pignistic(verdicts)
    return mean_jensen_shannon(p.swapaxes(0, 1))


def _distance(verdicts: Verdicts) -> FloatArray:
    upper = np.triu_indices(verdicts.n_judges, k=1)
    distances = item_distances(cell_masses(verdicts))
    return np.asarray(distances[:, upper[0], upper[1]].mean(axis=1))
