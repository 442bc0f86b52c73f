"""Judges crossed with rubrics: how much of the polarization comes from either."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from judge_gym.analysis.groups import Group
from judge_gym.metrics.cells import scores
from judge_gym.metrics.decomposition import (
    ITEM,
    JUDGE,
    RUBRIC,
    complete_block,
    crossed_cells,
    polarization_parts,
    variance_components,
)
from judge_gym.metrics.estimate import Estimate
from judge_gym.store.results import ResultRow


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
    for name, estimate in variance_components(cells).items():
        yield row(estimate, "variance_component", term=name)
