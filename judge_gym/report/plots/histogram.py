"""How often each score was given, by 5 points, over the whole scale."""

import altair as alt
from altair.typing import ChartType

from judge_gym.report.plots import style
from judge_gym.report.plots.plot import Rows

_WIDE, _HIGH = 300, 120


def draw(rows: Rows) -> ChartType:
    """Return bars. Rows: `points` (where a bar begins, 0 to 95) and `scores` (how many)."""
    x = alt.X("points:Q").scale(domain=[0, 100]).title("points").axis(values=[*range(0, 101, 20)])
    bars: alt.Chart = (
        style.chart([{**row, "end": row["points"] + 5} for row in rows])
        .mark_bar(color=style.BLUE)
        .encode(
            x=x,
            x2="end:Q",
            y=alt.Y("scores:Q").title("scores").axis(tickCount=3),
            y2=alt.Y2Datum(0),
        )
        .properties(width=_WIDE, height=_HIGH)
    )
    return bars
