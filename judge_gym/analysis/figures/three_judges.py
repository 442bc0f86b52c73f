"""Whether three judges are better than the best of them, and whether figures order judges alike."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from judge_gym.analysis.data import SweepData
from judge_gym.analysis.groups import Group, origin_of_rows, result_row, without
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.analysis.truths import truth_of_single
from judge_gym.metrics.cells import IntArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.three_judges import (
    FEWEST_JUDGES,
    KAPPA,
    PARTS,
    SHARE,
    names_of,
    three_judges_leads,
)
from judge_gym.model_names import recorded_name
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

_FOUR = "one verdict of four judges on each item, with known answers"
_JUDGES = "two figures of the same judges, such as accuracy and kappa"

TABLES = (
    FigureTable(
        "Three judges against one",
        (
            "The median of the three judges that are best on a fifth of the items, against the "
            "single judge that is best on it, both on the other items. Above 0 the three are "
            "better. By fifth, and the mean over all five."
        ),
        question="right",
        rank=77,
        figures=(
            Figure("three_judges_lead", "share", _FOUR),
            Figure("three_judges_kappa_lead", "kappa", _FOUR),
        ),
        columns=(
            Column("right, ahead by", "three_judges_lead", digits=3),
            Column("kappa, ahead by", "three_judges_kappa_lead", digits=3),
            Column("items", "three_judges_lead", "items"),
        ),
        formulas=(
            "ahead by = score(median of three) − score(one) on four fifths of the items, both "
            "chosen by the same score on the other fifth",
            "interval: jackknife over questions, the choice as it is",
        ),
        needs=(f"Needs {FEWEST_JUDGES} judges with one verdict each on {2 * PARTS} items.",),
        in_terminal=False,
    ),
    FigureTable(
        "Do figures order judges alike?",
        (
            "Pairs of judges that one figure orders the other way than another does: the judge "
            "with more agreement has less kappa, or the one with more kappa errs more about "
            "systems. Equal values order nothing."
        ),
        question="right",
        rank=78,
        figures=(Figure("judge_order_inversions", "pairs", _JUDGES),),
        columns=(
            Column("inverted", "judge_order_inversions", digits=0),
            Column("pairs", "judge_order_inversions", "n"),
            Column("judges", "judge_order_inversions", "items"),
        ),
        formulas=("inverted = pairs whose differences by the two figures have opposite signs",),
        needs=("Needs two judges with both figures, of all items.",),
        in_terminal=False,
    ),
)
_COMPARED = (
    ("accuracy", "cohens_kappa", 1),
    ("cohens_kappa", "system_error", -1),
    ("cohens_kappa", "order_inversions", -1),
)
"""Two figures of judges, and the sign of the second: -1 where a better judge has less of it."""


def three_judges(group: Group) -> Iterator[ResultRow]:
    """Yield the lead of three judges over one; nothing of pairs, replicates and unknown answers."""
    truth = truth_of_single(group)
    if truth is None or len(group.present) < FEWEST_JUDGES or _answered_twice(group):
        return
    stages, chosen = _grades(group, truth)
    models = [group.judges[place].model for place in group.present]
    names = [*map(recorded_name, models)]
    cluster = group.questions(chosen)
    for metric, by in (("three_judges_lead", SHARE), ("three_judges_kappa_lead", KAPPA)):
        rng = group.rng("three_judges")  # both are chosen on the same fifths
        for lead in three_judges_leads(metric, stages, truth[chosen], cluster, rng, by):
            estimate, about = lead.estimate, {}
            if lead.part:
                three, one = names_of(lead.three, names), names[lead.one]
                estimate = replace(estimate, method=f"{three} against {one}; {estimate.method}")
                about = {"part": f"fifth {lead.part}"}
            yield group.row(estimate, group.own_arms, p_adjusted=None, **about)


def _answered_twice(group: Group) -> bool:
    """Whether a judge has several verdicts on an item: orders of a pair, or replicates."""
    cells = group.own.judge * len(group.items) + group.own.item
    return group.judges[0].experiment.judges_pairs or len(np.unique(cells)) < len(cells)


def _grades(group: Group, truth: IntArray) -> tuple[IntArray, np.ndarray]:
    """Return stages (items x present judges) of the items that all scored, and which these are."""
    stages = np.zeros((len(group.items), len(group.judges)), dtype=np.int64)
    stages[group.own.item, group.own.judge] = np.bitwise_count(group.own.stages - 1) + 1
    stages = stages[:, group.present]
    chosen = (stages > 0).all(axis=1) & (truth > 0)
    return stages[chosen], chosen


def orders_of_judges(
    data: SweepData, groups: Sequence[Group], rows: Sequence[ResultRow]
) -> Iterator[ResultRow]:
    """Yield how many pairs of judges two figures order otherwise, by group of judges."""
    by_group: dict[str, dict[str, dict[str, ResultRow]]] = defaultdict(lambda: defaultdict(dict))
    wanted = {name for first, second, _ in _COMPARED for name in (first, second)}
    for row in rows:
        if row.metric not in wanted or row.estimate is None or "judge" not in row.scope:
            continue
        rest = without(row.scope, "judge")
        if not {"system", "category", "rival"} & rest.keys():
            of = by_group[canonical_json(rest)]
            of[row.metric][str(row.scope["judge"])] = row
    for of in by_group.values():
        for first, second, sign in _COMPARED:
            judges = sorted(of[first].keys() & of[second].keys())
            if len(judges) > 1:
                yield _inversions(of[first], of[second], sign, judges)


def _inversions(
    first: dict[str, ResultRow], second: dict[str, ResultRow], sign: int, judges: list[str]
) -> ResultRow:
    one = first[judges[0]]
    names = (one.metric, second[judges[0]].metric)
    pairs = list(combinations(judges, 2))
    inverted = sum(
        (_value(first, a) - _value(first, b)) * sign * (_value(second, a) - _value(second, b)) < 0
        for a, b in pairs
    )
    scope = without(one.scope, "judge")
    estimate = Estimate(
        "judge_order_inversions", inverted, None, None, len(pairs), len(judges), unit="pairs",
        method=f"pairs of judges that {names[0]} and {names[1]} order otherwise",
    )  # fmt: skip
    every = [of[judge] for judge in judges for of in (first, second)]
    return result_row(estimate, {**scope, "rule": " and ".join(names)}, origin_of_rows(every))


def _value(rows: dict[str, ResultRow], judge: str) -> float:
    return rows[judge].estimate or 0.0


OF_GROUP = (three_judges,)
OF_ROWS = (orders_of_judges,)
