"""Rows of the map of polarization: how far families stand apart on each item, and its floor."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from judge_gym.analysis.groups import Group, generator_of
from judge_gym.metrics.cells import FloatArray, IntArray, Verdicts, pignistic
from judge_gym.metrics.dealing import SINGLE_EPSILON, deal
from judge_gym.metrics.divergence import jensen_shannon
from judge_gym.metrics.inference import permutation_p
from judge_gym.report.plots.plot import ALL_ITEMS, Panel, Plot, Rows
from judge_gym.report.plots.study import (
    MAX_PANELS,
    Study,
    estimated,
    more_groups,
    of_group,
    place,
    why_not,
)
from judge_gym.report.table import Row, Table, number, p_value
from judge_gym.store.results import ResultRow

MAX_ITEMS = 40
MAX_PAIRS = 8
DEALS = 500
BEYOND = 0.05
"""A cell is beyond its floor when at most this share of its deals stand as far apart."""

_MAP = Plot(
    "heat_map",
    "Polarization item by item",
    "A row is an item, a column two families; the number is how far they stand apart there (P, in "
    "bits) with the cell's own floor P0 in brackets. A frame and ▲ mark what at most one in 20 "
    "random deals of the cell's verdicts reaches, so read single marks with care: chance alone "
    "marks one cell in 20.",
    "Polarization by pair",
    missing="nothing was judged",
)


def polarization_map(study: Study) -> Plot:
    """Return the polarization of each pair of families on each item, beside the cell's floor."""
    pairs = estimated(study.of_metric("polarization_pair"))
    compared = [
        (group, heading, of_pairs)
        for group, heading in study.named_groups()
        if (of_pairs := of_group(pairs, group, "pair"))
    ]
    if not compared:
        reasons = [*study.of_metric("polarization_pair"), *study.of_metric("polarization")]
        return replace(_MAP, missing=why_not(reasons, "no two judges judged the same"))
    panels = tuple(
        Panel(heading, _cells(study, group, of_pairs))
        for group, heading, of_pairs in compared[:MAX_PANELS]
    )
    simulated = any(row.simulated for row in pairs)
    return replace(
        _MAP,
        panels=panels,
        notes=tuple(_left_out(compared)),
        numbers=replace(_numbers(panels), simulated=simulated),
        simulated=simulated,
        missing="",
    )


def _numbers(panels: Sequence[Panel]) -> Table:
    return Table(
        f"{_MAP.title}: the numbers",
        "P and its floor P0 in bits, and the share of deals that reach P.",
        ("item", "families", "P", "floor P0", "p"),
        tuple(
            Row(
                (
                    row["item"],
                    row["pair"],
                    number(row["divergence"]),
                    number(row["floor"]),
                    p_value(row["p"]),
                ),
                heading=panel.heading,
            )
            for panel in panels
            for row in panel.rows
        ),
        words=2,
    )


def _left_out(compared: list[tuple[Group, str, list[ResultRow]]]) -> Iterator[str]:
    yield from more_groups([(group, heading) for group, heading, _ in compared])
    for group, heading, of_pairs in compared[:MAX_PANELS]:
        where = place(heading)
        if (n_pairs := len(of_pairs)) > MAX_PAIRS:
            yield f"Shown: the {MAX_PAIRS} of {n_pairs} pairs furthest above their floor{where}."
        if (n_items := int(group.common.sum())) > MAX_ITEMS:
            yield f"Shown: the {MAX_ITEMS} of {n_items} items on which P is largest{where}."


def _cells(study: Study, group: Group, of_pairs: list[ResultRow]) -> Rows:
    """Return the cells of a group, items and pairs furthest apart first, then the pairs' own."""
    excess = {row.scope["pair"]: (row.estimate or 0) - (row.floor or 0) for row in of_pairs}
    chosen = sorted(excess, key=lambda pair: -excess[pair])[:MAX_PAIRS]
    by_pair = {pair: both for pair, both in _of_families(group) if pair in chosen}
    apart = {pair: _apart(*by_pair[pair]) for pair in chosen}
    order = np.argsort(-np.mean(list(apart.values()), axis=0), kind="stable")
    shown = [int(item) for item in order if group.common[item]][:MAX_ITEMS]
    titles = _distinct([ALL_ITEMS, *(study.titles[group.items[item]] for item in shown)])[1:]
    cells = [
        _cell(title, pair, float(apart[pair][item]), *_floor(*by_pair[pair], item, rng))
        for item, title in zip(shown, titles, strict=True)
        for pair in chosen
        for rng in [generator_of(f"cell {item}", {**group.scope, "pair": pair})]
    ]
    own = {row.scope["pair"]: row for row in of_pairs}
    return cells + [
        _cell(ALL_ITEMS, pair, own[pair].estimate, own[pair].floor, own[pair].p) for pair in chosen
    ]


def _cell(
    item: str, pair: str, divergence: float | None, floor: float | None, p: float | None
) -> dict[str, Any]:
    beyond = p is not None and p <= BEYOND
    cell = {"item": item, "pair": pair, "divergence": divergence, "floor": floor}
    return {**cell, "p": p, "beyond": beyond}


def _distinct(titles: list[str]) -> list[str]:
    """Number the titles that items share."""
    return [
        title if titles.count(title) == 1 else f"{title} ({titles[: place + 1].count(title)})"
        for place, title in enumerate(titles)
    ]


def _of_families(group: Group) -> Iterator[tuple[str, tuple[Verdicts, IntArray]]]:
    """Yield the name of each pair of families, its verdicts and the family (0, 1) of each judge."""
    of_judge = [group.judges[judge].experiment.family for judge in group.present]
    for pair in combinations(sorted(set(of_judge)), 2):
        places = [place for place, family in enumerate(of_judge) if family in pair]
        judges = [group.present[place] for place in places]
        family = np.array([pair.index(of_judge[place]) for place in places])
        yield " and ".join(pair), (group.compared.of_judges(judges), family)


def _between(family: IntArray) -> Callable[[FloatArray], FloatArray]:
    """Return the divergence between two families, of p (..., judges, stages)."""

    def apart(p: FloatArray) -> FloatArray:
        one, other = (p[..., family == place, :].mean(axis=-2) for place in (0, 1))
        return jensen_shannon(one, other)

    return apart


def _apart(verdicts: Verdicts, family: IntArray) -> FloatArray:
    p, _ = pignistic(verdicts)
    return np.asarray(_between(family)(p.swapaxes(0, 1)))


def _floor(
    verdicts: Verdicts, family: IntArray, item: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return P0 of one item and the share of its deals that stand as far apart."""
    rows = verdicts.rows(verdicts.item == item)
    alone = replace(rows, item=np.zeros(len(rows), dtype=np.int64), n_items=1)
    dealt = deal(alone, _between(family), rng, DEALS)
    found = float(_apart(alone, family)[0])
    return float(dealt.per_item[0]), permutation_p(found, dealt.means, SINGLE_EPSILON)
