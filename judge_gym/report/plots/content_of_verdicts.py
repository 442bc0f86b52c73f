"""What the plots of verdicts show, as tidy rows, and what they leave out and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judge_gym.analysis.groups import Group
from judge_gym.analysis.plotted import (
    ItemDivergence,
    OverlapShare,
    divergence_by_item,
    outcome_shares,
    set_overlaps,
    set_shares,
)
from judge_gym.formats import number, p_value
from judge_gym.report.plots.plot import ALL_ITEMS, Plot, PlotPanel, Rows
from judge_gym.report.plots.plotted_sweep import (
    MAX_PANELS,
    PlottedSweep,
    drawn,
    estimated,
    in_group,
    link_to_judge,
    more_groups,
    more_judges,
    numbers_of,
    place_of,
    rows_of_group,
    why_not,
)
from judge_gym.report.scopes import behind, evidence_link
from judge_gym.report.table import Row, Table
from judge_gym.store.results import ResultRow

MAX_ITEMS = 40
MAX_PAIRS = 8
BEYOND = 0.05
"""A cell is beyond its floor when at most this share of its deals stand as far apart."""
MAX_SETS = 12
MAX_CHOOSING = 5
MAX_BARS = 40
_MAP = Plot(
    "heat_map",
    "Polarization item by item",
    "A row is an item, a column two families; the number is how far they stand apart there (P, in "
    "bits), with the cell's own floor P0 in brackets. A frame and ▲ mark cells further apart than "
    "19 of 20 random deals of their verdicts. Chance alone marks one cell in 20, so read single "
    "marks with care. A cell leads to the answers.",
    "Polarization by pair",
    missing="nothing was judged",
)
_SHARES = Plot(
    "distributions",
    "What the judges said",
    "A bar is all samples of a judge under its own rubric. Numbers are stages, and a darker shade "
    "is a higher one; a set of stages counts in equal parts for each. The bar ends with answers "
    "without a verdict: abstained (hatched), unparseable (crossed), refused (dotted), failed "
    "(filled).",
    "Abstention",
    missing="nothing was judged",
)
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
OVERVIEW = "overview"
"""What the picture of the first screen stands beside: no table."""
_DISAGREEMENT = Plot(
    "distributions",
    "Where judges disagree most",
    "The verdicts of each judge on one item: numbers are stages, a darker shade a higher one.",
    OVERVIEW,
    missing="no two families of judges judged the same item",
)


def polarization_map(study: PlottedSweep) -> Plot:
    """Return the polarization of each pair of families on each item, beside the cell's floor."""
    pairs = estimated(study.rows_of_metric("polarization_pair"))
    compared = [
        (group, heading, pair_rows)
        for group, heading in study.named_groups()
        if (pair_rows := rows_of_group(pairs, group, "pair"))
    ]
    if not compared:
        rows = [*study.rows_of_metric("polarization_pair"), *study.rows_of_metric("polarization")]
        return replace(_MAP, missing=why_not(rows, "no two judges judged the same"))
    panels = tuple(
        PlotPanel(heading, _cells(study, group, pair_rows))
        for group, heading, pair_rows in compared[:MAX_PANELS]
    )
    numbers = numbers_of(
        _MAP,
        "P and its floor P0 in bits, and the share of deals that reach P.",
        ("item", "families", "P", "floor P0", "p"),
        panels,
        lambda row: (
            *(row["item"], row["pair"], number(row["divergence"])),
            *(number(row["floor"]), p_value(row["p"])),
        ),
    )
    return drawn(
        _MAP, panels, any(row.simulated for row in pairs), [*_not_mapped(compared)], numbers
    )


def _cells(study: PlottedSweep, group: Group, pair_rows: Sequence[ResultRow]) -> Rows:
    """Return the cells of a group, items and pairs furthest apart first, then the pairs' own."""
    row_by_pair = {row.scope["pair"]: row for row in pair_rows}
    excess = {pair: (row.estimate or 0) - (row.floor or 0) for pair, row in row_by_pair.items()}
    pairs = sorted(excess, key=lambda pair: -excess[pair])[:MAX_PAIRS]
    cells = divergence_by_item(group, pairs, MAX_ITEMS)
    items = list(dict.fromkeys(cell.item for cell in cells))
    titles = _distinct([ALL_ITEMS, *(str(study.titles[item]) for item in items)])[1:]
    title = dict(zip(items, titles, strict=True))
    return [
        *(
            _cell(
                title[cell.item],
                cell.pair,
                (cell.divergence, cell.floor, cell.p),
                evidence_link(
                    behind([row_by_pair[cell.pair].scope]), place_of(study.titles[cell.item])
                ),
            )
            for cell in cells
        ),
        *(
            _cell(
                ALL_ITEMS,
                pair,
                (row.estimate, row.floor, row.p),
                evidence_link(behind([row.scope])),
            )
            for pair in pairs
            for row in [row_by_pair[pair]]
        ),
    ]


def _cell(
    item: str, pair: str, figures: tuple[float | None, float | None, float | None], link: str
) -> dict[str, Any]:
    divergence, floor, p = figures
    beyond = p is not None and p <= BEYOND
    cell = {"item": item, "pair": pair, "divergence": divergence, "floor": floor}
    return {**cell, "p": p, "beyond": beyond, "link": link}


def _distinct(titles: Sequence[str]) -> list[str]:
    """Number the titles that items share."""
    return [
        title if titles.count(title) == 1 else f"{title} ({titles[: place + 1].count(title)})"
        for place, title in enumerate(titles)
    ]


def _not_mapped(compared: Sequence[tuple[Group, str, list[ResultRow]]]) -> Iterator[str]:
    yield from more_groups([(group, heading) for group, heading, _ in compared])
    for group, heading, pair_rows in compared[:MAX_PANELS]:
        where = in_group(heading)
        if (n_pairs := len(pair_rows)) > MAX_PAIRS:
            yield f"Shown: the {MAX_PAIRS} of {n_pairs} pairs furthest above their floor{where}."
        if (n_items := int(group.common.sum())) > MAX_ITEMS:
            yield f"Shown: the {MAX_ITEMS} of {n_items} items on which P is largest{where}."


def widest_disagreement(study: PlottedSweep) -> Plot:
    """Return the verdicts on the item where two families stand furthest above their floor."""
    pairs = estimated(study.rows_of_metric("polarization_pair"))
    widest: tuple[float, Group, str, ItemDivergence] | None = None
    for group, heading in study.named_groups():
        named = [row.scope["pair"] for row in rows_of_group(pairs, group, "pair")]
        for cell in divergence_by_item(group, named, 1) if named else ():
            excess = cell.divergence - cell.floor
            if widest is None or excess > widest[0]:
                widest = excess, group, heading, cell
    if widest is None:
        return _DISAGREEMENT
    _, group, heading, cell = widest
    title = study.titles[cell.item]
    bars = [
        _bar(group, heading, judge, cell.item, place_of(title))
        for judge in range(len(group.judges))
    ]
    says = (
        f"Families {cell.pair}: {number(cell.divergence)} bits apart, by chance "
        f"{number(cell.floor)}. Chosen as the widest of {int(group.common.sum())} items."
    )
    panel = PlotPanel(str(title), [row for bar in bars for row in bar], says)
    simulated = group.data.origin_of(group.own_arms).simulated
    plot = drawn(_DISAGREEMENT, (panel,), simulated, ())
    return replace(plot, link=evidence_link(behind([group.scope]), place_of(title)))


def verdict_shares(study: PlottedSweep) -> Plot:
    """Return how the samples of each judge's own arm ended, by stage and by other outcome."""
    bars: list[list[dict[str, Any]]] = [
        bar
        for group, heading in study.named_groups()
        for judge in range(len(group.judges))
        if (bar := _bar(group, heading, judge))
    ]
    if not bars:
        return _SHARES
    shown = [row for bar in bars[:MAX_BARS] for row in bar]
    numbers = Table(
        f"{_SHARES.title}: the numbers",
        "Shares of all samples of a judge; stages of different rubrics are not the same.",
        ("judge", "stage or outcome", "share", "samples"),
        tuple(
            Row(
                (row["judge"], str(row["category"]), number(row["share"]), str(row["samples"])),
                heading=row["group"],
            )
            for row in shown
        ),
        words=2,
    )
    left_out = f"Shown: the first {MAX_BARS} of {len(bars)} judges of groups."
    notes = [left_out] if len(bars) > MAX_BARS else []
    simulated = bool(study.data.simulated_arms)
    return drawn(_SHARES, (PlotPanel("", shown),), simulated, notes, numbers)


def _bar(
    group: Group, heading: str, judge: int, item: int | None = None, place: str = "evidence"
) -> list[dict[str, Any]]:
    model = group.judges[judge].model
    about = {"group": heading, "judge": model, "stages": group.n_stages}
    scope = behind([{**group.scope, "judge": model}])
    return [
        {
            **about,
            "category": outcome.category,
            "samples": outcome.samples,
            "share": outcome.share,
            "link": evidence_link((*scope, ("outcome", _status(outcome.category))), place),
        }
        for outcome in outcome_shares(group, judge, item)
    ]


def _status(category: int | str) -> str:
    """Return how judgements of a bar's part are stored: a stage is that of a scored one."""
    return category if isinstance(category, str) else "scored"


def chosen_sets(study: PlottedSweep) -> Plot:
    """Return the sets that judges chose, and how those of two judges on one item overlap."""
    subsets = [(group, heading) for group, heading in study.named_groups() if group.is_subset]
    scored = [(group, heading) for group, heading in subsets if len(group.compared)]
    if not scored:
        because = "no set was given on an item that all judges scored"
        return replace(_SETS, missing=because if subsets else _SETS.missing)
    panels = tuple(PlotPanel(heading, _set_rows(group)) for group, heading in scored[:MAX_PANELS])
    numbers = numbers_of(
        _SETS,
        "Share of a judge's verdicts for each set; and of the pairs of verdicts on one item, by "
        "how they overlap, on average over items.",
        ("judges", "set or overlap", "share"),
        panels,
        _set_cells,
    )
    simulated = any(group.data.origin_of(group.own_arms).simulated for group, _ in scored)
    notes = [*more_groups(scored), *more_judges(scored, MAX_CHOOSING)]
    return drawn(_SETS, panels, simulated, notes, numbers)


def _set_rows(group: Group) -> Rows:
    return [
        *(
            {
                "stages": chosen_set.stages,
                "scale": group.n_stages,
                "judge": chosen_set.judge,
                "share": chosen_set.share,
                "link": link_to_judge(group, chosen_set.judge),
            }
            for chosen_set in set_shares(group, MAX_CHOOSING, MAX_SETS)
        ),
        *(
            {"pair": _pair(overlap), "overlap": overlap.overlap, "share": overlap.share}
            for overlap in set_overlaps(group, MAX_CHOOSING)
        ),
    ]


def _pair(overlap: OverlapShare) -> str:
    first, second = overlap.judges
    return f"{first} with itself" if first == second else f"{first} and {second}"


def _set_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    if "pair" in row:
        return row["pair"], str(row["overlap"]), number(row["share"])
    named = "other sets" if row["stages"] is None else ", ".join(map(str, row["stages"]))
    return row["judge"], named, number(row["share"])
