"""What changing one axis does, everything else equal: an effect with its interval, per change."""

from collections.abc import Mapping
from typing import Any

import altair as alt
from altair.typing import ChartType

from judge_gym.report.plots import style
from judge_gym.report.plots.plot import Rows
from judge_gym.report.table import number

_WIDE, _HIGH = 240, 26
_LONGEST_CHANGE = 44


def draw(rows: Rows) -> ChartType:
    """Return the effects below one another, with the line of no effect.

    Rows: `change` (an axis and the values it goes between), `effect`, `lower` and `upper` (None
    without an interval) and `unit`, one for all. Order is kept.
    """
    names = style.short_names((row["change"] for row in rows), longest=_LONGEST_CHANGE)
    drawn = [{**row, "change": names[row["change"]], "said": _said(row)} for row in rows]
    base = style.chart(drawn).encode(
        y=alt.Y("change:N", sort=list(names.values())).axis(ticks=False, domain=False).title(None)
    )
    ends = [end for row in rows for end in (row["lower"], row["upper"], row["effect"])]
    furthest = max([abs(end) for end in ends if end is not None] + [0.1])
    x = alt.X("effect:Q").scale(domain=[-furthest, furthest]).title(rows[0]["unit"])
    none = style.chart([{"effect": 0}]).mark_rule(color=style.SOFT, strokeDash=[4, 3]).encode(x=x)
    certain = "isValid(datum.lower)"
    points = base.encode(x=x)
    return alt.layer(
        none,
        base.mark_rule(color=style.BLUE, strokeWidth=2)
        .encode(x="lower:Q", x2="upper:Q")
        .transform_filter(certain),
        points.mark_point(filled=True, size=70, color=style.BLUE, opacity=1).transform_filter(
            certain
        ),
        points.mark_point(size=70, color=style.BLUE, opacity=1).transform_filter(f"!{certain}"),
        base.mark_text(align="left", dx=10).encode(x=alt.value(_WIDE), text="said:N"),
    ).properties(width=_WIDE, height=_HIGH * len(names))


def _said(row: Mapping[str, Any]) -> str:
    effect = number(row["effect"])
    if row["lower"] is None:
        return f"{effect} (no interval)"
    return f"{effect} [{number(row['lower'])}, {number(row['upper'])}]"
