"""Contrasts: the same judge on the same items in two experiments that differ in one axis.

`randomize_labels` and `shuffle_order` may differ together, as the axis `presentation`: the two
are the ways of washing out a display, and are mostly switched as one.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, get_args

from judge_gym.analysis.data import Judge, SweepData
from judge_gym.analysis.groups import Group, Scope, generator_of, result_row, scopes_of
from judge_gym.design.axes import axes
from judge_gym.design.experiment import Experiment, RubricSource
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.inference import benjamini_hochberg, paired_contrast, score_shift
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

PRESENTATION = ("randomize_labels", "shuffle_order")
FIXED, RANDOM = "fixed", "random"


@dataclass(frozen=True)
class AxisPair:
    """Two experiments of one judge that differ in one axis, and the scope of their contrast."""

    before: Judge
    after: Judge
    scope: Scope


def contrasts(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the contrast of scores and of probed confidence for every pair of experiments.

    p values are adjusted by Benjamini-Hochberg over the contrasts of an axis: they explore.
    """
    for _, pairs in axis_pairs(data, groups):
        for metric in ("contrast", "contrast_confidence"):
            estimates = [_contrast(data, pair, metric) for pair in pairs]
            adjusted = _adjusted(estimates)
            for pair, (estimate, p) in zip(pairs, adjusted, strict=True):
                origin = data.origin_of([pair.before.of_kind("own"), pair.after.of_kind("own")])
                yield result_row(estimate, pair.scope, origin, p)


def axis_pairs(data: SweepData, groups: Sequence[Group]) -> Iterator[tuple[str, list[AxisPair]]]:
    """Yield each axis with the pairs of experiments that differ in it and nothing else."""
    scopes = scopes_of(groups)
    identities = {judge.experiment.key: _identity(judge.experiment) for judge in data.judges}
    for axis in (*(one.name for one in axes()), "presentation"):
        yield axis, list(_pairs(data.judges, identities, scopes, axis))


def _pairs(
    judges: Sequence[Judge],
    identities: Mapping[str, Mapping[str, Any]],
    scopes: Mapping[str, Scope],
    axis: str,
) -> Iterator[AxisPair]:
    """Yield the pairs of experiments that differ in this axis and nothing else."""
    fields = PRESENTATION if axis == "presentation" else (axis,)
    alike: dict[str, list[Judge]] = defaultdict(list)
    for judge in judges:
        alike[canonical_json(_without(identities[judge.experiment.key], fields))].append(judge)
    for bucket in alike.values():
        ordered = sorted(bucket, key=lambda judge: _rank(judge.experiment, fields[0]))
        for before, after in combinations(ordered, 2):
            start, end = (_level(one.experiment, scopes, axis) for one in (before, after))
            if start is not None and end is not None:
                scope = _without(scopes[before.experiment.key], fields)
                told = {"axis": axis, "from": start, "to": end, "judge": before.model}
                yield AxisPair(before, after, {**scope, **told})


def _identity(experiment: Experiment) -> dict[str, Any]:
    """Return all that makes an experiment another one than the next, judge included."""
    content = experiment.model_dump(mode="json", exclude={"tag", "window", "replicates"})
    return {**content, "window": experiment.window.key}


def _without(content: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name not in fields}


def _rank(experiment: Experiment, axis: str) -> Any:
    """Return what orders the values of an axis: as declared, else their own order."""
    if axis == "rubric":
        return get_args(RubricSource.model_fields["kind"].annotation).index(
            experiment.rubric.kind
        ), canonical_json(experiment.rubric.model_dump(mode="json"))
    declared = get_args(Experiment.model_fields[axis].annotation)
    value = getattr(experiment, axis)
    return declared.index(value) if value in declared else value


def _level(experiment: Experiment, scopes: Mapping[str, Scope], axis: str) -> Any:
    """Return the axis's value as scopes show it; None where `presentation` is half and half."""
    if axis == "presentation":
        both = {getattr(experiment, field) for field in PRESENTATION}
        return None if len(both) > 1 else RANDOM if both.pop() else FIXED
    return scopes[experiment.key]["rubric"] if axis == "rubric" else getattr(experiment, axis)


def _contrast(data: SweepData, pair: AxisPair, metric: str) -> Estimate:
    arms = [[one.of_kind("own")] for one in (pair.before, pair.after)]
    items = data.items_of([judge.of_kind("own") for judge in (pair.before, pair.after)])
    rng = generator_of(metric, pair.scope)
    if metric == "contrast_confidence":
        before, after = (data.answered(own, items).confidence() for own in arms)
        return paired_contrast(metric, before, after, rng, "probability")
    sizes = (one.experiment.scale_size for one in (pair.before, pair.after))
    start, end = (data.verdicts(own, items, n) for own, n in zip(arms, sizes, strict=True))
    return score_shift(metric, start, end, rng)


def _adjusted(estimates: Sequence[Estimate]) -> Iterator[tuple[Estimate, float | None]]:
    p_values = [estimate.p for estimate in estimates if estimate.p is not None]
    adjusted = iter(benjamini_hochberg(p_values))
    note = f"; Benjamini-Hochberg over {len(p_values)}"
    for estimate in estimates:
        if estimate.p is None:
            yield estimate, None
        else:
            yield replace(estimate, method=estimate.method + note), next(adjusted)
