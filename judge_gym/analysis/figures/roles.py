"""Who writes the rubric and who scores: two effects on verdicts, confidence and their shape."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judge_gym.analysis.data import Arms, JudgeArm, SweepData
from judge_gym.analysis.groups import (
    Group,
    Scope,
    adjusted_by_benjamini_hochberg,
    generator_of,
    result_row,
    without,
)
from judge_gym.analysis.measures import CONFIDENCE, HEADINGS, SCORE, SHAPE, Measure
from judge_gym.analysis.registry import NEEDS_SHARED_ITEM, Column, Figure, FigureTable
from judge_gym.design.experiment import Experiment
from judge_gym.metrics.cells import CellMeans
from judge_gym.metrics.decomposition import ITEM, JUDGE, RUBRIC, complete_block, crossed_cells
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.inference import paired_contrast
from judge_gym.metrics.shape import ABSTAIN_SHARE
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

WRITES, SCORES, OWN = "who writes", "who scores", "whose rubric"
"""The axes of the effects, as scopes name them."""
_CROSSED = "two judges that each applied the rubrics of the same two writers"

TABLES = (
    FigureTable(
        "Who writes and who scores",
        (
            "The writer of a rubric and the judge that scores by it, crossed: what another writer "
            "does on average over the judges, what another judge does on average over the "
            "writers, and what a judge's own rubric does beyond both. Change of the verdict on "
            "the 0-1 scale, of confidence, and of the shape of verdicts."
        ),
        question="rubrics",
        rank=5,
        figures=(
            Figure("role_effect", "0-1 scale", _CROSSED),
            Figure("role_effect_confidence", "probability", _CROSSED),
            *(Figure(f"role_effect_{name}", "share", _CROSSED) for name in HEADINGS),
        ),
        columns=(
            Column("verdict", "role_effect"),
            Column("confidence", "role_effect_confidence"),
            *(Column(heading, f"role_effect_{name}") for name, heading in HEADINGS.items()),
            Column("items", "role_effect", "items"),
        ),
        formulas=(
            "t(j, w) = the figure of an item by judge j under a rubric of writer w",
            "who writes: mean over items and judges of t(j, second writer) − t(j, first)",
            "who scores: mean over items and writers of t(second judge, w) − t(first, w)",
            "whose rubric: mean of t(j, j) − mean of t(j, w) with w another; where the writers "
            "are the judges, both other effects cancel",
            "p by flipping signs, corrected over the figures of an axis (Benjamini-Hochberg)",
        ),
        needs=(
            "About the largest complete crossing of judges and writers, on items with a value in "
            "every cell; rubrics of swaps count like shared ones.",
            NEEDS_SHARED_ITEM,
        ),
    ),
)


@dataclass(frozen=True)
class _Design:
    """A complete crossing of judges and writers in one setting, judges before writers."""

    scope: Scope
    experiment: Experiment
    judges: Sequence[str]
    writers: Sequence[str]
    arms: Arms

    def changes(self) -> Iterator[tuple[Scope, np.ndarray]]:
        """Yield each effect as a scope and the weights of the cells, judges x writers.

        Weights above 0 and those below 0 sum to 1 and -1.
        """
        shape = (len(self.judges), len(self.writers))
        for axis, names, place in ((WRITES, self.writers, 1), (SCORES, self.judges, 0)):
            for first, second in combinations(range(len(names)), 2):
                weights = np.zeros(shape)
                np.moveaxis(weights, place, 0)[second] = 1 / shape[1 - place]
                np.moveaxis(weights, place, 0)[first] = -1 / shape[1 - place]
                yield {"axis": axis, "from": names[first], "to": names[second]}, weights
        if list(self.judges) == list(self.writers):
            own = np.eye(len(self.judges)) / len(self.judges)
            others = (1 - np.eye(len(self.judges))) / (np.prod(shape) - len(self.judges))
            yield {"axis": OWN, "from": "another's", "to": "own"}, own - others


def role_effects(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the effects of writers and of judges on every figure, setting by setting.

    p values are adjusted by Benjamini-Hochberg over the figures of an axis: they explore.
    """
    for design in _designs(data, groups):
        origin = data.origin_of(design.arms)
        found: dict[str, list[tuple[Scope, Estimate]]] = defaultdict(list)
        for measure in (SCORE, CONFIDENCE, *SHAPE):
            for change, estimate in _effects(data, design, measure):
                found[change["axis"]].append(({**design.scope, **change}, estimate))
        for tested in found.values():
            adjusted = adjusted_by_benjamini_hochberg([estimate for _, estimate in tested])
            for (scope, _), (estimate, p) in zip(tested, adjusted, strict=True):
                yield result_row(estimate, scope, origin, p)


def _effects(
    data: SweepData, design: _Design, measure: Measure
) -> Iterator[tuple[Scope, Estimate]]:
    """Yield the effects on one figure; nothing where it tells nothing of these verdicts."""
    if measure.of_sets and design.experiment.scoring_method != "subset":
        return
    items = np.arange(len(data.truth.value))
    cells = measure.cells(data, design.arms, items, design.experiment.scale_size)
    if measure.suffix == f"_{ABSTAIN_SHARE.name}" and not cells.value.any():
        return
    complete = np.asarray(cells.present.all(axis=0))
    for change, weights in design.changes():
        metric = f"role_effect{measure.suffix}"
        before, after = (
            _weighted(cells, np.maximum(sign * weights, 0).ravel(), complete) for sign in (-1, 1)
        )
        rng = generator_of(metric, {**design.scope, **change})
        yield change, paired_contrast(metric, before, after, rng, measure.unit)


def _weighted(cells: CellMeans, weights: np.ndarray, complete: np.ndarray) -> CellMeans:
    """Return the weighted mean of cells per item, of items that every cell has."""
    n = np.where(complete, cells.n[weights > 0].sum(axis=0), 0)
    return CellMeans((weights @ cells.value)[None], n[None])


def _designs(data: SweepData, groups: Sequence[Group]) -> Iterator[_Design]:
    """Yield the crossing of each setting that has one, in the order of the groups."""
    scopes: dict[str, Scope] = {}
    settings: dict[str, dict[tuple[str, str], list[JudgeArm]]] = defaultdict(
        lambda: defaultdict(list)
    )
    experiments: dict[str, Experiment] = {}
    for group in groups:
        for judge in group.judges:
            experiment = judge.experiment
            if experiment.judges_pairs or experiment.rubric.kind == "provided":
                continue
            setting = _setting(experiment)
            scopes.setdefault(setting, without(group.scope, "rubric"))
            experiments.setdefault(setting, experiment)
            for arm in (*judge.of_kind("own"), *judge.of_kind("swap")):
                settings[setting][judge.model, arm.rubric_owner].append(arm)
    for setting, cells in settings.items():
        if design := _crossing(data, scopes[setting], experiments[setting], cells):
            yield design


def _setting(experiment: Experiment) -> str:
    """Return the key that experiments share when judge and rubric alone tell them apart."""
    content = experiment.model_dump(
        mode="json", exclude={"tag", "window", "replicates", "model", "family", "rubric"}
    )
    return canonical_json([content, experiment.window.key])


def _crossing(
    data: SweepData,
    scope: Scope,
    experiment: Experiment,
    cells: Mapping[tuple[str, str], Sequence[JudgeArm]],
) -> _Design | None:
    """Return the largest complete crossing of judges and writers; None without one of 2 by 2."""
    judges, writers = (sorted({cell[place] for cell in cells}) for place in (0, 1))
    keys = list(cells)
    items = np.arange(len(data.truth.value))
    read = data.readable([cells[key] for key in keys], items, experiment.scale_size)
    if not len(read):
        return None
    judge, writer = (
        np.array([names.index(key[place]) for key in keys])[read.judge]
        for place, names in enumerate((judges, writers))
    )
    counted = crossed_cells((JUDGE, RUBRIC, ITEM), (judge, writer, read.item), np.zeros(len(read)))
    block = complete_block(counted)
    if block is None:
        return None
    by, under = [judges[number] for number in block.judges], [writers[w] for w in block.owners]
    arms = [cells[one, other] for one in by for other in under]
    return _Design(scope, experiment, by, under, arms)


OF_SWEEP = (role_effects,)
