"""Charts with a drawing per judge: what it answers against what is known, stated or swapped."""

from typing import Any

import altair as alt
from altair.typing import ChartType

from judge_gym.formats import number
from judge_gym.report.plots import style
from judge_gym.report.plots.plot import Rows

COLUMNS = 2
_SIDE = 150
_SQUARE_HEADER = alt.Header(labelPadding=14)


def reliability(rows: Rows) -> ChartType:
    """Return a square per judge, with the diagonal on which stated and realised are equal.

    Rows: `judge`, `stated` and `realised` (means of a bin, 0 to 1), `lower` and `upper` of the
    realised (None without an interval), `probes` in the bin and the `nearest` quarter.
    """
    drawn = _named(rows)
    axis = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f")
    scale = alt.Scale(domain=[0, 1])
    x = alt.X("stated:Q", axis=axis, scale=scale, title="stated")
    y = alt.Y("realised:Q", axis=axis, scale=scale, title="realised")
    bins = alt.Chart().encode(x=x, y=y)
    once = alt.Chart().transform_filter("datum.first")
    layers = alt.layer(
        once.mark_rule(color=style.SOFT, strokeDash=[4, 3]).encode(
            x=alt.datum(0), y=alt.datum(0), x2=alt.datum(1), y2=alt.datum(1)
        ),
        once.mark_text(align="right", color=style.SOFT, text="too sure").encode(
            x=alt.datum(0.98), y=alt.datum(0.06)
        ),
        bins.mark_rule(color=style.BLUE, strokeWidth=1.5)
        .encode(y=alt.Y("lower:Q"), y2="upper:Q")
        .transform_filter("isValid(datum.lower)"),
        bins.mark_line(color=style.BLUE),
        bins.mark_point(filled=True, size=60, color=style.BLUE, opacity=1).encode(href="link:N"),
        bins.mark_text(dy=-8, color=style.SOFT).encode(
            x="nearest:Q", y=alt.value(0), text="probes:Q"
        ),
        data=style.data(drawn),
    )
    return _a_square_each(layers, drawn, _SQUARE_HEADER)


ARMS = ("sham", "own", "rival's")
"""In the order drawn, so that each line crosses its own rubric."""


def swaps(rows: Rows) -> ChartType:
    """Return a line per item, and the mean of each arm with its interval.

    Rows with `item`, `arm` (of `ARMS`) and `confidence` (0 to 1); and rows without `item`: the
    mean over items as `confidence`, with `lower` and `upper` (None without an interval).
    """
    arms = [arm for arm in ARMS if any(row["arm"] == arm for row in rows)]
    items = [dict(row) for row in rows if "item" in row]
    means = [{**row, "said": number(row["confidence"])} for row in rows if "item" not in row]
    x = alt.X("arm:N", sort=arms).scale(padding=0.35).axis(labelAngle=0).title("rubric")
    y = alt.Y("confidence:Q").scale(domain=[0, 1]).title("stated confidence")
    lines = (
        style.chart(items)
        .mark_line(color=style.SOFT, strokeWidth=1, opacity=0.5, point=False)
        .encode(x=x, y=y, detail="item:N", href="link:N")
    )
    centre = style.chart(means).encode(x=x)
    interval = centre.mark_rule(color=style.INK, strokeWidth=3).encode(
        y=alt.Y("lower:Q"), y2="upper:Q"
    )
    point = centre.mark_point(
        filled=True, shape="diamond", size=110, color=style.RED, opacity=1
    ).encode(y=y, href="link:N")
    text = centre.mark_text(dy=-8, fontWeight="bold").encode(y=alt.value(0), text="said:N")
    return alt.layer(
        lines, interval.transform_filter("isValid(datum.lower)"), point, text
    ).properties(width=84 * len(arms), height=220)


_TALL_HEADER = alt.Header(labelPadding=4)
_ABOVE = (-26, -11)
"""Pixels above a square of its two lines of text."""


def response(rows: Rows) -> ChartType:
    """Return a square per judge: its expected stage against a reference.

    Rows: `judge`, `reference` (0 to 1), `stages` (how many the scale has) and in stages from 1
    either `mean` with `lower` and `upper` (None without an interval), or `fitted` and `line`, a
    straight line; `regime` and `steepest` in words, the same for all rows of a judge.
    """
    drawn = _named(rows)
    stages = alt.Scale(domain=[1, rows[0]["stages"]], nice=False, clamp=True)
    shown = alt.Axis(values=list(range(1, rows[0]["stages"] + 1)), format="d")
    axis = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f")
    x = alt.X("reference:Q", axis=axis, scale=alt.Scale(domain=[0, 1]), title="reference")

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=stages, axis=shown, title="expected stage")

    points = alt.Chart().transform_filter("isValid(datum.mean)").encode(x=x)
    curve = alt.Chart().transform_filter("isValid(datum.fitted)").encode(x=x)
    once = alt.Chart().transform_filter("datum.first")
    said = [
        once.mark_text(align="left").encode(x=alt.value(0), y=alt.value(above), text=f"{field}:N")
        for above, field in zip(_ABOVE, ("regime", "steepest"), strict=True)
    ]
    layers = alt.layer(
        curve.mark_line(color=style.SOFT, strokeDash=[4, 3]).encode(y=y("line")),
        curve.mark_line(color=style.BLUE, strokeWidth=2).encode(y=y("fitted")),
        points.mark_rule(color=style.INK, strokeWidth=1.5)
        .encode(y=alt.Y("lower:Q"), y2="upper:Q")
        .transform_filter("isValid(datum.lower)"),
        points.mark_point(filled=True, size=60, color=style.INK, opacity=1).encode(
            y=y("mean"), href="link:N"
        ),
        *said,
        data=style.data(drawn),
    )
    return _a_square_each(layers, drawn, _TALL_HEADER)


def _named(rows: Rows) -> list[dict[str, Any]]:
    """Return the rows with short names of judges, and which of them is a judge's first."""
    names = style.short_names((row["judge"] for row in rows), longest=22)
    seen: set[str] = set()
    drawn: list[dict[str, Any]] = []
    for row in rows:
        drawn.append({**row, "judge": names[row["judge"]], "first": row["judge"] not in seen})
        seen.add(row["judge"])
    return drawn


def _a_square_each(layers: Any, drawn: Rows, header: alt.Header) -> ChartType:
    """Return the layers of each judge as a square, in the order of the rows."""
    order = list(dict.fromkeys(row["judge"] for row in drawn))
    facet = alt.Facet("judge:N", sort=order, header=header)
    squares: ChartType = (
        layers.properties(width=_SIDE, height=_SIDE)
        .facet(facet, columns=COLUMNS)
        .resolve_axis(x="independent", y="independent")
    )
    return squares
