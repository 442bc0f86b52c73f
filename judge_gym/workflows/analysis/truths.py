"""Accuracy of each judge of a control or benchmark, on the items whose truth is known."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from judge_gym.design.experiment import GroundTruth
from judge_gym.metrics.accuracy import (
    cohens_kappa,
    control_error,
    control_rank_correlation,
    share_correct,
    subset_accuracy,
    truth_stages,
)
from judge_gym.metrics.cells import FloatArray, IntArray, Verdicts
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.store.results import ResultRow
from judge_gym.workflows.analysis.groups import Group
from judge_gym.workflows.analysis.judges import is_subset


@dataclass(frozen=True, eq=False)
class _Truth:
    """The true stage of each item, 0 where it is not known, and the index it stands for."""

    stage: IntArray
    index: FloatArray


def accuracies(group: Group) -> Iterator[ResultRow]:
    """Yield the accuracy of each judge; nothing for contested concepts, which have no truth."""
    given = group.judges[0].experiment.ground_truth
    if given is None:
        return
    for number, judge in enumerate(group.judges):
        for estimate in _accuracy(group, number, given):
            yield group.row(estimate, [group.own_arms[number]], judge=judge.model)


def _accuracy(group: Group, number: int, given: GroundTruth) -> Iterator[Estimate]:
    verdicts = group.compared.of_judges([number])
    arms = group.own_arms[number]
    truth = _truth(group, given, arms[0].labels if arms else ())
    if isinstance(truth, str):
        yield not_estimable("accuracy", truth, n=len(verdicts), unit="share")
        return
    known = verdicts.rows(truth.stage[verdicts.item] > 0)
    # Metrics look only at the items of the verdicts, and ask for a stage of each.
    stage = np.maximum(truth.stage, 1)
    if is_subset(group):
        yield from subset_accuracy(known, stage)
    else:
        rng = group.rng("cohens_kappa", judge=group.judges[number].model)
        yield share_correct(known, stage)
        yield cohens_kappa(known, stage, rng)
    if group.judges[number].experiment.task_type == "control":
        yield from _against_index(known, truth.index)


def _against_index(verdicts: Verdicts, index: FloatArray) -> Iterator[Estimate]:
    yield control_error(verdicts, index)
    yield control_rank_correlation(verdicts, index)


def _truth(group: Group, given: GroundTruth, labels: tuple[str, ...]) -> _Truth | str:
    """Return the truth of the group's items, or why it cannot be told.

    A label stands for the stage of that label (in any case) and its place on the 0-1 scale, an
    index v for the stage 1 + round(v(S - 1)). One label that no stage has is a mistake in the
    data or the rubric, so that nothing is told rather than a part.
    """
    items = group.items
    if given.per_item:
        value = group.data.truth.value[items]
        names = [group.data.truth.label[item] for item in items]
    else:
        value = np.full(len(items), np.nan if given.value is None else given.value)
        names = [given.label or ""] * len(items)
    number = {label.strip().casefold(): stage for stage, label in enumerate(labels, start=1)}
    unknown = sorted({name for name in names if name and name.strip().casefold() not in number})
    if unknown:
        return f"no stage of the rubric is labelled {', '.join(map(repr, unknown[:3]))}"
    stage = np.array([number.get(name.strip().casefold(), 0) for name in names], dtype=np.int64)
    indexed = np.isfinite(value)
    stage[indexed] = truth_stages(value[indexed], group.n_stages)
    if not stage.any():
        return "no item has a truth"
    index = np.where(indexed, value, (stage - 1) / (group.n_stages - 1))
    return _Truth(stage, index)
