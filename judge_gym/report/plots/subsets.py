"""The sets of stages that judges chose: which, how wide, and how those of two judges overlap."""

from collections import defaultdict
from typing import Any

import altair as alt
from altair.typing import ChartType

from judge_gym.report.plots import style
from judge_gym.report.plots.plot import NONE, PART, SAME, WITHIN, Rows

RELATIONS = {SAME: 0.5, WITHIN: 0.3, PART: 0.15, NONE: 0.0}
"""How two sets overlap, from most to least, with the shade it is drawn in."""
_HIGH = 24
_ROOM = 0.16


def draw(rows: Rows) -> ChartType:
    """Return the sets with the share of verdicts for each, and below the overlaps if there are any.

    Rows with `stages` (ascending tuple, or None for the sets left out, together), `scale`, `judge`
    and `share` of its verdicts; and rows with `pair`, `relation` (a key of `RELATIONS`) and
    `share` of pairs of verdicts on the same item. Order is kept.
    """
    sets = [row for row in rows if "judge" in row]
    overlaps = [row for row in rows if "pair" in row]
    names = style.short_names(row["judge"] for row in sets)
    drawn: list[ChartType] = [_chosen(sets, names)]
    if overlaps:
        drawn.append(_overlaps(overlaps))
    return alt.vconcat(*drawn, spacing=18)


def _chosen(rows: Rows, names: dict[str, str]) -> ChartType:
    label = {row["stages"]: _label(row["stages"]) for row in rows}
    order = list(label.values())
    scale = rows[0]["scale"]
    high = _HIGH * len(order)
    held = [
        {"set": text, "stage": stage, "first": min(stages), "last": max(stages)}
        for stages, text in label.items()
        for stage in stages or ()
    ]
    dots = style.chart(held).encode(
        y=alt.Y("set:N", sort=order).scale(domain=order).axis(ticks=False, domain=False).title(None)
    )
    axis = alt.Axis(values=list(range(1, scale + 1)), format="d", orient="top", domain=False)
    domain = alt.Scale(domain=[0.5, scale + 0.5])
    first, stage = (
        alt.X(f"{field}:Q", axis=axis, scale=domain, title="stages") for field in ("first", "stage")
    )
    matrix = alt.layer(
        dots.mark_rule(color=style.INK).encode(x=first, x2="last:Q"),
        dots.mark_circle(size=90, color=style.INK, opacity=1).encode(x=stage),
    ).properties(width=24 * scale, height=high)
    shares = [
        {
            "set": label[row["stages"]],
            "judge": names[row["judge"]],
            "share": row["share"],
            "said": f"{row['share']:.0%}",
        }
        for row in rows
        if row["share"] > 0
    ]
    bars = [
        _bars([one for one in shares if one["judge"] == name], name, order, high)
        for name in names.values()
    ]
    return alt.hconcat(matrix, *bars, spacing=14)


def _label(stages: tuple[int, ...] | None) -> str:
    if stages is None:
        return "other sets"
    return "{" + ", ".join(map(str, stages)) + "}"


def _bars(rows: list[dict[str, Any]], name: str, order: list[str], high: int) -> ChartType:
    base = style.chart(rows).encode(
        y=alt.Y("set:N", sort=order).scale(domain=order).axis(None),
        x=alt.X("share:Q").scale(domain=[0, 1]).axis(None),
    )
    return alt.layer(
        base.mark_bar(color=style.BLUE, fillOpacity=0.5, height=16),
        base.mark_text(align="left", dx=4).encode(text="said:N"),
    ).properties(
        width=110,
        height=high,
        title=alt.Title(name, anchor="start", limit=140),
    )


def _overlaps(rows: Rows) -> ChartType:
    pairs = style.short_names((row["pair"] for row in rows), longest=44)
    reached: dict[str, float] = defaultdict(float)
    segments = []
    for row in rows:
        start = reached[row["pair"]]
        reached[row["pair"]] += row["share"]
        segments.append(
            {
                "pair": pairs[row["pair"]],
                "start": start,
                "end": reached[row["pair"]],
                "middle": start + row["share"] / 2,
                "shade": RELATIONS[row["relation"]],
                "said": f"{row['relation']} {row['share']:.0%}" if row["share"] >= _ROOM else "",
            }
        )
    base = style.chart(segments).encode(
        y=alt.Y("pair:N", sort=list(pairs.values())).axis(ticks=False, domain=False).title(None)
    )
    bars = base.mark_bar(color=style.BLUE, stroke=style.SOFT, strokeWidth=0.75).encode(
        x=alt.X("start:Q")
        .scale(domain=[0, 1])
        .axis(format="%", values=[0, 0.5, 1], grid=False)
        .title("share of pairs of verdicts on the same item"),
        x2="end:Q",
        fillOpacity=alt.FillOpacity("shade:Q").scale(None).legend(None),
    )
    said = base.mark_text().encode(x="middle:Q", text="said:N")
    return alt.layer(bars, said).properties(
        width=460,
        height=_HIGH * len(pairs),
        title=alt.Title("Overlap", anchor="start"),
    )
