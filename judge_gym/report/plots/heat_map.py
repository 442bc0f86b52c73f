"""Polarization item by item: a cell per item and pair of families, each beside its own floor."""

from collections.abc import Mapping
from typing import Any

import altair as alt
from altair.typing import ChartType

from judge_gym.report.plots import style
from judge_gym.report.plots.plot import ALL_ITEMS, Rows

BEYOND = "▲"
_WIDE, _HIGH = 104, 24


def draw(rows: Rows) -> ChartType:
    """Return the map.

    Rows: `item`, `pair`, `divergence` and `floor` (bits, 0 to 1, None where a pair has no verdict
    on an item) and `beyond` (whether it is more than its floor lets expect). Rows of `ALL_ITEMS`
    are the pair's own figures and stand below. Items and pairs keep the order of the rows.
    """
    items, pairs = (
        style.short_names((row[name] for row in rows), longest=36) for name in ("item", "pair")
    )
    cells = style.chart(
        [
            {
                "item": items[row["item"]],
                "pair": pairs[row["pair"]],
                "shade": 0 if row["item"] == ALL_ITEMS else row["divergence"] or 0,
                "said": _said(row),
                "beyond": row["beyond"],
            }
            for row in rows
        ]
    ).encode(
        x=alt.X("pair:N", sort=list(pairs.values()))
        .axis(orient="top", labelAngle=0, ticks=False, domain=False)
        .title(None)
        .scale(paddingInner=0.04, paddingOuter=0),
        y=alt.Y("item:N", sort=list(items.values()))
        .axis(ticks=False, domain=False, labelPadding=6)
        .title(None)
        .scale(paddingInner=0.08, paddingOuter=0),
    )
    shaded = cells.mark_rect(color=style.BLUE).encode(
        # Up to here ink on the shade is readable, on a light page and on a dark one.
        fillOpacity=alt.FillOpacity("shade:Q").scale(domain=[0, 1], range=[0.04, 0.5]).legend(None)
    )
    framed = cells.mark_rect(filled=False, color=style.INK, strokeWidth=1.5).transform_filter(
        alt.datum.beyond
    )
    said = cells.mark_text().encode(text="said:N")
    return alt.layer(shaded, framed, said).properties(
        width=_WIDE * len(pairs), height=_HIGH * len(items)
    )


def _said(row: Mapping[str, Any]) -> str:
    if row["divergence"] is None:
        return "–"
    mark = f" {BEYOND}" if row["beyond"] else ""
    return f"{row['divergence']:.2f} ({row['floor']:.2f}){mark}"
