"""Whether judges favour systems of their own family, and long answers, on the same questions."""

from collections.abc import Iterator

import numpy as np

from judge_gym.analysis.figures.systems import scores_by_system
from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.metrics.favouritism import favour_bias, favour_difference, longer
from judge_gym.store.results import ResultRow

_OWN = "recorded judgements of one question by systems of the judge's family and of others"
_LONG = "recorded judgements of several texts of one question"

TABLES = (
    FigureTable(
        "Favouritism",
        (
            "Whether a judge favours systems of its own family, or the longer answers, over others "
            "on the same questions. With people's labels it is bias: judge less people there, less "
            "the same of the others. Difference: of the judge's scores alone, which may be "
            "right. A judge that errs at random gives weak systems too much and strong ones too "
            "little: read bias beside people's means of the systems."
        ),
        question="went-wrong",
        rank=28,
        figures=(
            Figure("own_family_bias", "share", f"{_OWN}, with known answers"),
            Figure("own_family_difference", "share", _OWN),
            Figure("longer_bias", "share", f"{_LONG}, with known answers"),
            Figure("longer_difference", "share", _LONG),
        ),
        columns=(
            Column("own family, bias", "own_family_bias", digits=3),
            Column("own family, difference", "own_family_difference", digits=3),
            Column("longer, bias", "longer_bias", digits=3),
            Column("longer, difference", "longer_difference", digits=3),
            Column("questions", "longer_difference", "items"),
        ),
        formulas=(
            "bias = mean over questions of (mean of judge − people over own systems) − (the same "
            "over others)",
            "longer: above the median length of a question's answers, against below it",
        ),
        needs=("Needs a question that systems of both kinds answered.",),
        in_terminal=False,
    ),
)


def favouritism(group: Group) -> Iterator[ResultRow]:
    """Yield how far each judge favours its own family and long answers; nothing of one system or
    of pairs."""
    truth = group.data.truth
    found = scores_by_system(group)
    if found is None or found.of_pairs:
        return
    families = np.array(truth.family or truth.system, dtype=np.str_)[group.items]
    lengths = np.array(truth.length or (0,) * len(truth.label), dtype=np.int64)[group.items]
    families, lengths = families[found.placed], lengths[found.placed]
    for number, judge in enumerate(group.judges):
        judged = found.judged(number)
        own = families == judge.experiment.family
        none = np.zeros(len(own), dtype=np.bool_)
        kinds = []
        if own.any() and not own.all():
            kinds.append(("own_family", own, none))
        if lengths.any():
            kinds.append(("longer", *longer(lengths, judged.cluster)))
        for kind, chosen, left in kinds:
            for estimate in (
                favour_bias(f"{kind}_bias", judged, chosen, left),
                favour_difference(f"{kind}_difference", judged, chosen, left),
            ):
                yield group.row(estimate, [group.own_arms[number]], judge=judge.model)


OF_GROUP = (favouritism,)
