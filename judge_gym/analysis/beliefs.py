"""Belief-function figures of a group, and agreement between its judges corrected for chance."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from judge_gym.analysis.groups import Group
from judge_gym.analysis.judges import is_subset
from judge_gym.metrics.accuracy import rank_correlation
from judge_gym.metrics.agreement import gwet_ac, krippendorff_alpha
from judge_gym.metrics.belief import (
    PairFigures,
    belief_distance,
    combination_record,
    conflict,
    item_conflicts,
    self_conflict,
    stage_support,
    uncertainty_gap,
)
from judge_gym.metrics.cells import Verdicts, pignistic
from judge_gym.metrics.components import variance_components
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.masses import CellMasses, cell_masses
from judge_gym.metrics.polarization import mean_jensen_shannon
from judge_gym.store.results import ResultRow

_FEWEST_ITEMS = 4


def beliefs(group: Group) -> Iterator[ResultRow]:
    """Yield conflict, distance, gap, support and the classical combinations of a group."""
    verdicts = group.own.of_judges(group.present)
    cells = cell_masses(verdicts)
    for figures in (conflict(cells), belief_distance(cells)):
        yield from _by_pair(group, figures)
    if not is_subset(group):
        yield group.across(_excess_follows_polarization(verdicts))
    for estimate in combination_record(cells):
        rule = estimate.metric.removeprefix("combined_gap_")
        if rule == estimate.metric:
            yield group.across(estimate)
        else:
            yield group.across(replace(estimate, metric="combined_gap"), rule=rule)
    for place, number in enumerate(group.present):
        yield from _of_judge(group, number, cells.of_judges([place]))


def agreements(group: Group) -> Iterator[ResultRow]:
    """Yield chance-corrected agreement across the judges, and where their variance comes from."""
    verdicts = group.own.of_judges(group.present)
    yield group.across(krippendorff_alpha(verdicts, group.rng("krippendorff_alpha")))
    yield group.across(gwet_ac(verdicts, group.rng("gwet_ac")))
    for estimate in variance_components(verdicts, group.rng("variance_components")):
        yield group.across(estimate)


def _by_pair(group: Group, figures: PairFigures) -> Iterator[ResultRow]:
    yield group.across(figures.overall)
    for pair, estimate in figures.by_pair.items():
        numbers = [group.present[place] for place in pair]
        named = replace(estimate, metric=estimate.metric + group.mixed)
        arms = [group.own_arms[number] for number in numbers]
        models = " and ".join(group.judges[number].model for number in numbers)
        yield group.row(named, arms, p_adjusted=None, pair=models)


def _of_judge(group: Group, number: int, cells: CellMasses) -> Iterator[ResultRow]:
    arms, model = [group.own_arms[number]], group.judges[number].model
    yield group.row(self_conflict(cells), arms, judge=model)
    if is_subset(group):
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
