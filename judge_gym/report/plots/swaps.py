"""A judge's confidence under its own rubric, a rival's and a sham, item by item."""

import altair as alt
from altair.typing import ChartType

from judge_gym.report.plots import style
from judge_gym.report.plots.plot import Rows

ARMS = ("sham", "own", "rival's")
"""In the order drawn, so that each line crosses its own rubric."""


def draw(rows: Rows) -> ChartType:
    """Return a line per item, and the mean of each arm with its interval.

    Rows with `item`, `arm` (of `ARMS`) and `confidence` (0 to 1); and rows without `item`: the
    mean over items as `confidence`, with `lower` and `upper` (None without an interval).
    """
    arms = [arm for arm in ARMS if any(row["arm"] == arm for row in rows)]
    items = [dict(row) for row in rows if "item" in row]
    means = [{**row, "said": f"{row['confidence']:.2f}"} for row in rows if "item" not in row]
    x = alt.X("arm:N", sort=arms).scale(padding=0.35).axis(labelAngle=0).title("rubric")
    y = alt.Y("confidence:Q").scale(domain=[0, 1]).title("stated confidence")
    lines = (
        style.chart(items)
        .mark_line(color=style.SOFT, strokeWidth=1, opacity=0.5, point=False)
        .encode(x=x, y=y, detail="item:N")
    )
    centre = style.chart(means).encode(x=x)
    interval = centre.mark_rule(color=style.INK, strokeWidth=3).encode(
        y=alt.Y("lower:Q"), y2="upper:Q"
    )
    point = centre.mark_point(
        filled=True, shape="diamond", size=110, color=style.RED, opacity=1
    ).encode(y=y)
    said = centre.mark_text(dy=-8, fontWeight="bold").encode(y=alt.value(0), text="said:N")
    return alt.layer(
        lines, interval.transform_filter("isValid(datum.lower)"), point, said
    ).properties(width=84 * len(arms), height=220)
