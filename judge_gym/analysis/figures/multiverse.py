"""Specification curves of a sweep: every claim about its judges, in every defensible cell.

A cell is a comparison group: one combination of design choices, of pairs also one order of the
answers. It is defensible where judges apply a common rubric and every choice was applied. Concept,
window, country, task and bundle are the question, not a choice: cells are compared within one.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from judge_gym.analysis.data import SweepData, SweepJudge, select
from judge_gym.analysis.groups import Group, Scope, generator_of, result_row, without
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.analysis.truths import truth_of
from judge_gym.metrics.cells import (
    CellMeans,
    FloatArray,
    Verdicts,
    mean_scores,
    means_by,
    set_sizes,
)
from judge_gym.metrics.estimate import Estimate, caution_below
from judge_gym.metrics.inference import holm
from judge_gym.metrics.multiverse import Curve, DealtCell, difference_curve, excess_curve
from judge_gym.metrics.polarization import mean_jensen_shannon
from judge_gym.model_names import pair_of
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

_TWO_CELLS = "two cells in which the same judges applied a common rubric"

TABLES = (
    FigureTable(
        "Specification curves",
        (
            "One claim in every defensible cell of the design: polarization above its floor, or "
            "the first judge of a pair less the second. The median of the cells; the share of "
            "cells of one sign and the share significant on one side, each beside its mean by "
            "chance; and the share significant against the median. A cell of exactly 0 is of no "
            "sign."
        ),
        question="design",
        rank=60,
        figures=(
            Figure("specification_median", "0-1 scale or share", _TWO_CELLS),
            Figure("specification_same_sign", "share", _TWO_CELLS),
            Figure("specification_significant", "share", _TWO_CELLS),
            Figure("specification_against", "share", _TWO_CELLS),
        ),
        columns=(
            Column("median", "specification_median"),
            Column("p (Holm)", "specification_median", "adjusted"),
            Column("same sign", "specification_same_sign"),
            Column("by chance", "specification_same_sign", "floor"),
            Column("p", "specification_same_sign", "p"),
            Column("significant", "specification_significant"),
            Column("by chance", "specification_significant", "floor"),
            Column("p", "specification_significant", "p"),
            Column("against", "specification_against"),
            Column("cells", "specification_same_sign", "n"),
        ),
        formulas=(
            "a cell: mean over items of (value of the first judge − value of the second)",
            "median, share of one sign, share with an interval off 0, over cells",
            "null: the labels of the two judges exchanged within an item or not, at random, the "
            "same in every cell; of polarization, the samples of an item dealt to the judges, in "
            "the order of random keys that are the same in every cell",
        ),
        needs=(
            "Needs two cells in which the same judges applied a common rubric. p takes the judges "
            "as exchangeable: where their differences are skewed around 0 (skewness 2), p of the "
            "median is below 0.05 in 7 to 9% of simulations with 16 and 30 items.",
        ),
        sources=("Simonsohn, Simmons and Nelson 2020, Nature Human Behaviour 4.",),
    ),
    FigureTable(
        "Cells of the specification curves",
        "The claim in each cell, with its 95% interval.",
        question="design",
        rank=70,
        figures=(Figure("specification", "0-1 scale or share", _TWO_CELLS),),
        columns=(Column("estimate", "specification"), Column("items", "specification", "items")),
        in_terminal=False,
        formulas=("as above, one cell at a time; t interval over items",),
        needs=("Needs an item that both judges scored, two that differ for the interval.",),
    ),
)


ADVISED_ITEMS = 30
"""Below, tests and intervals of skewed differences miss their level; see the self-test."""
POLARIZATION, ACCURACY, SCORE = "polarization", "accuracy", "score"
UNITS = {ACCURACY: "share", SCORE: "0-1 scale"}
CELL, MEDIAN = "specification", "specification_median"
CURVE = (MEDIAN, "specification_same_sign", "specification_significant", "specification_against")
QUESTION = ("concept", "country", "window", "task_type", "bundle_size")
"""Parts of a scope that say which question a cell answers."""
AS_GIVEN, SWAPPED = "as given", "swapped"


def specification_curves(
    data: SweepData, groups: Sequence[Group], rows: Sequence[ResultRow]
) -> Iterator[ResultRow]:
    """Yield each claim's cells and the figures of its curve; `rows` are the sweep's other figures.

    p of the medians of one question and claim are adjusted by Holm over the pairs of judges.
    """
    excess = {row.scope_key: row for row in rows if row.metric == "polarization_excess"}
    questions: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        if not group.mixed:
            questions[canonical_json(question_of(group.scope))].append(group)
    for members in questions.values():
        yield from _polarization(data, members, excess)
        yield from _differences(data, members)


def question_of(scope: Scope) -> Scope:
    return {name: scope[name] for name in QUESTION if name in scope}


def choices_of(scope: Scope) -> Scope:
    return without(scope, *QUESTION)


@dataclass(frozen=True, eq=False)
class _Cell:
    """The values of a claim in one cell: one per judge (by model) and item of the data."""

    choices: Scope
    claim: str
    values: dict[str, CellMeans]


def _differences(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    cells = [cell for group in groups for cell in _cells(data, group)]
    models = sorted({model for cell in cells for model in cell.values})
    for claim in UNITS:
        curves = []
        for first, second in combinations(models, 2):
            shared = [
                cell
                for cell in cells
                if cell.claim == claim and {first, second} <= set(cell.values)
            ]
            if len(shared) > 1:
                scope = {**question_of(groups[0].scope), "claim": claim}
                scope |= {"pair": pair_of(first, second)}
                curve = _difference_curve(data, shared, (first, second), claim, scope)
                curves.append((scope, shared, curve))
        tested = [curve.median.p for _, _, curve in curves if curve.median.p is not None]
        adjusted = iter(holm(tested))
        for scope, shared, curve in curves:
            p = None if curve.median.p is None else next(adjusted)
            yield from _rows(data, scope, [cell.choices for cell in shared], curve, p, len(tested))


def _difference_curve(
    data: SweepData, cells: Sequence[_Cell], pair: tuple[str, str], claim: str, scope: Scope
) -> Curve:
    columns, samples = [], []
    for cell in cells:
        one, other = (cell.values[model] for model in pair)
        both = (one.present & other.present)[0]
        columns.append(np.where(both, (one.value - other.value)[0], np.nan))
        samples.append(int((one.n + other.n)[0][both].sum()))
    differences = np.stack(columns, axis=1)
    question = data.questions(np.arange(len(differences)))
    if question is not None:  # exchanged and resampled together
        differences = means_by(question, differences)
    used = np.isfinite(differences).any(axis=1)
    rng = generator_of(CELL, scope)
    return difference_curve(differences[used], samples, rng, unit=UNITS[claim])


def _cells(data: SweepData, group: Group) -> Iterator[_Cell]:
    """Yield the cells of a group: a claim about scores and, where the truth is known, accuracy."""
    judged = {
        judge.model: _by_order(data, judge)
        for number, judge in enumerate(group.judges)
        if number in group.present and not judge.not_applied
    }
    names = {name for orders in judged.values() for name in orders}
    truth = truth_of(group, 0)
    for name in sorted(names):
        verdicts = {model: orders[name] for model, orders in judged.items() if name in orders}
        choices = choices_of(group.scope) | ({"order": name} if name else {})
        if truth is None:
            yield _Cell(
                choices, SCORE, {model: mean_scores(given) for model, given in verdicts.items()}
            )
            continue
        if not isinstance(truth, str):
            stage = np.zeros(len(data.truth.value), dtype=np.int64)
            stage[group.items] = truth.stage
            correct = {model: _correct(given, stage) for model, given in verdicts.items()}
            yield _Cell(choices, ACCURACY, correct)


def _by_order(data: SweepData, judge: SweepJudge) -> dict[str, Verdicts]:
    """Return the judge's verdicts, of pairs in both orders by the order of the answers."""
    own, items = [judge.of_kind("own")], np.arange(len(data.truth.value))
    verdicts = data.verdicts(own, items, judge.experiment.scale_size)
    if not judge.experiment.judges_pairs:
        return {"": verdicts}
    _, samples = select(data.samples, own)
    swapped = samples.shown_first[samples.status == "scored"] == judge.experiment.scale_size
    if swapped.all() or not swapped.any():
        return {"": verdicts}
    return {AS_GIVEN: verdicts.rows(~swapped), SWAPPED: verdicts.rows(swapped)}


def _correct(verdicts: Verdicts, truth: np.ndarray) -> CellMeans:
    """Return the share correct per cell; a set that holds the true stage counts 1/|A|."""
    has_truth = verdicts.rows(truth[verdicts.item] > 0)
    holds = (has_truth.stages >> (truth[has_truth.item] - 1)) & 1
    return has_truth.means(holds / set_sizes(has_truth.stages))


def _polarization(
    data: SweepData, groups: Sequence[Group], excess: dict[str, ResultRow]
) -> Iterator[ResultRow]:
    """Yield the curve of polarization of the judges that stand in most cells together."""
    by_judges: dict[tuple[str, ...], list[Group]] = defaultdict(list)
    for group in groups:
        row = excess.get(canonical_json(group.scope))
        if row and row.estimate is not None and not any(one.not_applied for one in group.judges):
            models = tuple(group.judges[number].model for number in group.present)
            by_judges[models].append(group)
    if not by_judges:
        return
    models, chosen = max(by_judges.items(), key=lambda entry: (len(entry[1]), len(entry[0])))
    if len(chosen) < 2:
        return
    scope = {**question_of(groups[0].scope), "claim": POLARIZATION}
    judges = [chosen[0].judges[number] for number in chosen[0].present]
    names = sorted({judge.experiment.family for judge in judges})
    family = np.array([names.index(judge.experiment.family) for judge in judges])

    def apart(p: FloatArray) -> FloatArray:
        means = [p[:, family == number].mean(axis=1) for number in range(len(names))]
        return mean_jensen_shannon(np.stack(means, axis=1))

    cells = [_dealt_cell(group, excess[canonical_json(group.scope)]) for group in chosen]
    curve = excess_curve(cells, apart, generator_of(CELL, scope))
    if len(by_judges) > 1:
        where = f"; {len(chosen)} of {len(groups)} cells, those with {', '.join(models)}"
        curve = replace(curve, median=replace(curve.median, method=curve.median.method + where))
    choices = [choices_of(group.scope) for group in chosen]
    yield from _rows(data, scope, choices, curve, curve.median.p, 1)


def _dealt_cell(group: Group, row: ResultRow) -> DealtCell:
    own = group.own.of_judges(group.present)
    verdicts = own.rows(own.common_items()[own.item])
    whole = replace(verdicts, item=group.items[verdicts.item], n_items=len(group.data.truth.value))
    observed = Estimate(
        CELL, row.estimate, row.lower, row.upper, row.n, row.n_items,
        method=row.method, unit=row.unit, because=row.because,
    )  # fmt: skip
    return DealtCell(whole, _replicates(whole), observed)


def _replicates(verdicts: Verdicts) -> np.ndarray:
    """Return the number of each sample within its cell, from 0, in the order given."""
    order = np.argsort(verdicts.cell, kind="stable")
    cells = verdicts.cell[order]
    starts = np.r_[True, cells[1:] != cells[:-1]] if len(cells) else np.empty(0, dtype=np.bool_)
    first = np.maximum.accumulate(np.where(starts, np.arange(len(cells)), 0))
    number = np.empty(len(cells), dtype=np.int64)
    number[order] = np.arange(len(cells)) - first
    return number


def _rows(
    data: SweepData,
    scope: Scope,
    choices: Sequence[Scope],
    curve: Curve,
    adjusted: float | None,
    tests: int,
) -> Iterator[ResultRow]:
    for choice, cell in zip(choices, curve.cells, strict=True):
        yield result_row(cell, {**scope, **choice}, data.origin)
    for estimate in (curve.median, curve.same_sign, curve.significant, curve.against):
        if estimate.metric == MEDIAN and estimate.p is not None:
            shown = replace(estimate, method=f"{estimate.method}; Holm over {tests}")
            yield result_row(caution_below(shown, ADVISED_ITEMS), scope, data.origin, adjusted)
        else:
            yield result_row(estimate, scope, data.origin)


OF_ROWS = (specification_curves,)
