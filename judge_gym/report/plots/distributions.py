"""How a judge's samples ended: a bar of shares, stage by stage, then what gave no verdict."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import altair as alt
from altair.typing import ChartType

from judge_gym.report.plots import style
from judge_gym.report.plots.plot import Rows

WITHOUT = {
    "abstained": style.HATCHED,
    "unparseable": style.CROSSED,
    "refused": style.DOTTED,
    "failed": style.FILLED,
}
"""Outcomes without a verdict, in the order drawn."""
_WIDE, _HIGH = 420, 24
_HEADER = alt.Header(labelOrient="top", labelPadding=2, labelFontWeight="bold")
_ROOM = 0.045
"""The share that a figure fits into."""
_LIGHTEST, _DARKEST = 0.08, 0.5


def draw(rows: Rows) -> ChartType:
    """Return the bars, group below group.

    Rows: `group` (judges that can be compared; a heading), `judge`, `category` (a stage from 1 or
    a key of `WITHOUT`), `stages` (their number), `samples` (all of the judge) and `share` of them
    (0 to 1, summing to 1 for a judge). Groups and judges keep the order of the rows.
    """
    names = style.short_names(row["judge"] for row in rows)
    headings = style.short_names((row["group"] for row in rows), longest=80)
    segments = [
        {**segment, "group": headings[group]}
        for group in headings
        for segment in _segments([row for row in rows if row["group"] == group], names)
    ]
    base = alt.Chart().encode(
        y=alt.Y("judge:N", sort=None, title=None).axis(ticks=False, domain=False)
    )
    bars = base.mark_bar(stroke=style.SOFT, strokeWidth=0.75).encode(
        x=alt.X("start:Q", title="share of samples")
        .scale(domain=[0, 1])
        .axis(format="%", values=[0, 0.25, 0.5, 0.75, 1], grid=False),
        x2="end:Q",
        fill=alt.Fill("paint:N").scale(None).legend(None),
        fillOpacity=alt.FillOpacity("shade:Q").scale(None).legend(None),
    )
    beside = base.mark_text(align="left", dx=6, color=style.SOFT).transform_filter("datum.first")
    bars_of_groups: ChartType = (
        alt.layer(
            bars,
            base.mark_text().encode(x="middle:Q", text="said:N"),
            beside.encode(x=alt.value(_WIDE), text="beside:N"),
            data=style.data(segments),
        )
        .properties(width=_WIDE, height=alt.Step(_HIGH))
        .facet(row=alt.Row("group:N", sort=list(headings.values()), header=_HEADER), spacing=4)
        .resolve_scale(y="independent")
    )
    return bars_of_groups


def _segments(rows: Rows, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield what is drawn of each row, from `start` to `end`, with `said` where there is room."""
    reached: dict[str, float] = defaultdict(float)
    for row in sorted(rows, key=_place):
        judge, share = row["judge"], row["share"]
        start, reached[judge] = reached[judge], reached[judge] + share
        if share > 0:
            stage = row["category"] if row["category"] not in WITHOUT else None
            yield {
                "judge": names[judge],
                "start": start,
                "end": reached[judge],
                "middle": start + share / 2,
                "said": str(stage) if stage and share >= _ROOM else "",
                "paint": style.BLUE if stage else WITHOUT[row["category"]],
                "shade": _shade(stage, row["stages"]) if stage else 1,
                "beside": _beside(rows, judge),
                "first": start == 0,
            }


def _place(row: Any) -> int:
    category = row["category"]
    return 100 + list(WITHOUT).index(category) if category in WITHOUT else int(category)


def _shade(stage: int, stages: int) -> float:
    return _LIGHTEST + (_DARKEST - _LIGHTEST) * (stage - 1) / max(1, stages - 1)


def _beside(rows: Rows, judge: str) -> str:
    """Return the number of samples, and how many gave no verdict."""
    of_judge = [row for row in rows if row["judge"] == judge]
    samples = of_judge[0]["samples"]
    without = (
        f"{round(row['share'] * samples)} {row['category']}"
        for row in sorted(of_judge, key=_place)
        if row["category"] in WITHOUT and row["share"] > 0
    )
    return ", ".join([f"of {samples}", *without])
