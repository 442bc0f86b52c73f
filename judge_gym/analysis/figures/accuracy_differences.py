"""Which of two judges is right more often, on the items that both answered."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judge_gym.analysis.data import select
from judge_gym.analysis.groups import Group, adjusted_by_holm
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.analysis.truths import truth_of
from judge_gym.metrics.cells import CellMeans
from judge_gym.metrics.inference import paired_contrast
from judge_gym.model_names import pair_of
from judge_gym.store.results import ResultRow

TABLES = (
    FigureTable(
        "Which judge is right more often",
        (
            "The share of answers of the first judge that are right, less that of the second, on "
            "the items that both answered. The interval is of each pair alone; p is adjusted for "
            "all pairs of judges."
        ),
        question="right",
        rank=6,
        figures=(
            Figure(
                "accuracy_difference",
                "share",
                "two judges with single verdicts on items whose known answer is a stage",
            ),
        ),
        columns=(
            Column("right more often by", "accuracy_difference"),
            Column("p (adjusted)", "accuracy_difference", "adjusted"),
            Column("items", "accuracy_difference", "items"),
        ),
        formulas=("difference = mean over items of (share right, first − second judge)",),
        needs=("Needs an item that both answered, two that differ for the interval.",),
        sources=(
            "p by sign flips, of one answer each McNemar's exact test (1947); by t where more than "
            "20 items differ by other amounts. Holm over pairs.",
        ),
        in_terminal=False,
    ),
)


@dataclass(frozen=True, eq=False)
class _Answerer:
    """A judge, its arms, and the share of its answers to each item that is right."""

    place: int
    model: str
    right: CellMeans


def accuracy_differences(group: Group) -> Iterator[ResultRow]:
    """Yield the difference of each two judges, the first by name less the second."""
    if group.is_subset:
        return
    judges = [one for number in group.present if (one := _judge(group, number)) is not None]
    pairs, question = list(combinations(judges, 2)), group.data.questions(group.items)
    estimates = [
        paired_contrast("accuracy_difference", second.right, first.right, None, "share", question)
        for first, second in pairs
    ]
    for (first, second), (estimate, p) in zip(pairs, adjusted_by_holm(estimates), strict=True):
        arms = [group.own_arms[one.place] for one in (first, second)]
        pair = pair_of(first.model, second.model)
        yield group.row(estimate, arms, p_adjusted=p, pair=pair)


def _judge(group: Group, number: int) -> _Answerer | None:
    """Return what a judge has right; None where no answer is known.

    Of a pair, a judgement without a verdict is not right, as in its accuracy.
    """
    truth = truth_of(group, number)
    if truth is None or isinstance(truth, str):
        return None
    judge = group.judges[number]
    _, rows = select(group.data.samples, [group.own_arms[number]])
    item = np.searchsorted(group.items, rows.item)
    chosen = (truth.stage[item] > 0) & (judge.experiment.judges_pairs | (rows.stages > 0))
    item, right = item[chosen], rows.stages[chosen] == 1 << (truth.stage[item[chosen]] - 1)
    n = np.bincount(item, minlength=len(group.items))
    share = np.bincount(item, weights=right, minlength=len(group.items)) / np.maximum(n, 1)
    return _Answerer(number, judge.model, CellMeans(share[None], n[None]))


OF_GROUP = (accuracy_differences,)
