"""What the plots of judges and of axes show, as tidy rows, and what they leave out and why."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judge_gym.analysis.groups import MIXED, SUBJECTS, Group, without
from judge_gym.analysis.plotted import (
    ArmConfidence,
    Mean,
    confidence_by_arm,
    stated_and_realised,
)
from judge_gym.formats import figure, number, ranged
from judge_gym.report.findings import stands
from judge_gym.report.moves import BESIDE
from judge_gym.report.plots.plot import Plot, PlotPanel, Rows
from judge_gym.report.plots.plotted_sweep import (
    MAX_PANELS,
    PlottedSweep,
    drawn,
    estimated,
    in_group,
    link_to_judge,
    more_groups,
    more_judges,
    more_panels,
    numbers_of,
    place_of,
    rows_of_group,
    why_not,
)
from judge_gym.report.scopes import behind, evidence_link, group_labels
from judge_gym.report.table import Row, Table
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

MAX_SWAPS = 6
MAX_LINES = 60
MAX_PROBED = 8
MAX_CHANGES = 30
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


def stated_against_realised(study: PlottedSweep) -> Plot:
    """Return, per judge and bin of stated shares, the share of other judges that agreed."""
    figures = study.rows_of_metric("overconfidence")
    probed = [
        (group, heading)
        for group, heading in study.named_groups()
        if estimated(rows_of_group(figures, group, "judge"))
    ]
    if not probed:
        return replace(_STATED, missing=why_not(figures, _STATED.missing))
    panels = tuple(PlotPanel(heading, _bins(group)) for group, heading in probed[:MAX_PANELS])
    numbers = numbers_of(
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
    simulated = any(row.simulated for row in estimated(figures))
    notes = [*more_groups(probed), *more_judges(probed, MAX_PROBED)]
    return drawn(_STATED, panels, simulated, notes, numbers)


def _bins(group: Group) -> Rows:
    return [
        {
            "judge": probe_bin.judge,
            "nearest": probe_bin.nearest,
            "stated": probe_bin.stated,
            "realised": probe_bin.realised.value,
            **_ends(probe_bin.realised),
            "probes": probe_bin.probes,
            "link": link_to_judge(group, probe_bin.judge),
        }
        for probe_bin in stated_and_realised(group, MAX_PROBED)
    ]


def _ends(mean: Mean) -> dict[str, float | None]:
    return {"lower": mean.lower, "upper": mean.upper}


def confidence_under_swaps(study: PlottedSweep) -> Plot:
    """Return the confidence of each judge on each item under its own and other rubrics."""
    effects = study.rows_of_metric("swap_sensitivity")
    largest = sorted(estimated(effects), key=lambda row: -abs(row.estimate or 0))
    if not largest:
        return replace(_SWAPS, missing=why_not(effects, _SWAPS.missing))
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
    return drawn(_SWAPS, panels, any(row.simulated for row in largest), notes, numbers)


def _swap(study: PlottedSweep, effect: ResultRow) -> PlotPanel:
    [(group, heading)] = [
        (group, heading)
        for group, heading in study.named_groups()
        if rows_of_group([effect], group, "judge", "rival")
    ]
    model, rival = effect.scope["judge"], effect.scope["rival"]
    shams = rows_of_group(estimated(study.rows_of_metric("sham_sensitivity")), group, "judge")
    sham = [row for row in shams if row.scope["judge"] == model]
    says = [f"rival's less own: {figure(effect)}", *(f"sham less own: {figure(r)}" for r in sham)]
    title = f"{model}, rival {rival}"
    if len(_swapped(study)) > 1:
        title += f": {heading}"
    judge = behind([effect.scope])
    rows = [
        {**row, "link": evidence_link(judge, place_of(study.titles[row["item"]]))}
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
        if rows_of_group(effects, group, "judge", "rival")
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


def axis_effects(study: PlottedSweep) -> Plot:
    """Return the pooled effect of each change of an axis, on verdicts and on confidence."""
    rows = {metric: study.rows_of_metric(metric) for metric in _EFFECTS}
    every = [row for metric_rows in rows.values() for row in metric_rows]
    panels, notes = [], []
    for metric, (heading, unit) in _EFFECTS.items():
        largest = sorted(estimated(rows[metric]), key=lambda row: -abs(row.estimate or 0))
        if largest:
            panels.append(PlotPanel(heading, _effects(largest[:MAX_CHANGES], unit)))
        if len(largest) > MAX_CHANGES:
            shown = f"the {MAX_CHANGES} largest of {len(largest)} effects on {heading}"
            notes.append(f"Shown: {shown}.")
    if not panels:
        return replace(_AXES, missing=why_not(every, _AXES.missing))
    return drawn(_AXES, tuple(panels), any(row.simulated for row in every), notes)


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
        return replace(_MOVES, missing=why_not(every, _MOVES.missing))
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
    return drawn(_MOVES, (PlotPanel("", cells),), any(row.simulated for row in every), notes)


def response_curves(study: PlottedSweep) -> Plot:
    """Return the response curve of each judge with its regime, side by side.

    From the stored figures alone, which are over all draws of a rubric. Settings with the most
    judges come first.
    """
    points = [
        *study.rows_of_metric("response_mean"),
        *study.rows_of_metric("response_fit"),
    ]
    found = _by_setting(estimated(points))
    curves = dict(sorted(found.items(), key=lambda setting: -len(_judges(setting[1]))))
    if not curves:
        return replace(_RESPONSE, missing=why_not(points, _RESPONSE.missing))
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
        f"Shown: the first {MAX_PROBED} of {judges} judges{in_group(panel.heading)}."
        for panel, rows in zip(panels[:MAX_PANELS], curves.values(), strict=False)
        if (judges := len(_judges(rows))) > MAX_PROBED
    ]
    notes += more_panels(headings)
    return drawn(_RESPONSE, panels[:MAX_PANELS], any(row.simulated for row in points), notes)


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
