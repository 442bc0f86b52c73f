"""What a sweep's critic says of its judges' reasoning, and the main figures without what fails."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from judge_gym.analysis.comparing import families_of
from judge_gym.analysis.data import select
from judge_gym.analysis.groups import Group
from judge_gym.metrics.reasoning import (
    PASSES,
    mark_shares,
    polarization_shift,
    score_shift,
)
from judge_gym.model_names import is_simulated_model
from judge_gym.store.results import ResultRow


def reasoning(group: Group) -> Iterator[ResultRow]:
    """Yield how each judge's reasoning was marked, then the sensitivity of the main figures.

    Nothing without a critic.
    """
    critic = group.data.critic
    if critic is None:
        return
    simulated = is_simulated_model(critic.model)
    for row in (*_shares(group), *_shifts(group)):
        yield replace(row, simulated=row.simulated or simulated)


def _shares(group: Group) -> Iterator[ResultRow]:
    for number, judge in enumerate(group.judges):
        own = [group.own_arms[number]]
        _, rows = select(group.data.samples, own)
        scored = rows.status == "scored"
        item = np.searchsorted(group.items, rows.item[scored])
        for estimate in mark_shares(item, rows.marks[scored], len(group.items)):
            yield group.row(estimate, own, judge=judge.model)


def _shifts(group: Group) -> Iterator[ResultRow]:
    judge, rows = select(group.data.samples, group.own_arms)
    scored = rows.status == "scored"
    passes = rows.marks[scored] == PASSES
    for number, one in enumerate(group.judges):
        own = group.own.judge == number
        for estimate in score_shift(group.own.of_judges([number]), passes[own]):
            yield group.row(estimate, [group.own_arms[number]], judge=one.model)
    _, family = families_of(group)
    present = np.isin(judge[scored], group.present)
    rng = group.rng("polarization_excess_shift")
    verdicts = group.own.of_judges(group.present)
    for estimate in polarization_shift(verdicts, passes[present], rng, family=family):
        yield group.across(estimate)
