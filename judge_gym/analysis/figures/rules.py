"""How far the rule that combines the judges decides what a changed axis does to their verdict."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from judge_gym.analysis.data import Arms, SweepData, SweepJudge
from judge_gym.analysis.figures.axes import AxisPair, axis_pairs
from judge_gym.analysis.groups import MIXED, Group, result_row, without
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.design.axis_pairs import REGROUPED
from judge_gym.metrics.cells import CellMeans, IntArray, Verdicts
from judge_gym.metrics.combining import positions_by_rule, rules_that_keep
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.inference import paired_difference, unpaired_contrast
from judge_gym.metrics.masses import Rule, cell_masses
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

_TWO_JUDGES = "two judges at two levels of one axis"
_NEEDS = (
    "Needs two judges with a verdict at both levels, and an item that all of them scored; two that "
    "differ for the interval."
)

TABLES = (
    FigureTable(
        "Contrasts of the panel, by how many rules",
        (
            "What changing one axis does to the joint verdict of all judges, by the linear pool, "
            "and under which share of the rules of combination that change keeps its sign and its "
            "support (an interval wholly on that side of 0). A change that few rules support is a "
            "property of these rules."
        ),
        question="design",
        rank=16,
        figures=(
            Figure("panel_contrast", "0-1 scale", _TWO_JUDGES),
            Figure("panel_contrast_same_sign", "share", _TWO_JUDGES),
            Figure("panel_contrast_supported", "share", _TWO_JUDGES),
        ),
        columns=(
            Column("linear pool", "panel_contrast"),
            Column("same sign", "panel_contrast_same_sign"),
            Column("supported", "panel_contrast_supported"),
            Column("rules", "panel_contrast_same_sign", "n"),
            Column("items", "panel_contrast", "items"),
        ),
        across=True,
        formulas=(
            "mean over items of (expected stage − 1)/(S − 1) of the judges together, at the second "
            "level − at the first; bundles: over the bundles of one plan − of the other",
            "same sign, supported = rules that agree with the linear pool / rules with an estimate",
        ),
        needs=(_NEEDS,),
    ),
    FigureTable(
        "Contrasts of the panel, by rule",
        "The same change under each other rule of combination.",
        question="design",
        rank=17,
        figures=(Figure("panel_contrast_by_rule", "0-1 scale", _TWO_JUDGES),),
        columns=(
            Column("contrast", "panel_contrast_by_rule"),
            Column("items", "panel_contrast_by_rule", "items"),
        ),
        across=True,
        in_terminal=False,
        formulas=("as by the linear pool; rules as in What the judges say together, by rule",),
        needs=(_NEEDS,),
    ),
)


def panel_contrasts(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield every contrast of all judges together by each rule, and how many rules agree."""
    sides = _Sides(data)
    for _, pairs in axis_pairs(data, groups):
        panels: dict[str, list[AxisPair]] = defaultdict(list)
        for pair in pairs:
            if not pair.refused and not pair.before.experiment.judges_pairs:
                panels[canonical_json(without(pair.scope, "judge"))].append(pair)
        for panel in panels.values():
            scored = [pair for pair in panel if sides.scored(pair)]
            if len(scored) > 1:
                yield from _of_panel(sides, scored)


class _Sides:
    """Where judges together stand at one level of an axis, which several contrasts share."""

    def __init__(self, data: SweepData) -> None:
        self.data = data
        self._items: IntArray = np.arange(len(data.truth.value))
        self._found: dict[tuple[str, ...], dict[str, CellMeans]] = {}

    def scored(self, pair: AxisPair) -> bool:
        """Return whether a judge has a verdict at both levels."""
        return all(len(self._verdicts([one])) for one in (pair.before, pair.after))

    def by_rule(self, judges: Sequence[SweepJudge]) -> dict[str, CellMeans]:
        """Return where these judges stand on each item of the data, by rule."""
        names = tuple(" ".join(str(arm.id) for arm in arms) for arms in _own(judges))
        if names not in self._found:
            stated = self.data.answered(_own(judges), self._items).confidence()
            cells = cell_masses(self._verdicts(judges))
            self._found[names] = dict(positions_by_rule(cells, stated))
        return self._found[names]

    def _verdicts(self, judges: Sequence[SweepJudge]) -> Verdicts:
        size = judges[0].experiment.scale_size
        return self.data.verdicts(_own(judges), self._items, size)


def _of_panel(of_sides: _Sides, pairs: Sequence[AxisPair]) -> Iterator[ResultRow]:
    scope = without(pairs[0].scope, "judge")
    left_out = sorted({item for pair in pairs for item in pair.left_out})
    sides = [[pair.before for pair in pairs], [pair.after for pair in pairs]]
    first, second = map(of_sides.by_rule, sides)
    found = {
        rule: _contrast(scope["axis"], [_without(one, left_out) for one in (before, second[rule])])
        for rule, before in first.items()
        if rule in second
    }
    origin = of_sides.data.origin_of([judge.of_kind("own") for judges in sides for judge in judges])
    mixed = MIXED if any(one.experiment.rubric.kind == "own" for one in chain(*sides)) else ""

    def row(estimate: Estimate, **more: str) -> ResultRow:
        named = replace(estimate, metric=estimate.metric + mixed)
        return result_row(named, {**scope, **more}, origin)

    for rule, estimate in found.items():
        if rule == Rule.LINEAR_POOL:
            yield row(replace(estimate, metric="panel_contrast"))
        else:
            yield row(estimate, rule=rule)
    for share in rules_that_keep(found):
        yield row(share)


def _own(judges: Sequence[SweepJudge]) -> Arms:
    return [judge.of_kind("own") for judge in judges]


def _without(cells: CellMeans, items: Sequence[int]) -> CellMeans:
    n = cells.n.copy()
    n[:, items] = 0
    return replace(cells, n=n)


def _contrast(axis: str, sides: Sequence[CellMeans]) -> Estimate:
    contrast = unpaired_contrast if axis in REGROUPED else paired_difference
    return contrast("panel_contrast_by_rule", sides[0], sides[1], "0-1 scale")


OF_SWEEP = (panel_contrasts,)
