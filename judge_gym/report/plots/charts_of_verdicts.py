"""Charts of verdicts: by item, judge, stage and set of stages."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
from altair.typing import ChartType

from judge_gym.analysis.plotted import Overlap
from judge_gym.formats import ABSENT, number, percent
from judge_gym.report.plots import style
from judge_gym.report.plots.plot import ALL_ITEMS, Rows

_ROW_HIGH = 24


WITHOUT = {
    "abstained": style.HATCHED,
    "unparseable": style.CROSSED,
    "refused": style.DOTTED,
    "failed": style.FILLED,
}
"""Outcomes without a verdict, in the order drawn."""
_SHARES_WIDE = 420
_GROUP_HEADER = alt.Header(labelOrient="top", labelPadding=2, labelFontWeight="bold")
_NUMBER_ROOM = 0.045
"""The share that a figure fits into."""
_LIGHTEST, _DARKEST = 0.08, 0.5


def distributions(rows: Rows) -> ChartType:
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
        for segment in _outcome_segments([row for row in rows if row["group"] == group], names)
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
        href="link:N",
    )
    beside = base.mark_text(align="left", dx=6, color=style.SOFT).transform_filter("datum.first")
    bars_of_groups: ChartType = (
        alt.layer(
            bars,
            base.mark_text().encode(x="middle:Q", text="said:N"),
            beside.encode(x=alt.value(_SHARES_WIDE), text="beside:N"),
            data=style.data(segments),
        )
        .properties(width=_SHARES_WIDE, height=alt.Step(_ROW_HIGH))
        .facet(
            row=alt.Row("group:N", sort=list(headings.values()), header=_GROUP_HEADER), spacing=4
        )
        .resolve_scale(y="independent")
    )
    return bars_of_groups


def _outcome_segments(rows: Rows, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield what is drawn of each row, from `start` to `end`, with `said` where there is room."""
    reached: dict[str, float] = defaultdict(float)
    for row in sorted(rows, key=_order):
        judge, share = row["judge"], row["share"]
        start, reached[judge] = reached[judge], reached[judge] + share
        if share > 0:
            stage = row["category"] if row["category"] not in WITHOUT else None
            yield {
                "judge": names[judge],
                "start": start,
                "end": reached[judge],
                "middle": start + share / 2,
                "said": str(stage) if stage and share >= _NUMBER_ROOM else "",
                "paint": style.BLUE if stage else WITHOUT[row["category"]],
                "shade": _shade(stage, row["stages"]) if stage else 1,
                "beside": _without_verdict(rows, judge),
                "link": row.get("link", ""),
                "first": start == 0,
            }


def _order(row: Any) -> int:
    category = row["category"]
    return 100 + list(WITHOUT).index(category) if category in WITHOUT else int(category)


def _shade(stage: int, stages: int) -> float:
    return _LIGHTEST + (_DARKEST - _LIGHTEST) * (stage - 1) / max(1, stages - 1)


def _without_verdict(rows: Rows, judge: str) -> str:
    """Return the number of samples, and how many gave no verdict."""
    judge_rows = [row for row in rows if row["judge"] == judge]
    samples = judge_rows[0]["samples"]
    without = (
        f"{round(row['share'] * samples)} {row['category']}"
        for row in sorted(judge_rows, key=_order)
        if row["category"] in WITHOUT and row["share"] > 0
    )
    return ", ".join([f"of {samples}", *without])


BEYOND = "▲"
_CELL_WIDE = 104
_LEAST_DARK = 0.1
"""Effects below it are light even where they are the largest."""


def heat_map(rows: Rows) -> ChartType:
    """Return the map.

    Rows: `item`, `pair`, `divergence` and `floor` (bits, 0 to 1, None where a pair has no verdict
    on an item) and `beyond` (whether it is more than its floor lets expect). Rows of `ALL_ITEMS`
    are the pair's own figures and stand below. Items and pairs keep the order of the rows.
    """
    return _map(
        [
            {
                "row": row["item"],
                "column": row["pair"],
                "shade": 0 if row["item"] == ALL_ITEMS else row["divergence"] or 0,
                "said": _cell_text(row),
                "beyond": row["beyond"],
                "paint": style.BLUE,
                "link": row.get("link", ""),
            }
            for row in rows
        ]
    )


def effects_map(rows: Rows) -> ChartType:
    """Return the changes below one another, with a column for each figure that they may move.

    Rows: `change`, `figure`, `effect` (-1 to 1) and `moved`. Changes and figures keep the order of
    the rows. The largest effect is the darkest; red is less and blue more.
    """
    largest = max([abs(row["effect"]) for row in rows] + [_LEAST_DARK])
    return _map(
        [
            {
                "row": row["change"],
                "column": row["figure"],
                "shade": abs(row["effect"]) / largest,
                "said": f"{number(row['effect'])}{f' {BEYOND}' if row['moved'] else ''}",
                "beyond": row["moved"],
                "paint": style.RED if row["effect"] < 0 else style.BLUE,
                "link": row.get("link", ""),
            }
            for row in rows
        ],
        longest=48,
    )


def _map(drawn: list[dict[str, Any]], longest: int = 36) -> ChartType:
    """Return cells with `row`, `column`, `shade` (0 to 1), `paint`, `said`, `beyond` and `link`.

    Names of rows have `longest` characters at most.
    """
    down = style.short_names((cell["row"] for cell in drawn), longest=longest)
    across = style.short_names((cell["column"] for cell in drawn), longest=36)
    cells = style.chart(
        [{**cell, "row": down[cell["row"]], "column": across[cell["column"]]} for cell in drawn]
    ).encode(
        x=alt.X("column:N", sort=list(across.values()))
        .axis(orient="top", labelAngle=0, ticks=False, domain=False)
        .title(None)
        .scale(paddingInner=0.04, paddingOuter=0),
        y=alt.Y("row:N", sort=list(down.values()))
        .axis(ticks=False, domain=False, labelPadding=6)
        .title(None)
        .scale(paddingInner=0.08, paddingOuter=0),
    )
    shaded = cells.mark_rect().encode(
        fill=alt.Fill("paint:N").scale(None).legend(None),
        # Up to here ink on the shade is readable, on a light page and on a dark one.
        fillOpacity=alt.FillOpacity("shade:Q").scale(domain=[0, 1], range=[0.04, 0.5]).legend(None),
        href="link:N",
    )
    framed = cells.mark_rect(filled=False, color=style.INK, strokeWidth=1.5).transform_filter(
        alt.datum.beyond
    )
    text = cells.mark_text().encode(text="said:N")
    return alt.layer(shaded, framed, text).properties(
        width=_CELL_WIDE * len(across), height=_ROW_HIGH * len(down)
    )


def _cell_text(row: Mapping[str, Any]) -> str:
    if row["divergence"] is None:
        return ABSENT
    mark = f" {BEYOND}" if row["beyond"] else ""
    return f"{number(row['divergence'])} ({number(row['floor'])}){mark}"


OVERLAPS = {Overlap.SAME: 0.5, Overlap.NESTED: 0.3, Overlap.PARTLY: 0.15, Overlap.APART: 0.0}
"""How two sets overlap, from most to least, with the shade it is drawn in."""
_OVERLAP_ROOM = 0.16


def subsets(rows: Rows) -> ChartType:
    """Return the sets with the share of verdicts for each, and below the overlaps if there are any.

    Rows with `stages` (ascending tuple, or None for the sets left out, together), `scale`, `judge`
    and `share` of its verdicts; and rows with `pair`, `overlap` (a key of `OVERLAPS`) and
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
    high = _ROW_HIGH * len(order)
    members = [
        {"set": text, "stage": stage, "first": min(stages), "last": max(stages)}
        for stages, text in label.items()
        for stage in stages or ()
    ]
    dots = style.chart(members).encode(
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
            "said": percent(row["share"]),
            "link": row.get("link", ""),
        }
        for row in rows
        if row["share"] > 0
    ]
    bars = [
        _bars([share for share in shares if share["judge"] == name], name, order, high)
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
        base.mark_bar(color=style.BLUE, fillOpacity=0.5, height=16).encode(href="link:N"),
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
                "shade": OVERLAPS[row["overlap"]],
                "said": f"{row['overlap']} {percent(row['share'])}"
                if row["share"] >= _OVERLAP_ROOM
                else "",
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
    text = base.mark_text().encode(x="middle:Q", text="said:N")
    return alt.layer(bars, text).properties(
        width=460,
        height=_ROW_HIGH * len(pairs),
        title=alt.Title("Overlap", anchor="start"),
    )
