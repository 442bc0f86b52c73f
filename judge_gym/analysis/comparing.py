"""Figures across the judges of a group: polarization, calibration, beliefs and agreement."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from judge_gym.analysis.data import select
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
from judge_gym.metrics.cells import IntArray, Verdicts, item_means, pignistic
from judge_gym.metrics.consistency import time_correlation
from judge_gym.metrics.entrenchment import calibration, entrenchment
from judge_gym.metrics.estimate import (
    UNIT_INTERVAL,
    Estimate,
    Remark,
    RemarkKind,
    mean_over_items,
    not_estimable,
    remarked,
)
from judge_gym.metrics.inference import holm_over
from judge_gym.metrics.margins import ALPHA
from judge_gym.metrics.masses import CellMasses, cell_masses
from judge_gym.metrics.polarization import (
    Divergence,
    corrected_polarization,
    mean_jensen_shannon,
    measure_polarization,
    polarization_by_pair,
)
from judge_gym.store.results import ResultRow

FLOOR_PERMUTATIONS = 200
"""Enough for the mean of a null distribution; a p value needs the metrics' own number."""


def comparisons(group: Group) -> Iterator[ResultRow]:
    """Yield the polarization of a group, then of its pairs of families, then what rests on it."""
    verdicts = group.own.of_judges(group.present)
    families, family = families_of(group)
    yield group.across(_time_correlation(group, verdicts))
    yield from _polarization(group, verdicts, family)
    yield from _pairs(group, verdicts, families, family)
    yield from _entrenchment(group, verdicts, family)
    yield from _calibration(group, verdicts)
    yield from _confidence(group)


def adjusted_by_holm(estimates: list[Estimate]) -> Iterator[tuple[Estimate, float | None]]:
    """Yield each estimate, its method naming the correction, with its adjusted p."""
    for raw, adjusted in zip(estimates, holm_over(estimates), strict=True):
        yield replace(raw, method=adjusted.method), adjusted.p


def families_of(group: Group) -> tuple[list[str], IntArray]:
    """Return the families present, ascending, and the number of each present judge's family."""
    judge_families = [group.judges[judge].experiment.family for judge in group.present]
    families = sorted(set(judge_families))
    return families, np.array([families.index(name) for name in judge_families], dtype=np.int64)


def _time_correlation(group: Group, verdicts: Verdicts) -> Estimate:
    """Return how alike replicates that follow each other in time are, with a caution if so."""
    metric = "replicate_time_correlation"
    _, rows = select(group.data.samples, [group.own_arms[judge] for judge in group.present])
    time = rows.answered_at[rows.status == "scored"]
    if not np.isfinite(time).all():
        because = "imported judgements have no time"
        return not_estimable(metric, because, n=len(verdicts), unit="correlation")
    estimate = time_correlation(verdicts, time, group.rng(metric))
    if estimate.p is None or estimate.p >= ALPHA or (estimate.estimate or 0.0) <= 0:
        return estimate
    return remarked(estimate, Remark(RemarkKind.DEPENDENT_REPLICATES, estimate.estimate))


def _polarization(group: Group, verdicts: Verdicts, family: IntArray) -> Iterator[ResultRow]:
    for divergence in (Divergence.JENSEN_SHANNON, Divergence.ORDINAL):
        figure = measure_polarization(
            verdicts, group.rng(divergence.metric), divergence=divergence, family=family
        )
        yield group.across(figure.estimate)
        yield group.across(figure.excess)
    yield group.across(corrected_polarization(verdicts, family=family))


def _pairs(
    group: Group, verdicts: Verdicts, families: list[str], family: IntArray
) -> Iterator[ResultRow]:
    pairs = polarization_by_pair(verdicts, group.rng("polarization_pair"), family=family)
    estimates = [replace(pair.estimate, metric="polarization_pair") for pair in pairs.values()]
    for pair, (estimate, p) in zip(pairs, adjusted_by_holm(estimates), strict=True):
        first, second = (families[number] for number in pair)
        arms = [
            own
            for own, judge in zip(group.own_arms, group.judges, strict=True)
            if judge.experiment.family in (first, second)
        ]
        named = replace(estimate, metric=estimate.metric + group.mixed)
        yield group.row(named, arms, p_adjusted=p, pair=f"{first} and {second}")


def _entrenchment(group: Group, verdicts: Verdicts, family: IntArray) -> Iterator[ResultRow]:
    probes = group.answered(group.own_arms).of_judges(group.present)
    figure = entrenchment(
        verdicts,
        probes,
        group.rng("entrenchment"),
        family=family,
        permutations=FLOOR_PERMUTATIONS,
    )
    yield group.across(figure.estimate)
    yield group.across(figure.excess)


def _calibration(group: Group, verdicts: Verdicts) -> Iterator[ResultRow]:
    probes = group.answered(group.own_arms).of_judges(group.present)
    figures = calibration(verdicts, probes)
    place = {judge: number for number, judge in enumerate(group.present)}
    for metric, by_judge in (
        ("overconfidence", figures.overconfidence_by_judge),
        ("brier_score", figures.brier_by_judge),
    ):
        for number, judge in enumerate(group.judges):
            estimate = (
                by_judge[place[number]]
                if number in place
                else not_estimable(metric, "the judge has no scored verdict", unit="probability")
            )
            named = replace(estimate, metric=metric + group.mixed)
            yield group.row(named, group.own_arms, judge=judge.model)


def _confidence(group: Group) -> Iterator[ResultRow]:
    probes = group.answered(group.own_arms)
    probes = probes.rows(group.common[probes.item])
    for number, judge in enumerate(group.judges):
        judge_probes = probes.of_judges([number])
        cells = judge_probes.confidence()
        per_item, kept = item_means(cells.value, cells.present)
        estimate = mean_over_items(
            "confidence", per_item, n=cells.n.sum(axis=0)[kept], unit="probability",
            bounds=UNIT_INTERVAL, items=kept,
        )  # fmt: skip
        yield group.row(estimate, [group.own_arms[number]], judge=judge.model)


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
        yield from _judge_figures(group, number, cells.of_judges([place]))


def agreements(group: Group) -> Iterator[ResultRow]:
    """Yield chance-corrected agreement across the judges."""
    verdicts = group.own.of_judges(group.present)
    yield group.across(krippendorff_alpha(verdicts, group.rng("krippendorff_alpha")))
    yield group.across(gwet_ac(verdicts, group.rng("gwet_ac")))


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
