"""Rows of the plot of outcomes: the share of each stage, and of what gave no verdict."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from judge_gym.analysis.data import select
from judge_gym.analysis.groups import Group
from judge_gym.metrics.cells import pignistic_weights
from judge_gym.report.plots.plot import Panel, Plot, Rows
from judge_gym.report.plots.study import Study
from judge_gym.report.table import Row, Table, number

MAX_JUDGES = 40

_SHARES = Plot(
    "distributions",
    "What the judges said",
    "A bar is all samples of a judge under its own arm: numbers are stages, a darker shade a "
    "higher one; a set of stages counts in equal parts for each. What gave no verdict ends the "
    "bar: abstained (hatched), unparseable (crossed), refused (dotted), failed (filled).",
    "Abstention",
    missing="nothing was judged",
)


def verdict_shares(study: Study) -> Plot:
    """Return how the samples of each judge's own arm ended, by stage and by other outcome."""
    rows = [
        row
        for group, heading in study.named_groups()
        for judge in range(len(group.judges))
        for row in _shares(group, heading, judge)
    ]
    if not rows:
        return replace(_SHARES, missing="nothing was judged")
    bars = list(dict.fromkeys((row["group"], row["judge"]) for row in rows))
    shown = [row for row in rows if (row["group"], row["judge"]) in bars[:MAX_JUDGES]]
    simulated = bool(study.data.simulated_arms)
    left_out = f"Shown: the first {MAX_JUDGES} of {len(bars)} judges of groups."
    return replace(
        _SHARES,
        panels=(Panel("", shown),),
        notes=(left_out,) if len(bars) > MAX_JUDGES else (),
        numbers=replace(_numbers(shown), simulated=simulated),
        simulated=simulated,
        missing="",
    )


def _numbers(rows: Rows) -> Table:
    return Table(
        f"{_SHARES.title}: the numbers",
        "Shares of all samples of a judge; stages of different rubrics are not the same.",
        ("judge", "stage or outcome", "share", "samples"),
        tuple(
            Row(
                (row["judge"], str(row["category"]), number(row["share"]), str(row["samples"])),
                heading=row["group"],
            )
            for row in rows
        ),
        words=2,
    )


def _shares(group: Group, heading: str, judge: int) -> Iterator[dict[str, Any]]:
    _, rows = select(group.data.samples, [group.own_arms[judge]])
    samples = len(rows.status)
    if not samples:
        return
    stages = group.n_stages
    about = {"group": heading, "judge": group.judges[judge].model, "stages": stages}
    scored = rows.stages[rows.status == "scored"]
    of_stage = pignistic_weights(scored, stages).sum(axis=0)
    ends = {str(one): int((rows.status == one).sum()) for one in np.unique(rows.status)}
    ends.pop("scored", None)
    of_stages = [(stage + 1, of_stage[stage]) for stage in range(stages)]
    for category, count in [*of_stages, *ends.items()]:
        share = float(count) / samples
        yield {**about, "category": category, "samples": samples, "share": share}
