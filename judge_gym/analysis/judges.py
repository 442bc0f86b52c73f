"""Figures of one judge at a time: outcomes, consistency, width, display bias, probe reliability."""

from collections.abc import Iterator

import numpy as np

from judge_gym.analysis.data import Arm, select
from judge_gym.analysis.groups import Group
from judge_gym.metrics.cells import Samples, item_means
from judge_gym.metrics.consistency import (
    OutcomeCounts,
    outcome_rates,
    replicate_icc,
    replicate_variance,
)
from judge_gym.metrics.estimate import UNIT_INTERVAL, Estimate, mean_over_items, not_estimable
from judge_gym.metrics.presentation import Displays, label_bias, position_bias
from judge_gym.metrics.subsets import subset_information, subset_width
from judge_gym.store.results import ResultRow
from judge_gym.store.tables import ARMS, SAMPLE_STATUSES


def single_judges(group: Group) -> Iterator[ResultRow]:
    """Yield the figures of each judge of a group; those compared use the common items."""
    for number, judge in enumerate(group.judges):
        own = [group.own_arms[number]]
        for estimate in _of_own_arm(group, number):
            yield group.row(estimate, own, judge=judge.model)
        yield group.row(_probe_difference(group, judge.arms), [judge.arms], judge=judge.model)
        for kind in ARMS:
            arms = judge.of_kind(kind)
            if arms or kind == "own":
                for estimate in outcome_rates(_outcomes(group, arms)):
                    yield group.row(estimate, [arms], judge=judge.model, arm=kind)


def is_subset(group: Group) -> bool:
    """Return whether the group's verdicts name sets of stages."""
    return group.judges[0].experiment.scoring_method == "subset"


def _of_own_arm(group: Group, number: int) -> Iterator[Estimate]:
    verdicts = group.compared.of_judges([number])
    model = group.judges[number].model
    yield replicate_variance(verdicts)
    yield replicate_icc(verdicts, group.rng("replicate_icc", judge=model))
    if is_subset(group):
        yield subset_width(verdicts)
        yield subset_information(verdicts)
    for metric, bias in (("position_bias", position_bias), ("label_bias", label_bias)):
        if is_subset(group):
            because = "verdicts are sets of stages, and the display favours one stage at a time"
            yield not_estimable(metric, because, n=len(verdicts), unit="share")
        else:
            yield bias(_displays(group, number), group.rng(metric, judge=model))


def _displays(group: Group, number: int) -> Displays:
    _, rows = select(group.data.samples, [group.own_arms[number]])
    item = np.searchsorted(group.items, rows.item)
    kept = (rows.status == "scored") & group.common[item]
    stage = np.bitwise_count(rows.stages[kept] - 1).astype(np.int64) + 1
    return Displays(
        judge=np.zeros(len(stage), dtype=np.int64),
        item=item[kept],
        stage=stage,
        shown_first=rows.shown_first[kept],
        lettered_a=rows.lettered_a[kept],
        n_judges=1,
        n_items=len(group.items),
        n_stages=group.n_stages,
    )


def _outcomes(group: Group, arms: tuple[Arm, ...]) -> OutcomeCounts:
    _, rows = select(group.data.samples, [arms])
    item = np.searchsorted(group.items, rows.item)
    counts = {
        status: np.bincount(item[rows.status == status], minlength=len(group.items))
        for status in SAMPLE_STATUSES
    }
    return OutcomeCounts(**counts)


def _probe_difference(group: Group, arms: tuple[Arm, ...]) -> Estimate:
    """Return the mean |first - second| probability of samples probed twice, in [0, 1].

    Over the samples of all the judge's arms, averaged by item, then over items; t interval. The
    conversation is the same, so it is the probe's own noise, in the unit of the probe.
    """
    _, rows = select(group.data.probes, [arms])
    second = np.flatnonzero(rows.sample[1:] == rows.sample[:-1]) + 1
    metric, unit = "probe_difference", "probability"
    if not len(second):
        return not_estimable(metric, "no sample was probed twice", unit=unit)
    twice = Samples(
        judge=np.zeros(len(second), dtype=np.int64),
        item=np.searchsorted(group.items, rows.item[second]),
        n_judges=1,
        n_items=len(group.items),
    )
    cells = twice.means(np.abs(rows.probability[second] - rows.probability[second - 1]))
    per_item, _ = item_means(cells.value, cells.present)
    return mean_over_items(metric, per_item, n=len(second), unit=unit, bounds=UNIT_INTERVAL)
