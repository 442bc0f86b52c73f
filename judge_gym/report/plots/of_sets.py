"""Rows of the plot of subset verdicts: which sets of stages judges chose, and how they overlap."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from judge_gym.analysis.groups import Group
from judge_gym.analysis.judges import is_subset
from judge_gym.metrics.cells import FloatArray, IntArray, SetCounts, set_counts, set_sizes
from judge_gym.report.plots.plot import NONE, PART, SAME, WITHIN, Panel, Plot
from judge_gym.report.plots.study import MAX_PANELS, Study, more_groups, more_judges
from judge_gym.report.table import Row, Table, number

MAX_SETS = 12
MAX_JUDGES = 5

_SETS = Plot(
    "subsets",
    "Which sets of stages were chosen",
    "A row is a set, its dots are the stages in it and its bars the share of each judge's verdicts "
    "that chose just that set: long rows leave much of the scale open. Below: whether two verdicts "
    "on the same item are the same, nested (one within the other), overlap partly or stand apart; "
    "of two judges and, for comparison, of one judge with itself.",
    "Subset width",
    missing="no judge was asked for sets of stages",
)


def chosen_sets(study: Study) -> Plot:
    """Return the sets that judges chose, and how those of two judges on one item overlap."""
    asked = [(group, heading) for group, heading in study.named_groups() if is_subset(group)]
    scored = [(group, heading) for group, heading in asked if len(group.compared)]
    if not scored:
        because = "no set was given on an item that all judges scored"
        return replace(_SETS, missing=because if asked else _SETS.missing)
    panels = tuple(Panel(heading, list(_rows(group))) for group, heading in scored[:MAX_PANELS])
    simulated = any(group.data.origin_of(group.own_arms).simulated for group, _ in scored)
    return replace(
        _SETS,
        panels=panels,
        notes=(*more_groups(scored), *more_judges(scored, MAX_JUDGES)),
        numbers=replace(_numbers(panels), simulated=simulated),
        simulated=simulated,
        missing="",
    )


def _numbers(panels: Sequence[Panel]) -> Table:
    return Table(
        f"{_SETS.title}: the numbers",
        "Share of a judge's verdicts for each set; and of the pairs of verdicts on one item, by "
        "how they overlap, on average over items.",
        ("judges", "set or overlap", "share"),
        tuple(_line(row, panel.heading) for panel in panels for row in panel.rows),
        words=2,
    )


def _line(row: Any, heading: str) -> Row:
    if "pair" in row:
        return Row((row["pair"], row["relation"], number(row["share"])), heading=heading)
    named = "other sets" if row["stages"] is None else ", ".join(map(str, row["stages"]))
    return Row((row["judge"], named, number(row["share"])), heading=heading)


def _rows(group: Group) -> Iterator[dict[str, Any]]:
    present = group.present[:MAX_JUDGES]
    models = [group.judges[judge].model for judge in present]
    counted = set_counts(group.compared.of_judges(present))
    totals = counted.counts.sum(axis=1)
    shares = totals / totals.sum(axis=1, keepdims=True)
    mean = shares.mean(axis=0)
    shown = [int(place) for place in np.argsort(-mean, kind="stable")[:MAX_SETS] if mean[place] > 0]
    shown.sort(key=lambda place: (int(set_sizes(counted.sets[[place]])[0]), counted.sets[place]))
    for place in shown:
        stages = _stages(int(counted.sets[place]))
        for model, of_judge in zip(models, shares, strict=True):
            share = float(of_judge[place])
            yield {"stages": stages, "scale": group.n_stages, "judge": model, "share": share}
    rest = 1 - shares[:, shown].sum(axis=1)
    if rest.max() > 1e-9:
        for model, share in zip(models, rest, strict=True):
            yield {"stages": None, "scale": group.n_stages, "judge": model, "share": float(share)}
    yield from _overlaps(counted, models)


def _stages(bits: int) -> tuple[int, ...]:
    return tuple(place + 1 for place in range(bits.bit_length()) if bits >> place & 1)


def _overlaps(counted: SetCounts, models: list[str]) -> Iterator[dict[str, Any]]:
    relation = _relations(counted.sets)
    for first, second in combinations_with_replacement(range(len(models)), 2):
        weights = _weights(counted.counts, first, second)
        if weights is not None:
            alone = first == second
            pair = (
                f"{models[first]} with itself" if alone else f"{models[first]} and {models[second]}"
            )
            for name in (SAME, WITHIN, PART, NONE):
                share = float(weights[relation == name].sum())
                yield {"pair": pair, "relation": name, "share": share}


def _relations(sets: IntArray) -> np.ndarray:
    """Return how each two sets overlap, sets x sets."""
    one, other = sets[:, None], sets[None, :]
    both = one & other
    within = (both == one) | (both == other)
    names = np.where(both == 0, NONE, np.where(within, WITHIN, PART))
    return np.where(one == other, SAME, names)


def _weights(counts: IntArray, first: int, second: int) -> FloatArray | None:
    """Return the share of pairs of verdicts on one item by their sets, on average over items.

    A verdict makes no pair with itself. None when no item has a pair.
    """
    one, other = counts[first].astype(np.float64), counts[second].astype(np.float64)
    pairs = one[:, :, None] * other[:, None, :]
    if first == second:
        pairs -= np.einsum("ia,ab->iab", one, np.eye(one.shape[1]))
    totals = pairs.sum(axis=(1, 2))
    kept = totals > 0
    if not kept.any():
        return None
    return np.asarray((pairs[kept] / totals[kept, None, None]).mean(axis=0))
