"""Which name of a concept gives verdicts that hang least on who judges, and in which words."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from judge_gym.analysis.data import SweepData, SweepJudge
from judge_gym.analysis.groups import Group, Scope, result_row
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.shape import COMPARED, share_of
from judge_gym.metrics.stability import shape_spread
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

TABLES = (
    FigureTable(
        "Concepts by stability",
        (
            "How far the shape of verdicts is apart between judges, wordings and rubric draws "
            "under each name of the concept, the most stable first: a name that is read alike by "
            "all has 0. Only judges and settings that every concept has."
        ),
        question="design",
        rank=35,
        figures=(Figure("concept_spread", "share", "two concepts in the same settings"),),
        columns=(
            Column("spread", "concept_spread"),
            Column("items", "concept_spread", "items"),
        ),
        in_terminal=False,
        formulas=(
            (
                "spread = mean of |difference of means over items| between two of judge x wording "
                "x draw, over abstain share, middle, one stage and width of sets"
            ),
        ),
        needs=("Needs two concepts with two judges or wordings in the same setting.",),
    ),
)


def concepts_by_stability(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield how far each concept's shapes are apart, the most stable concept of a window first."""
    by_window: dict[tuple[str, str], dict[str, dict[str, SweepJudge]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for group in groups:
        for judge in group.judges:
            experiment = judge.experiment
            if not experiment.judges_pairs:
                places = by_window[experiment.task_type, judge.window][experiment.concept]
                places[_place(judge)] = judge
    for (_, window), by_concept in sorted(by_window.items()):
        if len(by_concept) > 1:
            rows = [
                _spread(data, {"concept": concept, "window": window}, judges)
                for concept, judges in _in_common(by_concept).items()
            ]
            yield from sorted(rows, key=lambda row: (row.estimate is None, row.estimate or 0.0))


def _in_common(by_concept: Mapping[str, Mapping[str, SweepJudge]]) -> dict[str, list[SweepJudge]]:
    """Return concept → its judges, in the settings that every concept has."""
    common = sorted(set.intersection(*(set(places) for places in by_concept.values())))
    return {
        concept: [places[place] for place in common]
        for concept, places in sorted(by_concept.items())
    }


def _spread(data: SweepData, scope: Scope, judges: Sequence[SweepJudge]) -> ResultRow:
    arms = [judge.of_kind("own") for judge in judges]
    items = data.items_of(arms)
    cells = np.array([_shape(data, judge, items) for judge in judges])
    shape = (len(judges), len(COMPARED), len(items))
    estimate = shape_spread("concept_spread", cells.reshape(shape))
    return result_row(estimate, scope, data.origin_of(arms))


def _place(judge: SweepJudge) -> str:
    """Return all that makes an experiment but its concept."""
    excluded = {"tag", "concept", "persona", "domain", "replicates", "window"}
    content = judge.experiment.model_dump(mode="json", exclude=excluded)
    return canonical_json([content, judge.experiment.window.key])


def _shape(data: SweepData, judge: SweepJudge, items: IntArray) -> FloatArray:
    """Return figures x items of a judge, NaN where an item has none."""
    own = data.readable([judge.of_kind("own")], items, judge.experiment.scale_size)
    found = []
    for share in COMPARED:
        applies = not share.of_sets or judge.experiment.scoring_method == "subset"
        cells = share_of(share, own)
        found.append(np.where(cells.present[0] & applies, cells.value[0], np.nan))
    return np.array(found)


OF_LEVELS = (concepts_by_stability,)
