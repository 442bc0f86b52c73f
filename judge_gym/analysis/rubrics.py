"""What another rubric, or a free choice of stages, does to a judge and to polarization."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.analysis.comparing import adjusted_by_holm
from judge_gym.analysis.data import Arm, Arms, Judge, SweepData
from judge_gym.analysis.groups import Group, generator_of, result_row
from judge_gym.metrics.belief import item_distances
from judge_gym.metrics.cells import FloatArray, Verdicts, pignistic, scores
from judge_gym.metrics.decomposition import (
    ITEM,
    JUDGE,
    RUBRIC,
    complete_block,
    crossed_cells,
    polarization_parts,
)
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.masses import cell_masses
from judge_gym.metrics.polarization import mean_jensen_shannon
from judge_gym.metrics.presentation import Arm as Kind
from judge_gym.metrics.presentation import swap_sensitivity, verdict_change, verdict_shift
from judge_gym.metrics.subsets import forced_choice
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow


@dataclass(frozen=True)
class _Pair:
    """A judge's own arm beside one other arm of it."""

    own: tuple[Arm, ...]
    other: Arm
    scope: dict[str, str]

    @property
    def arms(self) -> Arms:
        return [self.own, [self.other]]


def swap_effects(group: Group) -> Iterator[ResultRow]:
    """Yield, for every (judge, rival) and every sham, the effects on confidence and verdicts.

    The p values of each figure are adjusted over the pairs of the group, those of the shams over
    the shams.
    """
    for kind in Kind:
        pairs = [pair for judge in group.judges for pair in _pairs(judge, kind)]
        figures = [_effects(group, pair, kind) for pair in pairs]
        for estimates in zip(*figures, strict=True):
            adjusted = adjusted_by_holm(list(estimates))
            for pair, (estimate, p) in zip(pairs, adjusted, strict=True):
                yield group.row(estimate, pair.arms, p_adjusted=p, **pair.scope)


def _pairs(judge: Judge, kind: Kind) -> Iterator[_Pair]:
    for other in judge.of_kind(kind.value):
        scope = {"judge": judge.model}
        if kind is Kind.SWAP:
            scope["rival"] = other.rubric_owner
        yield _Pair(judge.of_kind("own"), other, scope)


def _effects(group: Group, pair: _Pair, kind: Kind) -> list[Estimate]:
    """Return the effects of one pair; stages are never compared, only probes and 0-1 scores."""
    own, other = group.verdicts([pair.own]), group.verdicts([[pair.other]])

    return [
        swap_sensitivity(
            group.answered([pair.own]),
            group.answered([[pair.other]]),
            group.rng(f"{kind.value}_sensitivity", **pair.scope),
            kind,
        ),
        verdict_shift(own, other, group.rng(f"{kind.value}_verdict_shift", **pair.scope), kind),
        verdict_change(own, other, group.rng(f"{kind.value}_verdict_change", **pair.scope), kind),
    ]


def decompositions(group: Group) -> Iterator[ResultRow]:
    """Yield the parts of a group's polarization; nothing where nobody judged by another's rubric.

    The sham arm is left out: its owner's first rubric stands for the owner.
    """
    arms = [
        (number, arm)
        for number, judge in enumerate(group.judges)
        for arm in (*judge.of_kind("own"), *judge.of_kind("swap"))
        if arm.rubric_owner
    ]
    if all(arm.kind == "own" for _, arm in arms):
        return
    owners = sorted({arm.rubric_owner for _, arm in arms})
    verdicts = group.verdicts([[arm] for _, arm in arms])
    judge = np.array([number for number, _ in arms])[verdicts.judge]
    owner = np.array([owners.index(arm.rubric_owner) for _, arm in arms])[verdicts.judge]
    cells = crossed_cells((JUDGE, RUBRIC, ITEM), (judge, owner, verdicts.item), scores(verdicts))
    note, block = "", complete_block(cells)
    if block:
        models = [group.judges[number].model for number in block.judges]
        by = [owners[number] for number in block.owners]
        if block.cells.n.shape[:2] != cells.n.shape[:2]:
            note = f"; on the largest complete block: judges {', '.join(models)} by rubrics of "
            note += ", ".join(by)
        cells = block.cells
        arms = [
            (number, arm)
            for number, arm in arms
            if number in block.judges and arm.rubric_owner in by
        ]
    every = [[arm for _, arm in arms]]

    def row(estimate: Estimate, metric: str, **scope: str) -> ResultRow:
        method = estimate.method + note if estimate.method else ""
        return group.row(
            replace(estimate, metric=metric, method=method), every, p_adjusted=None, **scope
        )

    for name, estimate in polarization_parts(cells).items():
        part = name.removeprefix("share_")
        metric = "decomposition" if part == name else "decomposition_share"
        yield row(estimate, metric, part=part.replace("_", " "))


SINGLE, SUBSET = "single", "subset"


def forced_choices(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield what subsets take off the distance between judges, for groups under one rubric."""
    by_method: dict[str, dict[str, Group]] = {}
    for group in groups:
        first = group.judges[0].experiment
        if first.rubric.kind != "own" and first.scoring_method in (SINGLE, SUBSET):
            content = first.model_dump(
                mode="json",
                exclude={"tag", "window", "replicates", "model", "family", "scoring_method"},
            )
            key = canonical_json([content, first.window.key])
            by_method.setdefault(key, {})[first.scoring_method] = group
    for pair in by_method.values():
        if len(pair) == 2:
            yield from _pair_figures(data, pair[SINGLE], pair[SUBSET])


def _pair_figures(data: SweepData, single: Group, subset: Group) -> Iterator[ResultRow]:
    models = sorted(
        {single.judges[number].model for number in single.present}
        & {subset.judges[number].model for number in subset.present}
    )
    arms = [_own(group, models) for group in (single, subset)]
    items = data.items_of([*arms[0], *arms[1]])
    single_verdicts, set_verdicts = (data.verdicts(own, items, single.n_stages) for own in arms)
    scope = {name: value for name, value in single.scope.items() if name != "scoring_method"}
    origin = data.origin_of([*arms[0], *arms[1]])
    twice = single_verdicts.common_items(2) & set_verdicts.common_items(2)
    for name, unit, distance, pair in (
        ("forced_choice_polarization", "bits", _divergence, (single_verdicts, set_verdicts)),
        (
            "forced_choice_distance",
            "squared Jaccard distance",
            _distance,
            (
                single_verdicts.rows(twice[single_verdicts.item]),
                set_verdicts.rows(twice[set_verdicts.item]),
            ),
        ),
    ):
        change = forced_choice(name, *pair, distance, generator_of(name, scope), unit)
        for estimate in (change.drop, change.beyond_chance):
            yield result_row(estimate, scope, origin)


def _own(group: Group, models: Sequence[str]) -> Arms:
    by_model: dict[str, Judge] = {judge.model: judge for judge in group.judges}
    return [by_model[model].of_kind("own") for model in models]


def _divergence(verdicts: Verdicts) -> FloatArray:
    p, _ = pignistic(verdicts)
    return mean_jensen_shannon(p.swapaxes(0, 1))


def _distance(verdicts: Verdicts) -> FloatArray:
    upper = np.triu_indices(verdicts.n_judges, k=1)
    distances = item_distances(cell_masses(verdicts))
    return np.asarray(distances[:, upper[0], upper[1]].mean(axis=1))
