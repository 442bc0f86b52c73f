"""How judges use their scale: the shape of their verdicts."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.metrics.accuracy import rank_correlation
from judge_gym.metrics.cells import (
    Probes,
    item_means,
    mean_scores,
    set_sizes,
)
from judge_gym.metrics.estimate import (
    UNIT_INTERVAL,
    Estimate,
    mean_over_items,
)
from judge_gym.metrics.shape import (
    MIDDLE_MASS,
    Readable,
    is_adjacent,
    jitter,
    shape_shares,
    stage_entropy,
)
from judge_gym.store.results import ResultRow

_SETS = "verdicts that may name several stages"

TABLES = (
    FigureTable(
        "How judges use their scale",
        (
            "The shape of each judge's verdicts: how often it abstains, which stage it gives on "
            "average, how much of its mass lies between the ends, how many stages it uses in "
            "effect, and how far two of its answers to the same question are apart. Items count "
            "equally."
        ),
        question="scale",
        rank=0,
        figures=(
            Figure("abstain_share", "share"),
            Figure("expected_stage", "stages"),
            Figure("middle_mass", "share"),
            Figure("stage_entropy", "share of the scale's bits"),
            Figure("stages_in_use", "stages"),
            Figure("jitter", "stages"),
        ),
        columns=(
            Column("abstains", "abstain_share"),
            Column("expected stage", "expected_stage"),
            Column("middle", "middle_mass"),
            Column("if even", "middle_mass", "floor"),
            Column("entropy", "stage_entropy"),
            Column("stages in use", "stages_in_use"),
            Column("jitter", "jitter"),
            Column("items", "abstain_share", "items"),
        ),
        formulas=(
            "abstains = abstained / readable; expected stage = mean stage of the verdict's set",
            "middle = share of the set's stages that are not at an end; if even: (S − 2)/S",
            "entropy = H(p̄) / log2 S, p̄ the mean over items of p; stages in use = 2^H(p̄)",
            "jitter = mean over pairs of replicates of |difference of mean stages|",
        ),
        needs=("Needs a readable answer; entropy two items, jitter two replicates.",),
        sources=("Entropy corrected by the jackknife over items: Zahl 1977, Ecology 58.",),
    ),
    FigureTable(
        "Sets of stages",
        (
            "Of verdicts that may name several stages: the share that name one, the mean number "
            "of stages, and the share of larger sets whose stages are next to each other."
        ),
        question="scale",
        rank=20,
        figures=tuple(
            Figure(name, unit, _SETS)
            for name, unit in (
                ("singleton_share", "share"),
                ("set_size", "stages"),
                ("adjacent_share", "share"),
            )
        ),
        columns=(
            Column("one stage", "singleton_share"),
            Column("size", "set_size"),
            Column("adjacent", "adjacent_share"),
            Column("items", "set_size", "items"),
        ),
        formulas=("one stage = |A| = 1; size = |A|; adjacent = no gap, of sets with |A| > 1",),
        needs=("Needs a verdict that may name several stages.",),
    ),
    FigureTable(
        "Confidence by the form of the verdict",
        (
            "Stated confidence after a verdict of one stage, of adjacent stages, and of stages "
            "apart; its rank correlation over items with the stage, and with the distance from the "
            "judge's own median."
        ),
        question="confidence",
        rank=20,
        figures=(
            Figure("confidence_by_form", "probability", _SETS),
            Figure("confidence_stage_correlation", "rho"),
            Figure("confidence_extremity_correlation", "rho"),
        ),
        columns=(
            Column("confidence", "confidence_by_form"),
            Column("with the stage", "confidence_stage_correlation"),
            Column("with extremity", "confidence_extremity_correlation"),
            Column("items", "confidence_stage_correlation", "items"),
        ),
        in_terminal=False,
        formulas=("ρ over items of mean c and mean x, or |mean x − its median|",),
        needs=("Needs probes of 4 items whose values vary.",),
    ),
)


def shapes(group: Group) -> Iterator[ResultRow]:
    """Yield the shape of each judge of a group, on all that it could be read on."""
    if group.judges[0].experiment.judges_pairs:
        return
    for number, judge in enumerate(group.judges):
        own = [group.own_arms[number]]
        readable = group.readable(own)
        for estimate in _of_judge(group, readable):
            yield group.row(estimate, own, judge=judge.model)
        probes = group.answered(own)
        for estimate in _confidence(readable, probes):
            yield group.row(estimate, own, judge=judge.model)
        if group.is_subset:
            for form, estimate in _by_form(probes):
                yield group.row(estimate, own, judge=judge.model, part=form)


def _of_judge(group: Group, readable: Readable) -> Iterator[Estimate]:
    for estimate in shape_shares(readable, sets=group.is_subset):
        if estimate.metric == MIDDLE_MASS.name and estimate.estimate is not None:
            even = (group.n_stages - 2) / group.n_stages
            yield replace(estimate, floor=even)
        else:
            yield estimate
    yield from stage_entropy(readable.verdicts)
    yield jitter(readable.verdicts)


def _confidence(readable: Readable, probes: Probes) -> Iterator[Estimate]:
    position, stated = mean_scores(readable.verdicts), probes.confidence()
    both = (position.present & stated.present)[0]
    place, said = position.value[0, both], stated.value[0, both]
    extreme = np.abs(place - np.median(place)) if len(place) else place
    for metric, against in (
        ("confidence_stage_correlation", place),
        ("confidence_extremity_correlation", extreme),
    ):
        yield rank_correlation(metric, said, against, n=int(stated.n[0, both].sum()))


def _by_form(probes: Probes) -> Iterator[tuple[str, Estimate]]:
    single = set_sizes(probes.stages) == 1
    adjacent = is_adjacent(probes.stages) & ~single
    for form, chosen in (
        ("one stage", single),
        ("adjacent stages", adjacent),
        ("stages apart", ~single & ~adjacent),
    ):
        cells = probes.rows(chosen).confidence()
        per_item, items = item_means(cells.value, cells.present)
        yield form, mean_over_items(
            "confidence_by_form", per_item, n=cells.n.sum(axis=0)[items], unit="probability",
            bounds=UNIT_INTERVAL, items=items,
        )  # fmt: skip


OF_GROUP = (shapes,)
