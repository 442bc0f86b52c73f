"""What a sweep's critic says of its judges' reasoning, and the main figures without what fails."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from judge_gym.analysis.data import select
from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import (
    DESIGN_EFFECT,
    LIN,
    NEEDS_REPLICATES,
    Column,
    Figure,
    FigureTable,
)
from judge_gym.metrics.reasoning import (
    PASSES,
    mark_shares,
    polarization_shift,
    score_shift,
)
from judge_gym.model_names import is_simulated_model
from judge_gym.store.results import ResultRow

_CRITIC = "a `score_critic` in its file, and scored verdicts"

TABLES = (
    FigureTable(
        "Reasoning, as a critic marks it",
        (
            "Shares of verdicts whose reasoning passes a critic: it cites something in the "
            "evidence, leads to the verdict, and rests on the evidence. No other table leaves out "
            "what fails."
        ),
        question="went-wrong",
        rank=30,
        figures=(
            Figure("reasoning_passes", "share", _CRITIC),
            Figure("reasoning_observable", "share", _CRITIC),
            Figure("reasoning_consistent", "share", _CRITIC),
            Figure("reasoning_uses_evidence", "share", _CRITIC),
            Figure("reasoning_absent", "share", _CRITIC),
            Figure("reasoning_unmarked", "share", _CRITIC),
        ),
        columns=(
            Column("passes", "reasoning_passes"),
            Column("cites evidence", "reasoning_observable"),
            Column("fits verdict", "reasoning_consistent"),
            Column("rests on evidence", "reasoning_uses_evidence"),
            Column("without reasoning", "reasoning_absent"),
            Column("without marks", "reasoning_unmarked"),
            Column("marked", "reasoning_passes", "n"),
        ),
        formulas=("marked so / marked; passes: all three marks; Wilson clustered by item",),
        needs=("Needs `score_critic` in the sweep file, and one sample.",),
        sources=(DESIGN_EFFECT,),
    ),
    FigureTable(
        "Scores whose reasoning passes",
        (
            "A judge's mean score on the verdicts whose reasoning passes the critic, and how far "
            "it lies from the mean of all its verdicts on the same items: 0 is no difference."
        ),
        question="went-wrong",
        rank=40,
        figures=(
            Figure("score_mean_passing", "0-1 scale", _CRITIC),
            Figure("score_mean_shift", "0-1 scale", _CRITIC),
        ),
        columns=(
            Column("mean, passing", "score_mean_passing"),
            Column("passing - all", "score_mean_shift", digits=3),
            Column("items", "score_mean_shift", "items"),
            Column("verdicts", "score_mean_shift", "n"),
        ),
        formulas=("mean over items of x̄(passing); of x̄(passing) − x̄(all), paired by item",),
        needs=("Needs one item with a passing verdict.",),
    ),
    FigureTable(
        "Polarization of verdicts whose reasoning passes",
        (
            "P - P0 of the verdicts whose reasoning passes the critic, and how far it lies from "
            "random subsets of all verdicts of the same size: 0 is no difference."
        ),
        question="went-wrong",
        rank=50,
        figures=(
            Figure("polarization_excess_passing", "bits", _CRITIC),
            Figure("polarization_excess_shift", "bits", _CRITIC),
        ),
        columns=(
            Column("P - P0, passing", "polarization_excess_passing"),
            Column("passing - random", "polarization_excess_shift"),
            Column("items", "polarization_excess_shift", "items"),
            Column("verdicts", "polarization_excess_shift", "n"),
        ),
        across=True,
        of_all_samples=True,
        formulas=(
            "passing − random = mean over items of (P − P0)(passing) − mean over 20 draws of "
            "(P − P0)(as many verdicts of each cell, at random)",
        ),
        needs=(NEEDS_REPLICATES,),
        sources=(LIN,),
    ),
)


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
    _, family = group.families
    present = np.isin(judge[scored], group.present)
    rng = group.rng("polarization_excess_shift")
    verdicts = group.own.of_judges(group.present)
    for estimate in polarization_shift(verdicts, passes[present], rng, family=family):
        yield group.across(estimate)


OF_GROUP = (reasoning,)
