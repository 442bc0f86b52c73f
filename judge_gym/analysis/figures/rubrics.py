"""What another rubric does."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.analysis.data import Arms, JudgeArm, SweepJudge
from judge_gym.analysis.groups import Group, adjusted_by_holm
from judge_gym.analysis.registry import NEEDS_SHARED_ITEM, Column, Figure, FigureTable
from judge_gym.metrics.cells import scores
from judge_gym.metrics.decomposition import (
    ITEM,
    JUDGE,
    RUBRIC,
    complete_block,
    crossed_cells,
    polarization_parts,
)
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.presentation import SwapArm as Kind
from judge_gym.metrics.presentation import swap_sensitivity, verdict_change, verdict_shift
from judge_gym.store.results import ResultRow

HENDERSON = "Source: Henderson 1953, Biometrics 9; Searle, Casella and McCulloch 1992, section 5.3."
NEEDS_CROSSED = (
    "Judges and rubrics that are not fully crossed, and terms that the design cannot tell apart"
    ' (one replicate per cell), are "not estimable"; see complete_block.'
)
_RIVAL = "a judge that applied a rival's rubric"
_SECOND_RUBRIC = "a judge that applied a second rubric of its own"

TABLES = (
    FigureTable(
        "Swap sensitivity",
        (
            "Change of a judge's confidence (a probability) under a rival's rubric, beside the "
            "change under a second rubric of its own (sham): a swap says something where it goes "
            "beyond the sham. Below 0: less sure."
        ),
        question="rubrics",
        rank=0,
        figures=(
            Figure("swap_sensitivity", "probability", _RIVAL),
            Figure("sham_sensitivity", "probability", _SECOND_RUBRIC),
        ),
        columns=(
            Column("rival's rubric", "swap_sensitivity"),
            Column("p (Holm)", "swap_sensitivity", "adjusted"),
            Column("sham", "sham_sensitivity"),
            Column("p (Holm)", "sham_sensitivity", "adjusted"),
            Column("items", "swap_sensitivity", "items"),
        ),
        joined_on="rival",
        formulas=(
            "mean over items of (mean c under the other rubric − mean c under the own)",
            "p by flipping signs",
        ),
        needs=(
            "15 items advised, 34 to find d_z = 0.5.",
            NEEDS_SHARED_ITEM,
        ),
    ),
    FigureTable(
        "Verdict move under a swap",
        (
            "How far the verdict moves up or down the 0-1 scale under a rival's rubric, beside the "
            "sham."
        ),
        question="rubrics",
        rank=10,
        figures=(
            Figure("swap_verdict_shift", "0-1 scale", _RIVAL),
            Figure("sham_verdict_shift", "0-1 scale", _SECOND_RUBRIC),
        ),
        columns=(
            Column("rival's rubric", "swap_verdict_shift"),
            Column("p (Holm)", "swap_verdict_shift", "adjusted"),
            Column("sham", "sham_verdict_shift"),
            Column("p (Holm)", "sham_verdict_shift", "adjusted"),
            Column("items", "swap_verdict_shift", "items"),
        ),
        joined_on="rival",
        formulas=(
            "mean over items of (mean x under the other rubric − mean x under the own)",
            "p by flipping signs",
        ),
        needs=(NEEDS_SHARED_ITEM,),
    ),
    FigureTable(
        "Verdict change under a swap",
        (
            "The size of that move whatever its direction, on the 0-1 scale; noise alone gives a "
            "size, so read it against its floor."
        ),
        question="rubrics",
        rank=20,
        figures=(
            Figure("swap_verdict_change", "0-1 scale", _RIVAL),
            Figure("sham_verdict_change", "0-1 scale", _SECOND_RUBRIC),
        ),
        columns=(
            Column("rival's rubric", "swap_verdict_change"),
            Column("floor", "swap_verdict_change", "floor"),
            Column("p (Holm)", "swap_verdict_change", "adjusted"),
            Column("sham", "sham_verdict_change"),
            Column("floor", "sham_verdict_change", "floor"),
            Column("p (Holm)", "sham_verdict_change", "adjusted"),
        ),
        joined_on="rival",
        in_terminal=False,
        formulas=(
            "mean over items of |mean x under the other rubric − mean x under the own|",
            "floor = its mean when the samples of a cell are dealt to the two rubrics at random",
        ),
        needs=(("Needs one cell with both rubrics, and several replicates for a floor below it."),),
    ),
    FigureTable(
        "Judges or rubrics",
        (
            "How much of the polarization comes from judges, from rubrics, and from a judge's own "
            "way of reading a rubric, in squared 0-1 scale and as a share; about the largest "
            "block of judges and rubrics in which every judge applied every rubric. A part that "
            "is estimated below 0 is shown as 0."
        ),
        question="rubrics",
        rank=30,
        figures=(
            Figure("decomposition", "squared 0-1 scale", _RIVAL),
            Figure("decomposition_share", "share of polarization", _RIVAL),
        ),
        columns=(
            Column("part", "decomposition", digits=3),
            Column("share", "decomposition_share"),
            Column("items", "decomposition", "items"),
        ),
        formulas=(
            (
                "½·E(x − x′)² of two verdicts on one item, less replicate noise = "
                "judges + rubrics + both"
            ),
            "share = part / sum of the parts",
        ),
        needs=(
            "A part needs all its components.",
            NEEDS_CROSSED,
            "Needs 3 items.",
        ),
        sources=(HENDERSON,),
    ),
)


@dataclass(frozen=True)
class _Pair:
    """A judge's own arm beside another arm of it, each with all its draws."""

    own: tuple[JudgeArm, ...]
    other: tuple[JudgeArm, ...]
    scope: dict[str, str]

    @property
    def arms(self) -> Arms:
        return [self.own, self.other]


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


def _pairs(judge: SweepJudge, kind: Kind) -> Iterator[_Pair]:
    others: dict[str, list[JudgeArm]] = defaultdict(list)
    for arm in judge.of_kind(kind.value):
        others[arm.rubric_owner].append(arm)
    for owner, arms in others.items():
        rival = {"rival": owner} if kind is Kind.SWAP else {}
        yield _Pair(judge.of_kind("own"), tuple(arms), {"judge": judge.model, **rival})


def _effects(group: Group, pair: _Pair, kind: Kind) -> list[Estimate]:
    """Return the effects of one pair; stages are never compared, only probes and 0-1 scores."""
    own, other = group.verdicts([pair.own]), group.verdicts([pair.other])

    return [
        swap_sensitivity(
            group.answered([pair.own]),
            group.answered([pair.other]),
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


OF_GROUP = (
    swap_effects,
    decompositions,
)
