"""Interactions of design axes: their shares of variance, and effects that change sign.

The judge is an axis too, where judges apply a common rubric.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from judge_gym.analysis.data import SweepData, SweepJudge
from judge_gym.analysis.figures.multiverse import choices_of, question_of
from judge_gym.analysis.groups import Group, Scope, generator_of, result_row
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.metrics.cells import CellMeans, FloatArray, mean_scores
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.inference import holm
from judge_gym.metrics.interactions import PARTS, sign_changes, variance_shares
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

_CROSSED = "two axes that are crossed"

TABLES = (
    FigureTable(
        "Shares of variance of two axes",
        (
            "Of the variance between the cells of two crossed axes: the share of either axis, and "
            "of their interaction (p: none), which is what the effect of one depends on the other."
        ),
        question="design",
        rank=100,
        figures=(
            Figure("interaction_share_first", "share", _CROSSED),
            Figure("interaction_share_second", "share", _CROSSED),
            Figure("interaction_share_both", "share", _CROSSED),
        ),
        columns=(
            Column("axis", "interaction_share_first"),
            Column("other axis", "interaction_share_second"),
            Column("interaction", "interaction_share_both"),
            Column("p", "interaction_share_both", "p"),
            Column("items", "interaction_share_both", "items"),
        ),
        formulas=(
            "mean square of the effects (sum to zero) of expected cell means, by products of "
            "different items; share = part / sum of the parts",
            "p by flipping the signs of items",
        ),
        needs=(
            "Needs 4 items with a score in every cell of a full crossing, and cells that differ. "
            "Exploratory: in simulations with 16 and 30 items intervals hold the true share in 88 "
            "to 97%, and nearly always where it is 0.",
        ),
        sources=("McLaren et al. 2026, arXiv 2603.26898; Scheffé 1959, section 4.1.",),
    ),
    FigureTable(
        "Effects that change sign",
        (
            "The effect of changing one axis at the levels of another: its mean over them, the "
            "lowest and the highest. A small p: the effect is above 0 at one level and below 0 at "
            "another."
        ),
        question="design",
        rank=110,
        figures=(
            Figure("effect_over_levels", "0-1 scale", _CROSSED),
            Figure("effect_lowest", "0-1 scale", _CROSSED),
            Figure("effect_highest", "0-1 scale", _CROSSED),
        ),
        columns=(
            Column("mean effect", "effect_over_levels"),
            Column("lowest", "effect_lowest"),
            Column("highest", "effect_highest"),
            Column("p (Holm)", "effect_over_levels", "adjusted"),
            Column("items", "effect_over_levels", "items"),
        ),
        in_terminal=False,
        formulas=(
            "effect = mean over items of (x at the second level − x at the first)",
            "p = L · max(smallest p of no effect above 0, smallest p of none below 0)",
        ),
        needs=(
            "Needs two items with a score in every cell of a full crossing. Intervals of the "
            "lowest and the highest of L effects have the level 1 − 0.1/L, as they are chosen.",
        ),
        sources=("Gail and Simon 1985, Biometrics 41; Berger 1982, Technometrics 24.",),
    ),
)


JUDGE = "judge"
SHARES = tuple(f"interaction_share_{part}" for part in PARTS)
EFFECTS = ("effect_over_levels", "effect_lowest", "effect_highest")


@dataclass(frozen=True, eq=False)
class _Point:
    """One experiment: its level of every axis as text, and its mean score per item of the data."""

    levels: Mapping[str, str]
    judge: SweepJudge
    common_rubric: bool
    scores: CellMeans


@dataclass(frozen=True, eq=False)
class _Crossing:
    """Two axes with the levels that are fully crossed, and a table over items with every cell."""

    axes: tuple[str, str]
    levels: tuple[Sequence[str], Sequence[str]]
    table: FloatArray
    n: int
    settings: int
    of: int

    def method(self, estimate: Estimate) -> Estimate:
        """Return the estimate; its method says over how many settings of the other axes."""
        where = f"; over {self.settings} of {self.of} settings of the other axes"
        return replace(estimate, method=estimate.method + where) if estimate.method else estimate


def interactions(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield, for every two axes of a question, the shares of variance and the changes of sign.

    The p of "one sign at all levels" are adjusted by Holm over the question.
    """
    questions: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        questions[canonical_json(question_of(group.scope))].append(group)
    for members in questions.values():
        question = question_of(members[0].scope)
        points = [point for group in members for point in _points(data, group)]
        names = dict.fromkeys(name for point in points for name in point.levels)
        axes = [n for n in names if len({point.levels.get(n) for point in points}) > 1]
        found = [
            crossing for pair in permutations(axes, 2) if (crossing := _crossing(points, pair))
        ]
        for crossing in found:
            first, second = crossing.axes
            if axes.index(first) < axes.index(second):
                scope = {**question, "axis": first, "moderator": second}
                rng = generator_of(SHARES[0], scope)
                for share in variance_shares(crossing.table, crossing.n, rng):
                    yield result_row(crossing.method(share), scope, data.origin)
        yield from _sign_changes(data, question, found)


def _points(data: SweepData, group: Group) -> Iterator[_Point]:
    items = np.arange(len(data.truth.value))
    for judge in group.judges:
        if not judge.not_applied:
            choices = {name: str(value) for name, value in choices_of(group.scope).items()}
            verdicts = data.verdicts([judge.of_kind("own")], items, judge.experiment.scale_size)
            levels = {JUDGE: judge.model, **choices}
            yield _Point(levels, judge, not group.mixed, mean_scores(verdicts))


def _crossing(points: Sequence[_Point], axes: tuple[str, str]) -> _Crossing | None:
    """Return the largest full crossing of two axes, averaged over the settings that have it."""
    settings: dict[str, dict[tuple[str, str], _Point]] = defaultdict(dict)
    for point in points:
        if JUDGE in axes and not point.common_rubric:
            continue
        rest = {name: value for name, value in point.levels.items() if name not in axes}
        if all(axis in point.levels for axis in axes):
            settings[canonical_json(rest)][point.levels[axes[0]], point.levels[axes[1]]] = point
    blocks = {key: _full_block(list(cells)) for key, cells in settings.items()}
    sizes = Counter(block for block in blocks.values() if block)
    if not sizes:
        return None
    block = max(sizes, key=lambda one: (len(one[0]) * len(one[1]) * sizes[one], one))
    tables, n = [], 0
    for key, cells in settings.items():
        if blocks[key] == block:
            values = [[cells[first, second].scores for second in block[1]] for first in block[0]]
            present = np.stack([[cell.present[0] for cell in row] for row in values])
            complete = present.all(axis=(0, 1))
            table = np.stack([[cell.value[0] for cell in row] for row in values])
            tables.append(np.where(complete, table, np.nan))
            n += sum(int(cell.n[0][complete].sum()) for row in values for cell in row)
    stacked = np.stack(tables).mean(axis=0)  # only items that every setting has
    complete = np.isfinite(stacked).all(axis=(0, 1))
    table = np.moveaxis(stacked[:, :, complete], 2, 0)
    return _Crossing(axes, block, table, n, len(tables), len(settings))


def _full_block(
    present: Sequence[tuple[str, str]],
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return levels that are all crossed, dropping the least crossed level until they are."""
    cells = set(present)
    while cells:
        levels = [Counter(cell[place] for cell in cells) for place in (0, 1)]
        if min(map(len, levels)) < 2:
            return None
        if len(cells) == len(levels[0]) * len(levels[1]):
            return tuple(sorted(levels[0])), tuple(sorted(levels[1]))
        shares = [
            (count / len(levels[1 - place]), place, level)
            for place in (0, 1)
            for level, count in sorted(levels[place].items())
        ]
        _, place, level = min(shares)
        cells = {cell for cell in cells if cell[place] != level}
    return None


def _sign_changes(
    data: SweepData, question: Scope, crossings: Sequence[_Crossing]
) -> Iterator[ResultRow]:
    changes = [
        (crossing, change)
        for crossing in crossings
        if len(crossing.table)
        for change in sign_changes(crossing.table, crossing.n)
    ]
    tested = [change.mean.p for _, change in changes if change.mean.p is not None]
    adjusted = iter(holm(tested))
    for crossing, change in changes:
        of_first, of_second = crossing.levels
        scope = {
            **question,
            "axis": crossing.axes[0],
            "from": of_first[change.start],
            "to": of_first[change.end],
            "moderator": crossing.axes[1],
            "lowest_at": of_second[change.lowest_at],
            "highest_at": of_second[change.highest_at],
        }
        p = None if change.mean.p is None else next(adjusted)
        mean = crossing.method(change.mean)
        if p is not None:
            mean = replace(mean, method=f"{mean.method}; Holm over {len(tested)}")
        yield result_row(mean, scope, data.origin, p)
        for estimate in (change.lowest, change.highest):
            yield result_row(crossing.method(estimate), scope, data.origin)


OF_LEVELS = (interactions,)
