"""Rows of the plots of probes: confidence under other rubrics, and against realised agreement."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from judge_gym.analysis.data import Arms
from judge_gym.analysis.groups import Group
from judge_gym.metrics.cells import CellMeans, FloatArray, Samples, item_means
from judge_gym.metrics.entrenchment import realised_agreement
from judge_gym.metrics.intervals import t_interval
from judge_gym.report.plots.plot import Panel, Plot
from judge_gym.report.plots.study import (
    MAX_PANELS,
    Study,
    estimated,
    more_groups,
    more_judges,
    of_group,
    why_not,
)
from judge_gym.report.table import Row, Table, figure, number
from judge_gym.store.results import ResultRow

MAX_SWAPS = 6
MAX_LINES = 60
MAX_JUDGES = 8
STEPS = 4
"""Stated shares are gathered at the nearest of 0, 1/4, 1/2, 3/4 and 1: judges state round ones."""

_SWAPS = Plot(
    "swaps",
    "Confidence under other rubrics",
    "A thin line is an item, the diamonds are means over items with 95% intervals: a rival's "
    "rubric says something where the right end moves and the sham, a second rubric of the judge's "
    "own, at the left end does not.",
    "Swap sensitivity",
    missing="no judge was probed under a rival's rubric and its own: the sweep has no swap",
)
_STATED = Plot(
    "reliability",
    "Stated against realised agreement",
    "Across: the share of experts a judge expects to choose its verdict; up: the share of the "
    "other judges' verdicts that were the same, with the 95% interval over items. On the dashed "
    "line the two agree, below it the judge is too sure. The numbers on top count probes.",
    "Confidence and overconfidence",
    missing="no judge was probed",
)


def confidence_under_swaps(study: Study) -> Plot:
    """Return the confidence of each judge on each item under its own and other rubrics."""
    effects = study.of_metric("swap_sensitivity")
    found = sorted(estimated(effects), key=lambda row: -abs(row.estimate or 0))
    if not found:
        return replace(_SWAPS, missing=why_not(effects, _SWAPS.missing))
    panels = tuple(_swap(study, row) for row in found[:MAX_SWAPS])
    more = f"Shown: the {MAX_SWAPS} of {len(found)} swaps with the largest change."
    lines = f"Lines: the first {MAX_LINES} items; means: all."
    notes = ((more,) if len(found) > MAX_SWAPS else ()) + (
        (lines,) if any(row.n_items > MAX_LINES for row in found[:MAX_SWAPS]) else ()
    )
    return replace(
        _SWAPS,
        panels=panels,
        notes=notes,
        numbers=replace(_swap_numbers(panels), simulated=any(row.simulated for row in found)),
        simulated=any(row.simulated for row in found),
        missing="",
    )


def _swap_numbers(panels: Sequence[Panel]) -> Table:
    return Table(
        f"{_SWAPS.title}: the numbers",
        "Mean stated confidence over the items with probes under both rubrics, 0 to 1.",
        ("judge and rival", "rubric", "confidence"),
        tuple(
            Row((panel.heading, row["arm"], _with_interval(row["confidence"], row)))
            for panel in panels
            for row in panel.rows
            if "item" not in row
        ),
        words=2,
    )


def _with_interval(value: float, row: Mapping[str, Any]) -> str:
    if row["lower"] is None:
        return number(value)
    return f"{number(value)} [{number(row['lower'])}, {number(row['upper'])}]"


def _swap(study: Study, effect: ResultRow) -> Panel:
    [(group, heading)] = [
        (group, heading)
        for group, heading in study.named_groups()
        if of_group([effect], group, "judge", "rival")
    ]
    [judge] = [one for one in group.judges if one.model == effect.scope["judge"]]
    rival = effect.scope["rival"]
    arms = {
        "own": judge.of_kind("own"),
        "rival's": tuple(arm for arm in judge.of_kind("swap") if arm.rubric_owner == rival),
        "sham": judge.of_kind("sham"),
    }
    means = {arm: _confidence(group, [of_arm]) for arm, of_arm in arms.items()}
    shams = of_group(estimated(study.of_metric("sham_sensitivity")), group, "judge")
    sham = [row for row in shams if row.scope["judge"] == judge.model]
    said = [f"rival's less own: {figure(effect)}", *(f"sham less own: {figure(r)}" for r in sham)]
    title = f"{judge.model}, rival {rival}"
    if len(_swapped(study)) > 1:
        title += f": {heading}"
    return Panel(title, list(_lines(means)), "; ".join(said))


def _swapped(study: Study) -> set[str]:
    """Return the headings of the groups with a swap."""
    effects = study.of_metric("swap_sensitivity")
    return {
        heading
        for group, heading in study.named_groups()
        if of_group(effects, group, "judge", "rival")
    }


def _confidence(group: Group, arms: Arms) -> CellMeans:
    cells = group.answered(arms).confidence()
    return CellMeans(cells.value[0], cells.n[0])


def _lines(means: dict[str, CellMeans]) -> Iterator[dict[str, Any]]:
    """Yield the items, those with the own arm and another, then the mean of each arm."""
    paired = {
        arm: means["own"].present & (cells.present if arm != "own" else means["rival's"].present)
        for arm, cells in means.items()
    }
    for item in np.flatnonzero(paired["own"] | paired["sham"])[:MAX_LINES]:
        for arm, cells in means.items():
            if cells.present[item]:
                yield {"item": int(item), "arm": arm, "confidence": float(cells.value[item])}
    for arm, cells in means.items():
        values = cells.value[paired[arm]]
        if len(values):
            yield {"arm": arm, "confidence": float(values.mean()), **_interval(values)}


def _interval(values: FloatArray) -> dict[str, float | None]:
    """Return the ends of the 95% interval of the mean of shares, None where there is none."""
    lower, upper = t_interval(values) or (None, None)
    if lower is None or upper is None:
        return {"lower": None, "upper": None}
    return {"lower": max(0.0, lower), "upper": min(1.0, upper)}


def stated_and_realised(study: Study) -> Plot:
    """Return, per judge and bin of stated shares, the share of other judges that agreed."""
    figures = study.of_metric("overconfidence")
    probed = [
        (group, heading)
        for group, heading in study.named_groups()
        if estimated(of_group(figures, group, "judge"))
    ]
    if not probed:
        return replace(_STATED, missing=why_not(figures, _STATED.missing))
    panels = tuple(Panel(heading, list(_bins(group))) for group, heading in probed[:MAX_PANELS])
    simulated = any(row.simulated for row in estimated(figures))
    return replace(
        _STATED,
        panels=panels,
        notes=(*more_groups(probed), *more_judges(probed, MAX_JUDGES)),
        numbers=replace(_bin_numbers(panels), simulated=simulated),
        simulated=simulated,
        missing="",
    )


def _bin_numbers(panels: Sequence[Panel]) -> Table:
    return Table(
        f"{_STATED.title}: the numbers",
        "Probes gathered by the nearest quarter of the stated share: means over items, 0 to 1.",
        ("judge", "stated", "realised", "probes"),
        tuple(
            Row(
                (
                    row["judge"],
                    number(row["stated"]),
                    _with_interval(row["realised"], row),
                    str(row["probes"]),
                ),
                heading=panel.heading,
            )
            for panel in panels
            for row in panel.rows
        ),
    )


def _bins(group: Group) -> Iterator[dict[str, Any]]:
    """Yield the bins that hold a probe, on the items of the figures in the table."""
    verdicts = group.own.of_judges(group.present)
    probes = group.answered(group.own_arms).of_judges(group.present)
    common = verdicts.common_items() & probes.common_items()
    probes = probes.rows(common[probes.item])
    realised = realised_agreement(verdicts, probes)
    bins = np.floor(probes.probability * STEPS + 0.5).astype(np.int64)
    for place, number_of_judge in enumerate(group.present[:MAX_JUDGES]):
        for one in range(STEPS + 1):
            chosen = (probes.judge == place) & (bins == one)
            if chosen.any():
                found = probes.rows(chosen)
                stated = _per_item(found, found.probability)
                agreed = _per_item(found, realised[chosen])
                yield {
                    "judge": group.judges[number_of_judge].model,
                    "nearest": one / STEPS,
                    "stated": float(stated.mean()),
                    "realised": float(agreed.mean()),
                    **_interval(agreed),
                    "probes": len(found),
                }


def _per_item(samples: Samples, values: FloatArray) -> FloatArray:
    cells = samples.means(values)
    return item_means(cells.value, cells.present)[0]
