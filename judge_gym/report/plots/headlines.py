"""The headlines: what each claim rests on, with its interval and the margin it is held against."""

from itertools import groupby
from typing import Any

import altair as alt
from altair.typing import ChartType

from judge_gym.report.plots import style
from judge_gym.report.plots.plot import Rows

_WIDE, _HIGH = 260, 26
_LONGEST_LABEL = 40
_LONGEST_QUESTION = 80
_LABELS = 270
"""Pixels for labels, the same for each question, so that one axis serves them all."""
_LOOKS: dict[str, dict[str, Any]] = {
    "supported": {"shape": "circle", "filled": True},
    "refuted": {"shape": "cross", "filled": True},
    "inconclusive": {"shape": "circle", "filled": False},
}


def draw(rows: Rows) -> ChartType:
    """Return the figures of each question below it, all on one axis.

    Rows: `question` and `label` (rows of one question stand together, those of one label on one
    line), `estimate`, `lower` and `upper` (None without an interval), `margin`, `conclusion`
    (supported, refuted or inconclusive) and `said`, the figure in words. Order is kept.
    """
    ends = [
        end
        for row in rows
        for end in (row["estimate"], row["lower"], row["upper"], row["margin"], 0.0)
        if end is not None
    ]
    domain = [min(ends) - 0.02, max(ends) + 0.02]
    groups = [(key, list(of)) for key, of in groupby(rows, key=lambda row: str(row["question"]))]
    parts = [
        _question(question, of, domain, has_axis=place == len(groups))
        for place, (question, of) in enumerate(groups, start=1)
    ]
    whole: ChartType = alt.vconcat(*parts, spacing=12).resolve_scale(x="shared")
    return whole


def _question(question: str, rows: Rows, domain: list[float], *, has_axis: bool) -> ChartType:
    names = style.short_names((row["label"] for row in rows), longest=_LONGEST_LABEL)
    drawn = [{**row, "label": names[row["label"]]} for row in rows]
    base = style.chart(drawn).encode(
        y=alt.Y("label:N", sort=list(names.values()))
        .axis(ticks=False, domain=False, minExtent=_LABELS, maxExtent=_LABELS)
        .title(None)
    )
    scale = alt.Scale(domain=domain, nice=False)
    x = alt.X("estimate:Q", scale=scale).axis(labels=has_axis, ticks=has_axis).title(None)
    heading = style.short_names([question], longest=_LONGEST_QUESTION)[question]
    zero = style.chart([{"estimate": 0}]).mark_rule(color=style.LINE).encode(x=x)
    intervals = base.transform_filter("isValid(datum.lower)")
    points = base.encode(x=x)
    return alt.layer(
        zero,
        base.mark_tick(color=style.RED, thickness=2, size=18).encode(
            x=alt.X("margin:Q", scale=scale)
        ),
        intervals.mark_rule(color=style.BLUE, strokeWidth=2).encode(
            x=alt.X("lower:Q", scale=scale), x2="upper:Q"
        ),
        *(
            points.mark_point(size=80, color=style.BLUE, opacity=1, **look).transform_filter(
                alt.datum.conclusion == conclusion
            )
            for conclusion, look in _LOOKS.items()
        ),
        base.mark_text(align="left", dx=12).encode(x=alt.value(_WIDE), text="said:N"),
    ).properties(
        width=_WIDE,
        height=_HIGH * len(names),
        title=alt.Title(heading, anchor="start", frame="bounds", fontWeight="bold"),
    )
