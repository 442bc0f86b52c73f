"""What is known of a group's items: the true stages, and the parts figures are of."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from judge_gym.analysis.groups import PARTS, Group
from judge_gym.design.experiment import GroundTruth
from judge_gym.metrics.accuracy import (
    truth_stages,
)
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class KnownTruth:
    """The true stage of each item, 0 where it is not known, and the index it stands for."""

    stage: IntArray
    index: FloatArray
    between: bool
    """Whether a stage between the ends is right of any item: of pairs, a tie."""


def known_truth(group: Group, number: int) -> IntArray | None:
    """Return the true stage of each item for a judge, 0 where it is not known; None without any."""
    ground_truth = group.judges[number].experiment.ground_truth
    if ground_truth is None or not ground_truth.per_item:
        return None
    truth = truth_of(group, number)
    return truth.stage if isinstance(truth, KnownTruth) else None


def truth_of_single(group: Group) -> IntArray | None:
    """Return the true stage of each item, 0 where unknown; None of sets and without answers."""
    return None if group.is_subset else known_truth(group, 0)


def parts_of(group: Group) -> Iterator[tuple[dict[str, str], BoolArray]]:
    """Yield a scope and which of the group's items are in it: all, then each system and category.

    One system, or one category, is no part.
    """
    yield {}, np.ones(len(group.items), dtype=np.bool_)
    for kind in PARTS:
        if of_items := getattr(group.data.truth, kind):
            names = np.array([of_items[item] for item in group.items], dtype=np.str_)
            named = sorted(set(names.tolist()) - {""})
            yield from (({kind: name}, names == name) for name in named if len(named) > 1)


def truth_of(group: Group, number: int) -> KnownTruth | str | None:
    """Return the truth of the group's items for a judge, or why it cannot be told; None without.

    A label stands for the stage of that label (in any case) and its place on the 0-1 scale, an
    index v for the stage 1 + round(v(S - 1)). One label that no stage has is a mistake in the
    data or the rubric, so that nothing is told rather than a part.
    """
    ground_truth = group.judges[number].experiment.ground_truth
    if ground_truth is None:
        return None
    labels = {arm.labels for arm in group.own_arms[number] if arm.labels} or {()}
    if len(labels) > 1:
        return "the draws of the rubric label their stages differently"
    return _truth(group, ground_truth, *labels)


def _truth(group: Group, ground_truth: GroundTruth, labels: tuple[str, ...]) -> KnownTruth | str:
    items = group.items
    if ground_truth.per_item:
        value = group.data.truth.value[items]
        names = [group.data.truth.label[item] for item in items]
    else:
        value = np.full(len(items), np.nan if ground_truth.value is None else ground_truth.value)
        names = [ground_truth.label or ""] * len(items)
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
    return KnownTruth(stage, index, between=not np.isin(stage, (0, 1, group.n_stages)).all())
