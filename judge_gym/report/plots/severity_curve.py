"""Mean points as more of a text is changed, with their intervals."""

import altair as alt
from altair.typing import ChartType

from judge_gym.report.plots import style
from judge_gym.report.plots.plot import Rows

_WIDE, _HIGH = 200, 120


def draw(rows: Rows) -> ChartType:
    """Return one line. Rows: `severity` (0 to 1), `points`, `lower` and `upper` (None without)."""
    base = style.chart(rows).encode(x=alt.X("severity:Q").scale(domain=[0, 1]).title("severity"))
    y = alt.Y("points:Q").scale(domain=[0, 100]).title("points").axis(values=[0, 50, 100])
    return alt.layer(
        base.mark_rule(color=style.BLUE)
        .encode(y=alt.Y("lower:Q").title("points"), y2="upper:Q")
        .transform_filter("isValid(datum.lower)"),
        base.mark_line(color=style.BLUE).encode(y=y),
        base.mark_point(color=style.BLUE, filled=True, opacity=1).encode(y=y),
    ).properties(width=_WIDE, height=_HIGH)
