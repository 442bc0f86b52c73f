"""Rows of the plot of the design space: what changing one axis does, from the stored figures."""

from dataclasses import replace

from judge_gym.report.plots.plot import Panel, Plot, Rows
from judge_gym.report.plots.study import Study, estimated, why_not
from judge_gym.report.scopes import group_labels
from judge_gym.store.results import ResultRow

MAX_CHANGES = 30

_AXES = Plot(
    "forest",
    "Effects of the design axes",
    "A point is what one change of an axis does wherever it was changed alone, with its 95% "
    "interval, the largest first; an interval across the dashed line leaves open whether there is "
    "an effect. A hollow point has no interval.",
    "Axes over the grid",
    missing="no two experiments of a judge differ in one axis alone",
)
_EFFECTS = {
    "axis_effect": ("verdict", "change of the verdict, 0-1 scale"),
    "axis_effect_confidence": ("confidence", "change of confidence, a probability"),
}
"""Metric → its heading and its axis."""


def axis_effects(study: Study) -> Plot:
    """Return the pooled effect of each change of an axis, on verdicts and on confidence."""
    rows = {metric: study.of_metric(metric) for metric in _EFFECTS}
    panels, notes = [], []
    for metric, (heading, unit) in _EFFECTS.items():
        found = sorted(estimated(rows[metric]), key=lambda row: -abs(row.estimate or 0))
        if found:
            panels.append(Panel(heading, _effects(found[:MAX_CHANGES], unit)))
        if len(found) > MAX_CHANGES:
            notes.append(f"Shown: the {MAX_CHANGES} largest of {len(found)} effects on {heading}.")
    if not panels:
        every = [row for of_metric in rows.values() for row in of_metric]
        return replace(_AXES, missing=why_not(every, _AXES.missing))
    return replace(
        _AXES,
        panels=tuple(panels),
        notes=tuple(notes),
        simulated=any(row.simulated for of_metric in rows.values() for row in of_metric),
        missing="",
    )


def _effects(found: list[ResultRow], unit: str) -> Rows:
    changes = group_labels([row.scope for row in found])
    return [
        {"change": change, "effect": row.estimate, "lower": row.lower, "upper": row.upper}
        | {"unit": unit}
        for change, row in zip(changes, found, strict=True)
    ]
