"""What each plot of a sweep shows, as tidy rows, and what it leaves out and why.

The values come from the analysis; nothing here estimates.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.analysis.data import SweepData
from judge_gym.analysis.facets import pooled_groups
from judge_gym.analysis.groups import MIXED, SUBJECTS, Group, without
from judge_gym.analysis.plotted import (
    ArmConfidence,
    ItemDivergence,
    Mean,
    OverlapShare,
    confidence_by_arm,
    divergence_by_item,
    outcome_shares,
    set_overlaps,
    set_shares,
    stated_and_realised,
)
from judge_gym.formats import figure, number, p_value, ranged
from judge_gym.report.findings import stands
from judge_gym.report.moves import BESIDE
from judge_gym.report.plots.plot import ALL_ITEMS, Plot, PlotPanel, Rows
from judge_gym.report.scopes import behind, evidence_link, group_labels
from judge_gym.report.table import Row, Table
from judge_gym.seeds import canonical_json
from judge_gym.store.judgement_texts import ItemTitle, titles_of_judged_items
from judge_gym.store.results import ResultRow

MAX_PANELS = 6
"""Drawings of one plot."""
MAX_ITEMS = 40
MAX_PAIRS = 8
BEYOND = 0.05
"""A cell is beyond its floor when at most this share of its deals stand as far apart."""
MAX_SWAPS = 6
MAX_LINES = 60
MAX_PROBED = 8
MAX_SETS = 12
MAX_CHOOSING = 5
MAX_BARS = 40
MAX_CHANGES = 30
_MIXES = "mixes rubric and judgement"

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
_STATED = Plot(
    "reliability",
    "Stated against realised agreement",
    "Horizontal: the share of experts that a judge expects to choose its verdict. Vertical: the "
    "share of the other judges' verdicts that were the same, with the 95% interval over items. "
    "Below the dashed line the judge is too sure. The numbers on top count probes.",
    "Confidence and overconfidence",
    missing="no judge was probed",
)
_SWAPS = Plot(
    "swaps",
    "Confidence under other rubrics",
    "A thin line is an item, the diamonds are means over items with 95% intervals. A rival's "
    "rubric has an effect if the right end moves and the left end does not: the sham on the left "
    "is a second rubric of the judge's own.",
    "Swap sensitivity",
    missing="no judge was probed under a rival's rubric and its own: the sweep has no swap",
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
_AXES = Plot(
    "forest",
    "Effects of the design axes",
    "A point is the mean effect of one change of an axis, where nothing else was changed, with its "
    "95% interval. The largest come first. An interval across the dashed line may be no effect. A "
    "hollow point has no interval.",
    "Axes over the grid",
    missing="no two experiments of a judge differ in one axis alone",
)
_MOVES = Plot(
    "effects_map",
    "Which setting moves what",
    "A row is one change of an axis, or of who writes and who scores, where nothing else was "
    "changed; a column is what it may move: "
    "the verdict, the shape of verdicts, or confidence. A cell is the mean change, each on a scale "
    "of 0 to 1: blue more, red less, the darker the larger. A frame and ▲ mark what moved: the "
    "interval excludes 0, after correction for many tests.",
    "Axes over the grid",
    missing="no two experiments of a judge differ in one axis alone",
)
_RESPONSE = Plot(
    "response",
    "Response curves",
    "Vertical: the judge's expected stage. Horizontal: what is known of the items, or the mean of "
    "the other judges, from 0 to 1. Points are means of a fifth of its range, with 95% intervals "
    "over items; the line is the fitted curve, dashes a straight line between its ends. A graded "
    "judge is near the dashes, a thresholded one jumps. On top: the regime and its chance; then "
    "the share of the rise in the steepest fifth, beside the straight line's.",
    "Regime of each judge",
    missing="no judge's items have a known answer, or another judge's verdicts",
)
_EFFECTS = {
    "axis_effect": ("verdict", "change of the verdict, 0-1 scale"),
    "axis_effect_confidence": ("confidence", "change of confidence, a probability"),
}
"""Metric → its heading and its axis."""
_MOVED = {
    "axis_effect": _EFFECTS["axis_effect"][0],
    **{metric: heading for metric, (_, heading) in BESIDE.items()},
}
_MOVED |= {metric.replace("axis_", "role_", 1): heading for metric, heading in _MOVED.items()}
"""Metric → its column in the map of effects: of an axis, of who writes and of who scores."""
_ARMS = {"own": "own", "rival": "rival's", "sham": "sham"}
"""Arm of the analysis → its name in the plot."""


@dataclass(frozen=True, eq=False)
class PlottedSweep:
    """A sweep's data, its groups with a heading each, and its figures.

    Groups of a common rubric come first, those over all levels of facets before the levels.

    `titles` are those of the items, by their number in the data.
    """

    data: SweepData
    groups: Sequence[Group]
    headings: Sequence[str]
    titles: Sequence[ItemTitle]
    figures: Sequence[ResultRow]

    def named_groups(self) -> Iterator[tuple[Group, str]]:
        """Yield each group with its heading, which says where rubrics are mixed."""
        for group, heading in zip(self.groups, self.headings, strict=True):
            yield group, f"{heading or 'own rubrics'} ({_MIXES})" if group.mixed else heading

    def rows_of_metric(self, metric: str) -> list[ResultRow]:
        """Return the figures of a metric, those that mix rubrics among them."""
        return [row for row in self.figures if row.metric in (metric, metric + MIXED)]


def read_plots(
    session: Session, sweep: str, data: SweepData, figures: Sequence[ResultRow]
) -> list[Plot]:
    """Return the plots of a sweep, `data` being its own and `figures` those of its analysis run."""
    of_data = pooled_groups(data)
    groups = sorted([*of_data.pooled, *of_data.described], key=lambda group: bool(group.mixed))
    study = PlottedSweep(
        data=data,
        groups=groups,
        headings=group_labels([group.scope for group in groups]),
        titles=titles_of_judged_items(session, sweep),
        # Each plot says in its own words what the sweep has nothing for.
        figures=[row for row in figures if row.scope],
    )
    return [replace(plot(study), imported=data.origin.imported) for plot in _PLOTS]


def polarization_map(study: PlottedSweep) -> Plot:
    """Return the polarization of each pair of families on each item, beside the cell's floor."""
    pairs = _estimated(study.rows_of_metric("polarization_pair"))
    compared = [
        (group, heading, pair_rows)
        for group, heading in study.named_groups()
        if (pair_rows := _group_rows(pairs, group, "pair"))
    ]
    if not compared:
        rows = [*study.rows_of_metric("polarization_pair"), *study.rows_of_metric("polarization")]
        return replace(_MAP, missing=_why_not(rows, "no two judges judged the same"))
    panels = tuple(
        PlotPanel(heading, _cells(study, group, pair_rows))
        for group, heading, pair_rows in compared[:MAX_PANELS]
    )
    numbers = _numbers(
        _MAP,
        "P and its floor P0 in bits, and the share of deals that reach P.",
        ("item", "families", "P", "floor P0", "p"),
        panels,
        lambda row: (
            *(row["item"], row["pair"], number(row["divergence"])),
            *(number(row["floor"]), p_value(row["p"])),
        ),
    )
    return _drawn(
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
                    behind([row_by_pair[cell.pair].scope]), _place(study.titles[cell.item])
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


def _place(title: ItemTitle) -> str:
    """Return the id of the item's first document on the page."""
    return f"document-{title.document_id}"


def _of_judge(group: Group, judge: str) -> str:
    """Return the address of the judgements by a judge of a group."""
    return evidence_link(behind([{**group.scope, "judge": judge}]))


def _distinct(titles: Sequence[str]) -> list[str]:
    """Number the titles that items share."""
    return [
        title if titles.count(title) == 1 else f"{title} ({titles[: place + 1].count(title)})"
        for place, title in enumerate(titles)
    ]


def _not_mapped(compared: Sequence[tuple[Group, str, list[ResultRow]]]) -> Iterator[str]:
    yield from _more_groups([(group, heading) for group, heading, _ in compared])
    for group, heading, pair_rows in compared[:MAX_PANELS]:
        where = _where(heading)
        if (n_pairs := len(pair_rows)) > MAX_PAIRS:
            yield f"Shown: the {MAX_PAIRS} of {n_pairs} pairs furthest above their floor{where}."
        if (n_items := int(group.common.sum())) > MAX_ITEMS:
            yield f"Shown: the {MAX_ITEMS} of {n_items} items on which P is largest{where}."


def widest_disagreement(study: PlottedSweep) -> Plot:
    """Return the verdicts on the item where two families stand furthest above their floor."""
    pairs = _estimated(study.rows_of_metric("polarization_pair"))
    widest: tuple[float, Group, str, ItemDivergence] | None = None
    for group, heading in study.named_groups():
        named = [row.scope["pair"] for row in _group_rows(pairs, group, "pair")]
        for cell in divergence_by_item(group, named, 1) if named else ():
            excess = cell.divergence - cell.floor
            if widest is None or excess > widest[0]:
                widest = excess, group, heading, cell
    if widest is None:
        return _DISAGREEMENT
    _, group, heading, cell = widest
    title = study.titles[cell.item]
    bars = [
        _bar(group, heading, judge, cell.item, _place(title)) for judge in range(len(group.judges))
    ]
    says = (
        f"Families {cell.pair}: {number(cell.divergence)} bits apart, by chance "
        f"{number(cell.floor)}. Chosen as the widest of {int(group.common.sum())} items."
    )
    panel = PlotPanel(str(title), [row for bar in bars for row in bar], says)
    simulated = group.data.origin_of(group.own_arms).simulated
    plot = _drawn(_DISAGREEMENT, (panel,), simulated, ())
    return replace(plot, link=evidence_link(behind([group.scope]), _place(title)))


def stated_against_realised(study: PlottedSweep) -> Plot:
    """Return, per judge and bin of stated shares, the share of other judges that agreed."""
    figures = study.rows_of_metric("overconfidence")
    probed = [
        (group, heading)
        for group, heading in study.named_groups()
        if _estimated(_group_rows(figures, group, "judge"))
    ]
    if not probed:
        return replace(_STATED, missing=_why_not(figures, _STATED.missing))
    panels = tuple(PlotPanel(heading, _bins(group)) for group, heading in probed[:MAX_PANELS])
    numbers = _numbers(
        _STATED,
        "Probes gathered by the nearest quarter of the stated share: means over items, 0 to 1.",
        ("judge", "stated", "realised", "probes"),
        panels,
        lambda row: (
            *(row["judge"], number(row["stated"])),
            *(ranged(row["realised"], row["lower"], row["upper"]), str(row["probes"])),
        ),
        words=1,
    )
    simulated = any(row.simulated for row in _estimated(figures))
    notes = [*_more_groups(probed), *_more_judges(probed, MAX_PROBED)]
    return _drawn(_STATED, panels, simulated, notes, numbers)


def _bins(group: Group) -> Rows:
    return [
        {
            "judge": probe_bin.judge,
            "nearest": probe_bin.nearest,
            "stated": probe_bin.stated,
            "realised": probe_bin.realised.value,
            **_ends(probe_bin.realised),
            "probes": probe_bin.probes,
            "link": _of_judge(group, probe_bin.judge),
        }
        for probe_bin in stated_and_realised(group, MAX_PROBED)
    ]


def _ends(mean: Mean) -> dict[str, float | None]:
    return {"lower": mean.lower, "upper": mean.upper}


def confidence_under_swaps(study: PlottedSweep) -> Plot:
    """Return the confidence of each judge on each item under its own and other rubrics."""
    effects = study.rows_of_metric("swap_sensitivity")
    largest = sorted(_estimated(effects), key=lambda row: -abs(row.estimate or 0))
    if not largest:
        return replace(_SWAPS, missing=_why_not(effects, _SWAPS.missing))
    notes = []
    if len(largest) > MAX_SWAPS:
        notes.append(f"Shown: the {MAX_SWAPS} of {len(largest)} swaps with the largest change.")
    if any(row.n_items > MAX_LINES for row in largest[:MAX_SWAPS]):
        notes.append(f"Lines: the first {MAX_LINES} items; means: all.")
    panels = tuple(_swap(study, row) for row in largest[:MAX_SWAPS])
    means = [
        replace(panel, rows=[row for row in panel.rows if "item" not in row]) for panel in panels
    ]
    rows = [(panel.heading, row) for panel in means for row in panel.rows]
    numbers = Table(
        f"{_SWAPS.title}: the numbers",
        "Mean stated confidence over the items with probes under both rubrics, 0 to 1.",
        ("judge and rival", "rubric", "confidence"),
        tuple(
            Row((heading, row["arm"], ranged(row["confidence"], row["lower"], row["upper"])))
            for heading, row in rows
        ),
        words=2,
    )
    return _drawn(_SWAPS, panels, any(row.simulated for row in largest), notes, numbers)


def _swap(study: PlottedSweep, effect: ResultRow) -> PlotPanel:
    [(group, heading)] = [
        (group, heading)
        for group, heading in study.named_groups()
        if _group_rows([effect], group, "judge", "rival")
    ]
    model, rival = effect.scope["judge"], effect.scope["rival"]
    shams = _group_rows(_estimated(study.rows_of_metric("sham_sensitivity")), group, "judge")
    sham = [row for row in shams if row.scope["judge"] == model]
    says = [f"rival's less own: {figure(effect)}", *(f"sham less own: {figure(r)}" for r in sham)]
    title = f"{model}, rival {rival}"
    if len(_swapped(study)) > 1:
        title += f": {heading}"
    judge = behind([effect.scope])
    rows = [
        {**row, "link": evidence_link(judge, _place(study.titles[row["item"]]))}
        if "item" in row
        else {**row, "link": evidence_link(judge)}
        for row in _lines(confidence_by_arm(group, model, rival))
    ]
    return PlotPanel(title, rows, "; ".join(says))


def _swapped(study: PlottedSweep) -> set[str]:
    """Return the headings of the groups with a swap."""
    effects = study.rows_of_metric("swap_sensitivity")
    return {
        heading
        for group, heading in study.named_groups()
        if _group_rows(effects, group, "judge", "rival")
    }


def _lines(arms: Mapping[str, ArmConfidence]) -> Iterator[dict[str, Any]]:
    """Yield the first items by arm, then the mean of each arm."""
    items = sorted({item for arm in arms.values() for item in arm.by_item})
    for item in items[:MAX_LINES]:
        for name, arm in arms.items():
            if item in arm.by_item:
                yield {"item": item, "arm": _ARMS[name], "confidence": arm.by_item[item]}
    for name, arm in arms.items():
        if arm.mean:
            yield {"arm": _ARMS[name], "confidence": arm.mean.value, **_ends(arm.mean)}


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
    return _drawn(_SHARES, (PlotPanel("", shown),), simulated, notes, numbers)


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
    numbers = _numbers(
        _SETS,
        "Share of a judge's verdicts for each set; and of the pairs of verdicts on one item, by "
        "how they overlap, on average over items.",
        ("judges", "set or overlap", "share"),
        panels,
        _set_cells,
    )
    simulated = any(group.data.origin_of(group.own_arms).simulated for group, _ in scored)
    notes = [*_more_groups(scored), *_more_judges(scored, MAX_CHOOSING)]
    return _drawn(_SETS, panels, simulated, notes, numbers)


def _set_rows(group: Group) -> Rows:
    return [
        *(
            {
                "stages": chosen_set.stages,
                "scale": group.n_stages,
                "judge": chosen_set.judge,
                "share": chosen_set.share,
                "link": _of_judge(group, chosen_set.judge),
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


def axis_effects(study: PlottedSweep) -> Plot:
    """Return the pooled effect of each change of an axis, on verdicts and on confidence."""
    rows = {metric: study.rows_of_metric(metric) for metric in _EFFECTS}
    every = [row for metric_rows in rows.values() for row in metric_rows]
    panels, notes = [], []
    for metric, (heading, unit) in _EFFECTS.items():
        largest = sorted(_estimated(rows[metric]), key=lambda row: -abs(row.estimate or 0))
        if largest:
            panels.append(PlotPanel(heading, _effects(largest[:MAX_CHANGES], unit)))
        if len(largest) > MAX_CHANGES:
            shown = f"the {MAX_CHANGES} largest of {len(largest)} effects on {heading}"
            notes.append(f"Shown: {shown}.")
    if not panels:
        return replace(_AXES, missing=_why_not(every, _AXES.missing))
    return _drawn(_AXES, tuple(panels), any(row.simulated for row in every), notes)


def _effects(rows: Sequence[ResultRow], unit: str) -> Rows:
    changes = group_labels([row.scope for row in rows])
    return [
        {
            "change": change,
            "effect": row.estimate,
            "lower": row.lower,
            "upper": row.upper,
            "unit": unit,
            "link": evidence_link(behind([row.scope])),
        }
        for change, row in zip(changes, rows, strict=True)
    ]


def effects_map(study: PlottedSweep) -> Plot:
    """Return the effect of each change of an axis on verdicts, their shape and confidence."""
    every = [row for metric in _MOVED for row in study.rows_of_metric(metric)]
    by_change: dict[str, list[ResultRow]] = defaultdict(list)
    for change, row in zip(group_labels([row.scope for row in every]), every, strict=True):
        if row.estimate is not None:
            by_change[change].append(row)
    if not by_change:
        return replace(_MOVES, missing=_why_not(every, _MOVES.missing))
    ordered = sorted(
        by_change, key=lambda change: -max(abs(row.estimate or 0) for row in by_change[change])
    )
    cells = [
        {
            "change": change,
            "figure": _MOVED[row.metric.removesuffix(MIXED)],
            "effect": row.estimate,
            "moved": stands(row),
            "link": evidence_link(behind([row.scope])),
        }
        for change in ordered[:MAX_CHANGES]
        for row in by_change[change]
    ]
    notes = []
    if len(ordered) > MAX_CHANGES:
        notes.append(f"Shown: the {MAX_CHANGES} changes of {len(ordered)} with the largest effect.")
    return _drawn(_MOVES, (PlotPanel("", cells),), any(row.simulated for row in every), notes)


def response_curves(study: PlottedSweep) -> Plot:
    """Return the response curve of each judge with its regime, side by side.

    From the stored figures alone, which are over all draws of a rubric. Settings with the most
    judges come first.
    """
    points = [
        *study.rows_of_metric("response_mean"),
        *study.rows_of_metric("response_fit"),
    ]
    found = _by_setting(_estimated(points))
    curves = dict(sorted(found.items(), key=lambda setting: -len(_judges(setting[1]))))
    if not curves:
        return replace(_RESPONSE, missing=_why_not(points, _RESPONSE.missing))
    told = _by_setting([*study.rows_of_metric("regime"), *study.rows_of_metric("steepest_rise")])
    headings = group_labels([without(rows[0].scope, *SUBJECTS) for rows in curves.values()])
    panels = tuple(
        PlotPanel(
            heading,
            [{**row, "stages": _stages(study, rows[0])} for row in _curve(rows, told[setting])],
            f"Against {' and '.join(sorted({row.scope['part'] for row in rows}))}.",
        )
        for heading, (setting, rows) in zip(headings, curves.items(), strict=True)
    )
    notes = [
        f"Shown: the first {MAX_PROBED} of {judges} judges{_where(panel.heading)}."
        for panel, rows in zip(panels[:MAX_PANELS], curves.values(), strict=False)
        if (judges := len(_judges(rows))) > MAX_PROBED
    ]
    notes += _more_panels(headings)
    return _drawn(_RESPONSE, panels[:MAX_PANELS], any(row.simulated for row in points), notes)


def _by_setting(rows: Iterable[ResultRow]) -> dict[str, list[ResultRow]]:
    """Return the rows of each setting, by its key: a scope without what a figure is about."""
    found: dict[str, list[ResultRow]] = defaultdict(list)
    for row in rows:
        found[canonical_json(without(row.scope, *SUBJECTS))].append(row)
    return found


def _judges(rows: Iterable[ResultRow]) -> list[str]:
    return list(dict.fromkeys(row.scope["judge"] for row in rows))


def _stages(study: PlottedSweep, row: ResultRow) -> int:
    """Return the length of the scale: a scope names it where scales differ in a sweep."""
    common = study.data.judges[0].experiment.scale_size
    return int(row.scope.get("scale_size", common))


def _curve(points: Sequence[ResultRow], told: Sequence[ResultRow]) -> Iterator[dict[str, Any]]:
    """Yield the points of the first judges of a group, each with its regime in words."""
    regime = {row.scope["judge"]: row for row in told if row.metric == "regime"}
    rise = {row.scope["judge"]: row for row in told if row.metric == "steepest_rise"}
    judges = _judges(points)[:MAX_PROBED]
    for row in points:
        judge = row.scope["judge"]
        if judge not in judges:
            continue
        yield {
            "judge": judge,
            "link": evidence_link(behind([row.scope])),
            "regime": _regime_text(regime[judge]),
            "steepest": _rise_text(rise[judge]),
            "reference": float(row.scope["reference"]),
            "mean": row.estimate if row.metric == "response_mean" else None,
            "lower": row.lower,
            "upper": row.upper,
            "fitted": row.estimate if row.metric == "response_fit" else None,
            "line": row.floor,
        }


def _regime_text(row: ResultRow) -> str:
    name = str(row.scope["regime"])
    return name if row.estimate is None else f"{name} ({number(row.estimate)})"


def _rise_text(row: ResultRow) -> str:
    if row.estimate is None:
        return "no rise told"
    return f"{number(row.estimate)} of the rise, line {number(row.floor)}"


_PLOTS = (
    polarization_map,
    stated_against_realised,
    confidence_under_swaps,
    verdict_shares,
    response_curves,
    chosen_sets,
    effects_map,
    axis_effects,
    widest_disagreement,
)
"""In the order of the tables they stand with; the last one opens the report."""


def _drawn(
    plot: Plot,
    panels: tuple[PlotPanel, ...],
    simulated: bool,
    notes: Sequence[str],
    numbers: Table | None = None,
) -> Plot:
    return replace(
        plot,
        panels=panels,
        notes=tuple(notes),
        numbers=replace(numbers, simulated=simulated) if numbers else None,
        simulated=simulated,
        missing="",
    )


def _numbers(
    plot: Plot,
    explanation: str,
    columns: tuple[str, ...],
    panels: Sequence[PlotPanel],
    cells: Callable[[Mapping[str, Any]], tuple[str, ...]],
    words: int = 2,
) -> Table:
    """Return the rows of the panels as a table, a heading per panel."""
    rows = [Row(cells(row), heading=panel.heading) for panel in panels for row in panel.rows]
    return Table(f"{plot.title}: the numbers", explanation, columns, tuple(rows), words=words)


def _group_rows(rows: Iterable[ResultRow], group: Group, *more: str) -> list[ResultRow]:
    """Return the rows about this group, whatever they say of the parts `more` of their scope."""
    return [
        row
        for row in rows
        if {name: value for name, value in row.scope.items() if name not in more} == group.scope
    ]


def _estimated(rows: Iterable[ResultRow]) -> list[ResultRow]:
    return [row for row in rows if row.estimate is not None]


def _why_not(rows: Iterable[ResultRow], else_because: str) -> str:
    """Return why these rows have no figure, each reason once; `else_because` when there is none."""
    reasons = (row.because for row in rows if row.estimate is None)
    return "; ".join(dict.fromkeys(filter(None, reasons))) or else_because


def _more_groups(groups: Sequence[tuple[Group, str]]) -> Iterator[str]:
    """Yield which groups are not drawn, when not all are."""
    yield from _more_panels([heading for _, heading in groups])


def _more_panels(headings: Sequence[str]) -> Iterator[str]:
    if len(headings) > MAX_PANELS:
        others = "; ".join(headings[MAX_PANELS:])
        yield f"Shown: the first {MAX_PANELS} of {len(headings)} groups of judges. Not: {others}."


def _more_judges(groups: Sequence[tuple[Group, str]], at_most: int) -> Iterator[str]:
    """Yield where not every judge of a group is drawn."""
    for group, heading in groups[:MAX_PANELS]:
        if len(group.present) > at_most:
            yield f"Shown: the first {at_most} of {len(group.present)} judges{_where(heading)}."


def _where(heading: str) -> str:
    return f" ({heading})" if heading else ""
