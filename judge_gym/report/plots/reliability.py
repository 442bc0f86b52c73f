"""The share of experts that judges expect to agree, against the share of judges that did."""

import altair as alt
from altair.typing import ChartType

from judge_gym.report.plots import style
from judge_gym.report.plots.plot import Rows

COLUMNS = 2
_SIDE = 150
_HEADER = alt.Header(labelPadding=14)


def draw(rows: Rows) -> ChartType:
    """Return a square per judge, with the diagonal on which stated and realised are equal.

    Rows: `judge`, `stated` and `realised` (means of a bin, 0 to 1), `lower` and `upper` of the
    realised (None without an interval), `probes` in the bin and the `nearest` quarter.
    """
    names = style.short_names((row["judge"] for row in rows), longest=22)
    seen: set[str] = set()
    drawn = []
    for row in rows:
        drawn.append({**row, "judge": names[row["judge"]], "first": row["judge"] not in seen})
        seen.add(row["judge"])
    axis = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f")
    scale = alt.Scale(domain=[0, 1])
    x = alt.X("stated:Q", axis=axis, scale=scale, title="stated")
    y = alt.Y("realised:Q", axis=axis, scale=scale, title="realised")
    found = alt.Chart().encode(x=x, y=y)
    once = alt.Chart().transform_filter("datum.first")
    squares: ChartType = (
        alt.layer(
            once.mark_rule(color=style.SOFT, strokeDash=[4, 3]).encode(
                x=alt.datum(0), y=alt.datum(0), x2=alt.datum(1), y2=alt.datum(1)
            ),
            once.mark_text(align="right", color=style.SOFT, text="too sure").encode(
                x=alt.datum(0.98), y=alt.datum(0.06)
            ),
            found.mark_rule(color=style.BLUE, strokeWidth=1.5)
            .encode(y=alt.Y("lower:Q"), y2="upper:Q")
            .transform_filter("isValid(datum.lower)"),
            found.mark_line(color=style.BLUE),
            found.mark_point(filled=True, size=60, color=style.BLUE, opacity=1),
            found.mark_text(dy=-8, color=style.SOFT).encode(
                x="nearest:Q", y=alt.value(0), text="probes:Q"
            ),
            data=style.data(drawn),
        )
        .properties(width=_SIDE, height=_SIDE)
        .facet(alt.Facet("judge:N", sort=list(names.values()), header=_HEADER), columns=COLUMNS)
        .resolve_axis(x="independent", y="independent")
    )
    return squares
