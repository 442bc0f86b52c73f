"""Where single scores differ, and what would narrow their mean."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.analysis.data import SweepData
from judge_gym.analysis.facets import FACETS, varying_facets, without_facets
from judge_gym.analysis.groups import Group, result_row
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.analysis.truths import truth_of_single
from judge_gym.metrics.cells import FloatArray, IntArray, scores
from judge_gym.metrics.estimate import (
    WIDEST,
    Estimate,
    expected_half_width,
    not_estimable,
)
from judge_gym.metrics.facets import (
    HIGHEST_VARIANCE,
    ITEM,
    JUDGE,
    FacetCells,
    NextStep,
    facet_components,
    half_width,
    next_steps,
)
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow
from judge_gym.store.sweep_columns import CallTotals

TABLES = (
    FigureTable(
        "Where the variance is",
        (
            "Where single scores differ: between items, judges, wordings and rubric draws, from "
            "one to the other (x), or between replicates. Exploratory: these intervals take the "
            "effects as normal. They hold the true variance in 0.94 to 0.97 of simulations then, "
            "of the items' in 0.99 where items are spread evenly and in 0.76 where they are "
            "skewed."
        ),
        question="design",
        rank=120,
        figures=(Figure("variance_component", "squared 0-1 scale"),),
        columns=(
            Column("variance", "variance_component", "small"),
            Column("items", "variance_component", "items"),
        ),
        across=True,
        in_terminal=False,
        formulas=("x = mean + every facet + every interaction + replicate: the variance of each",),
        needs=("Needs two levels of each facet in a complete crossing.",),
        sources=("Source: Searle, Casella and McCulloch 1992; Burdick and Graybill 1992.",),
    ),
    FigureTable(
        "Where the next dollar goes",
        (
            "What would narrow the 95% interval of the mean by a fifth, all facets taken as "
            "random: how many of one facet it needs, as everything else stays, and what that adds "
            "to all judgements and probes of these judges. Items and replicates now are those "
            "with a score. A facet with no number is not what holds the error up."
        ),
        question="design",
        rank=130,
        figures=(
            Figure("next_step_levels", "levels"),
            Figure("next_step_judgements", "judgements"),
            Figure("next_step_probes", "probes"),
            Figure("next_step_cost", "USD"),
        ),
        columns=(
            Column("now", "next_step_levels", "floor"),
            Column("needed", "next_step_levels", digits=0),
            Column("judgements more", "next_step_judgements", digits=0),
            Column("probes more", "next_step_probes", digits=0),
            Column("USD more", "next_step_cost"),
        ),
        across=True,
        formulas=(
            "half-width = t · √(Σ over terms of variance / number of its levels), levels changed",
            "judgements, probes and USD more = (needed / now − 1) · all of now",
        ),
        needs=("Needs what the variances need; prices are those of the ledger.",),
        sources=("Source: Brennan 2001, Generalizability Theory.",),
    ),
    FigureTable(
        "Expected half-width",
        (
            "Half the width of the 95% interval of the mean of single scores (of the share "
            "correct, where answers are known) with the items, judges, wordings and replicates of "
            "now."
        ),
        question="design",
        rank=140,
        figures=(Figure("half_width", "0-1 score or share correct"),),
        columns=(
            Column("half-width", "half_width", digits=3),
            Column("items", "half_width", "items"),
        ),
        across=True,
        in_terminal=False,
        formulas=("as where the next dollar goes, with the levels of now",),
        needs=("Needs what the variances need.",),
    ),
)


TARGET = 0.8
"""The half-width that a next step is to reach, as a share of the present one, or of the widest."""


@dataclass(frozen=True, eq=False)
class _Scored:
    """Scored samples of groups that differ in facets alone: a value and a code per facet each.

    `known` says whether the value is 1 for a verdict at the known answer, else the 0-1 score.
    """

    names: tuple[str, ...]
    codes: tuple[IntArray, ...]
    values: FloatArray
    known: bool


def variances(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the variance of single scores by facet, and what more levels of each would buy."""
    for same in _repeated(groups):
        arms = [own for group in same for own in group.own_arms]
        scope = without_facets(same[0].scope)
        suffix, origin = same[0].mixed, data.origin_of(arms)
        scored = _scored(same)
        components, known = facet_components(
            FacetCells.of(scored.names, scored.codes, scored.values), HIGHEST_VARIANCE
        )
        of = "share correct" if scored.known else "0-1 score"
        for component in components:
            named = replace(
                component,
                metric=f"variance_component{suffix}",
                method=f"{component.method}; of the {of}",
            )
            yield result_row(named, {**scope, "term": component.metric}, origin)
        if known is None:
            continue
        now = half_width(known, known.sizes, known.replicates)
        asked = [judge.asked for group in same for judge in group.judges]
        for step in next_steps(known, TARGET * min(now, WIDEST)):
            for estimate in _bought(step, asked, len(scored.values)):
                named = replace(estimate, metric=estimate.metric + suffix)
                yield result_row(named, {**scope, "part": step.facet}, origin)
        width = expected_half_width(
            f"half_width{suffix}", now, n=len(scored.values), n_items=known.sizes[ITEM],
            method=f"expected half-width of the 95% interval of the mean {of}, all facets random",
            unit=of,
        )  # fmt: skip
        yield result_row(width, scope, origin)


def _repeated(groups: Sequence[Group]) -> list[list[Group]]:
    """Return the groups in sets that differ in facets alone."""
    same: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        same[canonical_json(without_facets(group.scope))].append(group)
    return list(same.values())


def _scored(same: Sequence[Group]) -> _Scored:
    """Return the scored samples of the own arms of these groups, by item, judge and facet."""
    varying = varying_facets(same)
    models = sorted({group.judges[place].model for group in same for place in group.present})
    known = all(truth_of_single(group) is not None for group in same)
    columns: list[tuple[IntArray, ...]] = []
    values = []
    for group in same:
        verdicts, truth = group.own, truth_of_single(group)
        judge = np.array(
            [models.index(one.model) if one.model in models else 0 for one in group.judges]
        )
        kept = np.ones(len(verdicts), dtype=np.bool_)
        value = scores(verdicts)
        if known and truth is not None:
            kept = truth[verdicts.item] > 0
            value = (verdicts.stages == 1 << np.maximum(truth[verdicts.item] - 1, 0)).astype(float)
        experiment = group.judges[0].experiment
        levels = [
            np.full(int(kept.sum()), of.index(getattr(experiment, axis)))
            for axis, of in varying.items()
        ]
        columns.append((group.items[verdicts.item[kept]], judge[verdicts.judge[kept]], *levels))
        values.append(value[kept])
    item, *codes = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    names = [ITEM, JUDGE, *(FACETS[axis] for axis in varying)]
    codes = [np.unique(item, return_inverse=True)[1], *codes]
    used = [place for place, name in enumerate(names) if name != JUDGE or len(models) > 1]
    return _Scored(
        tuple(names[place] for place in used),
        tuple(codes[place].astype(np.int64) for place in used),
        np.concatenate(values),
        known,
    )


def _bought(step: NextStep, asked: Sequence[CallTotals], n: int) -> Iterator[Estimate]:
    """Yield the levels of a facet that reach the target, and what they add to ask and to pay.

    In proportion to what the judges were asked, whether or not it could be read: every item, arm
    and probe of theirs.
    """
    levels, more, probes, cost = (
        ("next_step_levels", "levels"),
        ("next_step_judgements", "judgements"),
        ("next_step_probes", "probes"),
        ("next_step_cost", "USD"),
    )
    if step.levels is None or step.share is None:
        for metric, unit in (levels, more, probes, cost):
            yield not_estimable(
                metric, "no number of them up to 100 times as many is enough", n=n, unit=unit
            )
        return
    method = f"fewest that bring the expected half-width to {TARGET:.0%} of the present one"
    yield Estimate(
        levels[0], float(step.levels), None, None, n, 0,
        floor=step.now, method=method, unit=levels[1],
    )  # fmt: skip
    method += "; in proportion to all judgements and probes of these judges"
    added = (
        (more, float(sum(one.judgements for one in asked))),
        (probes, float(sum(one.probes for one in asked))),
        (cost, _total_cost(asked)),
    )
    for (metric, unit), total in added:
        if total is None:
            because = "the price of a judgement or probe is not known"
            yield not_estimable(metric, because, n=n, unit=unit)
        else:
            value = step.share * total
            yield Estimate(metric, value, None, None, n, 0, method=method, unit=unit)


def _total_cost(asked: Sequence[CallTotals]) -> float | None:
    costs = [one.cost for one in asked if one.cost is not None]
    return sum(costs) if len(costs) == len(asked) else None


OF_LEVELS = (variances,)
