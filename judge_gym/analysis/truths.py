"""Accuracy of each judge of a control or benchmark, on the items whose truth is known.

Of all of them, and of each category of a benchmark that has several.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.analysis.data import select
from judge_gym.analysis.groups import Group
from judge_gym.analysis.judges import is_subset
from judge_gym.design.experiment import GroundTruth
from judge_gym.design.window import RecordedSource
from judge_gym.metrics.accuracy import (
    both_orders_correct,
    cohens_kappa,
    control_error,
    control_rank_correlation,
    order_inconsistency,
    pair_balance,
    share_correct,
    subset_accuracy,
    truth_stages,
    votes,
)
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, Verdicts
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.store.results import ResultRow


@dataclass(frozen=True, eq=False)
class _Truth:
    """The true stage of each item, 0 where it is not known, and the index it stands for."""

    stage: IntArray
    index: FloatArray
    between: bool
    """Whether a stage between the ends is right of any item: of pairs, a tie."""


def accuracies(group: Group) -> Iterator[ResultRow]:
    """Yield the accuracy of each judge; nothing for contested concepts, which have no truth."""
    given = group.judges[0].experiment.ground_truth
    if given is None:
        return
    for number, judge in enumerate(group.judges):
        arms = group.own_arms[number]
        truth = _truth(group, given, arms[0].labels if arms else ())
        if isinstance(truth, str):
            missing = not_estimable("accuracy", truth, n=len(group.compared), unit="share")
            yield group.row(missing, [arms], judge=judge.model)
            continue
        for category, chosen in _parts(group).items():
            scope = {"judge": judge.model} | ({"category": category} if category else {})
            part = replace(truth, stage=np.where(chosen, truth.stage, 0))
            for estimate in _accuracy(group, number, part, scope):
                yield group.row(estimate, [arms], p_adjusted=None, **scope)


def _parts(group: Group) -> dict[str, BoolArray]:
    """Return category → which of the group's items are in it; "" stands for all."""
    of_items = np.array([group.data.truth.category[item] for item in group.items], dtype=np.str_)
    named = sorted(set(of_items.tolist()) - {""})
    parts = {"": np.ones(len(of_items), dtype=np.bool_)}
    return parts | {name: of_items == name for name in named if len(named) > 1}


def _accuracy(
    group: Group, number: int, truth: _Truth, scope: Mapping[str, str]
) -> Iterator[Estimate]:
    verdicts = group.compared.of_judges([number])
    known = verdicts.rows(truth.stage[verdicts.item] > 0)
    # Metrics look only at the items of the verdicts, and ask for a stage of each.
    stage = np.maximum(truth.stage, 1)
    experiment = group.judges[number].experiment
    if is_subset(group):
        yield from subset_accuracy(known, stage)
    else:
        yield share_correct(known, stage)
        yield cohens_kappa(known, stage, group.rng("cohens_kappa", **scope))
    source = experiment.window.source
    if isinstance(source, RecordedSource) and source.pairwise and not is_subset(group):
        yield from _of_pairs(group, number, truth)
    if experiment.task_type == "control":
        yield from _against_index(known, truth.index)


def _of_pairs(group: Group, number: int, truth: _Truth) -> Iterator[Estimate]:
    """Yield the figures of pairs judged in both orders, on all that this judge was given.

    A judgement without a verdict is no vote, so its pair counts as not got right by it.
    """
    _, rows = select(group.data.samples, [group.own_arms[number]])
    item = np.searchsorted(group.items, rows.item)
    known = truth.stage[item] > 0
    item, stages, first = item[known], rows.stages[known], rows.shown_first[known]
    vote = votes(stages, truth.stage[item], group.n_stages)
    scored = stages > 0
    yield both_orders_correct(item, vote, len(group.items), scored)
    if not truth.between:
        yield pair_balance(item, vote, first == truth.stage[item], scored)
    verdicts = Verdicts(
        judge=np.zeros(int(scored.sum()), dtype=np.int64),
        item=item[scored],
        stages=stages[scored],
        n_judges=1,
        n_items=len(group.items),
        n_stages=group.n_stages,
    )
    yield order_inconsistency(verdicts, first[scored] == group.n_stages)


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
    return _Truth(stage, index, between=not np.isin(stage, (0, 1, group.n_stages)).all())
