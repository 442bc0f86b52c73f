"""How often a judge of two verdicts is right on the items of each known answer."""

from collections.abc import Iterator

import numpy as np

from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.analysis.truths import known_truth
from judge_gym.metrics.class_rates import class_rates, renamed
from judge_gym.store.results import ResultRow

_OF_TWO = "single verdicts of two stages on items with known answers, not pairs"

TABLES = (
    FigureTable(
        "Accuracy by known answer",
        (
            "A judge of two verdicts, on the items of each known answer: the share of right "
            "verdicts where the higher stage is right (sensitivity) and where the lower one is "
            "(specificity)."
        ),
        question="right",
        rank=7,
        figures=(
            Figure("known_sensitivity", "share", _OF_TWO),
            Figure("known_specificity", "share", _OF_TWO),
        ),
        columns=(
            Column("sensitivity", "known_sensitivity"),
            Column("answers", "known_sensitivity", "n"),
            Column("specificity", "known_specificity"),
            Column("answers", "known_specificity", "n"),
        ),
        formulas=("each = right / items of that known answer; of repeats, the mean of an item",),
        needs=("Needs an item of that known answer with a readable verdict.",),
        sources=(
            "Exact interval, clustered by question: Clopper and Pearson 1934, Biometrika 26.",
        ),
    ),
)


def by_known_answer(group: Group) -> Iterator[ResultRow]:
    """Yield both rates of each judge of items with one of two known answers."""
    if group.n_stages != 2 or group.is_subset:
        return
    for number, judge in enumerate(group.judges):
        truth = known_truth(group, number)
        if judge.experiment.judges_pairs or truth is None:
            continue
        verdicts = group.own.of_judges([number])
        passes = verdicts.means((verdicts.stages == 2).astype(np.float64))
        given = np.where(passes.present[0], passes.value[0], np.nan)
        people = np.where(truth > 0, truth - 1.0, np.nan)
        questions = group.questions(np.ones(len(group.items), dtype=np.bool_))
        for rate in renamed(class_rates(given, people, questions), "known"):
            yield group.row(rate, [group.own_arms[number]], judge=judge.model)


OF_GROUP = (by_known_answer,)
