"""Charts of figures with their intervals: effects, headlines, scores, severities."""

from collections.abc import Callable, Mapping
from itertools import groupby
from textwrap import fill
from typing import Any

import altair as alt
from altair.typing import ChartType

from judge_gym.formats import number, ranged
from judge_gym.report.plots import charts_of_judges, charts_of_verdicts, style
from judge_gym.report.plots.plot import Kind, Rows

_ROW_HIGH, _LINE_HIGH = 26, 16
_FOREST_WIDE, _HEADLINES_WIDE = 240, 260
_SMALL_HIGH, _HISTOGRAM_WIDE, _CURVE_WIDE = 120, 300, 200


_LONGEST_CHANGE = 44


def forest(rows: Rows) -> ChartType:
    """Return the effects below one another, with the line of no effect.

    Rows: `change` (an axis and the values it goes between), `effect`, `lower` and `upper` (None
    without an interval) and `unit`, one for all. Order is kept.
    """
    names = style.short_names((row["change"] for row in rows), longest=_LONGEST_CHANGE)
    drawn = [{**row, "change": names[row["change"]], "said": _effect_text(row)} for row in rows]
    base = style.chart(drawn).encode(
        y=alt.Y("change:N", sort=list(names.values())).axis(ticks=False, domain=False).title(None)
    )
    ends = [end for row in rows for end in (row["lower"], row["upper"], row["effect"])]
    furthest = max([abs(end) for end in ends if end is not None] + [0.1])
    x = alt.X("effect:Q").scale(domain=[-furthest, furthest]).title(rows[0]["unit"])
    none = style.chart([{"effect": 0}]).mark_rule(color=style.SOFT, strokeDash=[4, 3]).encode(x=x)
    certain = "isValid(datum.lower)"
    points = base.encode(x=x, href="link:N")
    return alt.layer(
        none,
        base.mark_rule(color=style.BLUE, strokeWidth=2)
        .encode(x="lower:Q", x2="upper:Q")
        .transform_filter(certain),
        points.mark_point(filled=True, size=70, color=style.BLUE, opacity=1).transform_filter(
            certain
        ),
        points.mark_point(size=70, color=style.BLUE, opacity=1).transform_filter(f"!{certain}"),
        base.mark_text(align="left", dx=10).encode(x=alt.value(_FOREST_WIDE), text="said:N"),
    ).properties(width=_FOREST_WIDE, height=_ROW_HIGH * len(names))


def _effect_text(row: Mapping[str, Any]) -> str:
    if row["lower"] is None:
        return f"{number(row['effect'])} (no interval)"
    return ranged(row["effect"], row["lower"], row["upper"])


_LABEL_LINE = 40
_LONGEST_LABEL = 2 * _LABEL_LINE - 4
"""Characters of a label, which may take two lines."""
_LONGEST_QUESTION = 160
_HEADING_LINE = 105
_LABELS = 270
"""Pixels for labels, the same for each question, so that one axis serves them all."""
_LOOKS: dict[str, dict[str, Any]] = {
    "supported": {"shape": "circle", "filled": True, "color": style.BLUE},
    "refuted": {"shape": "cross", "filled": True, "color": style.RED},
    "inconclusive": {"shape": "circle", "filled": False, "color": style.SOFT},
}
_NARROW_LABELS, _NARROW_WIDE, _NARROW_LINE, _NARROW_HEADING = 125, 125, 17, 46
"""The same on a phone, where the conclusion is told by shape and colour alone."""
_CONCLUSION_BESIDE = 140
"""Pixels between the figure in words and the conclusion."""


def headlines(rows: Rows, *, narrow: bool = False) -> ChartType:
    """Return the figures of each question below it, all on one axis; `narrow` for a phone.

    Rows: `question` and `label` (rows of one question stand together, those of one label on one
    line), `estimate`, `lower` and `upper` (None without an interval), `near` and `far` (the ends
    of the margin), `conclusion` (supported, refuted or inconclusive), and `said` and `concluded`,
    the figure and the conclusion of a line in words (empty but for its first row). Order is kept.
    """
    ends = [
        end
        for row in rows
        for end in (row["estimate"], row["lower"], row["upper"], row["near"], row["far"], 0.0)
        if end is not None
    ]
    domain = [min(ends) - 0.02, max(ends) + 0.02]
    groups = [(key, list(of)) for key, of in groupby(rows, key=lambda row: str(row["question"]))]
    parts = [
        _question(question, of, domain, has_axis=place == len(groups), narrow=narrow)
        for place, (question, of) in enumerate(groups, start=1)
    ]
    whole: ChartType = alt.vconcat(*parts, spacing=12).resolve_scale(x="shared")
    return whole


def _question(
    question: str, rows: Rows, domain: list[float], *, has_axis: bool, narrow: bool
) -> ChartType:
    names = _names_in_lines(rows, narrow=narrow)
    more_lines = max(name.count("\n") for name in names.values())
    drawn = [{**row, "label": names[row["label"]]} for row in rows]
    extent, wide = (_NARROW_LABELS, _NARROW_WIDE) if narrow else (_LABELS, _HEADLINES_WIDE)
    labels = alt.Y("label:N", sort=list(names.values())).axis(
        labelExpr=r"split(datum.label, '\n')",
        ticks=False,
        domain=False,
        minExtent=extent,
        maxExtent=extent,
    )
    base = style.chart(drawn).encode(y=labels.title(None))
    heading = style.short_names([question], longest=_LONGEST_QUESTION)[question]
    return alt.layer(
        *_intervals_and_points(base, domain, has_axis=has_axis, narrow=narrow),
        *_words_beside(base, wide, narrow=narrow),
    ).properties(
        width=wide,
        # A label's second line is nearer to its first than to the next label.
        height=(_ROW_HIGH + _LINE_HIGH * more_lines) * len(names),
        title=alt.Title(
            fill(heading, _NARROW_HEADING if narrow else _HEADING_LINE).split("\n"),
            anchor="start",
            frame="bounds",
            fontWeight="bold",
        ),
    )


def _names_in_lines(rows: Rows, *, narrow: bool) -> dict[str, str]:
    """Return label → its short form, broken into lines."""
    line = _NARROW_LINE if narrow else _LABEL_LINE
    longest = 3 * line if narrow else _LONGEST_LABEL
    short = style.short_names((row["label"] for row in rows), longest=longest)
    return {label: fill(name, line) for label, name in short.items()}


def _intervals_and_points(
    base: alt.Chart, domain: list[float], *, has_axis: bool, narrow: bool
) -> tuple[alt.Chart, ...]:
    """Return the layers of margins, of the line at zero, of intervals and of estimates."""
    scale = alt.Scale(domain=domain, nice=False)
    x = (
        alt.X("estimate:Q", scale=scale)
        .axis(labels=has_axis, ticks=has_axis, tickCount=4 if narrow else alt.Undefined)
        .title(None)
    )
    zero = style.chart([{"estimate": 0}]).mark_rule(color=style.LINE).encode(x=x)
    intervals = base.transform_filter("isValid(datum.lower)")
    points = base.encode(x=x, href="link:N")
    return (
        base.mark_bar(color=style.LINE, opacity=1, size=18).encode(
            x=alt.X("near:Q", scale=scale), x2="far:Q"
        ),
        zero,
        base.mark_tick(color=style.INK, thickness=1.5, size=18).encode(
            x=alt.X("far:Q", scale=scale)
        ),
        *(
            layer.transform_filter(alt.datum.conclusion == conclusion)
            for conclusion, look in _LOOKS.items()
            for layer in (
                intervals.mark_rule(color=look["color"], strokeWidth=2).encode(
                    x=alt.X("lower:Q", scale=scale), x2="upper:Q"
                ),
                points.mark_point(size=80, opacity=1, **look),
            )
        ),
    )


def _words_beside(base: alt.Chart, wide: int, *, narrow: bool) -> tuple[alt.Chart, alt.Chart]:
    """Return the layers of the figure and of the conclusion in words, right of the drawing."""
    said = base.transform_filter("datum.said != ''")
    beside = said.mark_text(align="left")
    # On a phone the conclusion stands below the figure, else beside it.
    below = said.mark_text(align="left", dy=_LINE_HIGH)
    place = wide + (8 if narrow else _CONCLUSION_BESIDE)
    return (
        beside.encode(x=alt.value(wide + 8), text="said:N"),
        (below if narrow else beside).encode(x=alt.value(place), text="concluded:N"),
    )


def narrow_headlines(rows: Rows) -> ChartType:
    """Return `headlines` as narrow as a phone."""
    return headlines(rows, narrow=True)


def histogram(rows: Rows) -> ChartType:
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
        .properties(width=_HISTOGRAM_WIDE, height=_SMALL_HIGH)
    )
    return bars


def severity_curve(rows: Rows) -> ChartType:
    """Return one line. Rows: `severity` (0 to 1), `points`, `lower` and `upper` (None without)."""
    base = style.chart(rows).encode(x=alt.X("severity:Q").scale(domain=[0, 1]).title("severity"))
    y = alt.Y("points:Q").scale(domain=[0, 100]).title("points").axis(values=[0, 50, 100])
    return alt.layer(
        base.mark_rule(color=style.BLUE)
        .encode(y=alt.Y("lower:Q").title("points"), y2="upper:Q")
        .transform_filter("isValid(datum.lower)"),
        base.mark_line(color=style.BLUE).encode(y=y),
        base.mark_point(color=style.BLUE, filled=True, opacity=1).encode(y=y),
    ).properties(width=_CURVE_WIDE, height=_SMALL_HIGH)


_CURVE_HIGH, _LEVEL_HIGH = 180, 20
_CELLS_WIDE = 460


def strips(rows: Rows, wide: int = _CURVE_WIDE) -> ChartType:
    """Return a line of circles for each judge on an axis of shares, with a point for the whole.

    Rows: `judge`, `value` in [0, 1], `whole` (whether it is over all), `lower` and `upper` (None
    without an interval), `said` (the figure in words, or "") and `reference`, a share to compare
    with or None, one for all. Order is kept.
    """
    names = style.short_names(row["judge"] for row in rows)
    base = style.chart([{**row, "judge": names[row["judge"]]} for row in rows]).encode(
        y=alt.Y("judge:N", sort=list(names.values())).axis(ticks=False, domain=False).title(None)
    )
    scale = alt.Scale(domain=[0, 1])
    x = alt.X("value:Q", scale=scale).axis(format=".0%").title(None)
    reference = rows[0]["reference"]
    none = [] if reference is None else [{"value": reference}]
    whole = base.transform_filter("datum.whole")
    layers: ChartType = alt.layer(
        style.chart(none).mark_rule(color=style.RED, strokeDash=[4, 3]).encode(x=x),
        base.mark_point(size=45, color=style.SOFT, opacity=0.75)
        .encode(x=x, href="link:N")
        .transform_filter("!datum.whole"),
        whole.mark_rule(color=style.BLUE, strokeWidth=3)
        .encode(x=alt.X("lower:Q", scale=scale), x2="upper:Q")
        .transform_filter("isValid(datum.lower)"),
        whole.mark_point(size=80, filled=True, color=style.BLUE, opacity=1).encode(
            x=x, href="link:N"
        ),
        whole.mark_text(align="left", dx=12).encode(x=alt.value(wide), text="said:N"),
    )
    return layers.properties(width=wide, height=_ROW_HIGH * len(names))


_CLAIMS_WIDE, _CLAIM_HIGH, _OF_CLAIM = 190, 23, 330


def claims(rows: Rows) -> ChartType:
    """Return a bar for each claim: the share of specifications that it holds under.

    Rows: `label`, `heading` (whether it is that of the claims below it), `holds` (a share, None
    where it is not tested), `said` (the bar in words), `published` and `recomputed` in words.
    Order is kept.
    """
    drawn = [{**row, "place": place} for place, row in enumerate(rows)]
    y = alt.Y("place:O").axis(None).scale(paddingInner=0.3)
    base = style.chart(drawn).encode(y=y)
    x = alt.X("holds:Q").scale(
        domain=[0, 1], range=[_OF_CLAIM + 190, _OF_CLAIM + 190 + _CLAIMS_WIDE]
    )
    bars = base.transform_filter("isValid(datum.holds)")

    def text(field: str, left: float, only: str, **look: Any) -> Any:
        chosen = base.transform_filter(only)
        return chosen.mark_text(align="left", **look).encode(x=alt.value(left), text=f"{field}:N")

    heads = style.chart(
        [
            {"place": 0, "at": _OF_CLAIM, "said": "published"},
            {"place": 0, "at": _OF_CLAIM + 95, "said": "recomputed"},
            {"place": 0, "at": _OF_CLAIM + 190, "said": "holds under"},
        ]
    )
    wide = _OF_CLAIM + 190 + _CLAIMS_WIDE + 70
    layers: ChartType = (
        alt.layer(
            bars.mark_bar(color=style.LINE).encode(
                x=alt.value(_OF_CLAIM + 190), x2=alt.value(_OF_CLAIM + 190 + _CLAIMS_WIDE)
            ),
            bars.mark_bar(color=style.BLUE).encode(x=x.axis(None), x2=alt.datum(0)),
            text("label", 0, "datum.heading", fontWeight="bold"),
            text("label", 10, "!datum.heading"),
            text("published", _OF_CLAIM, "!datum.heading", color=style.SOFT),
            text("recomputed", _OF_CLAIM + 95, "!datum.heading"),
            text("said", _OF_CLAIM + 200 + _CLAIMS_WIDE, "!datum.heading"),
            heads.mark_text(align="left", color=style.SOFT).encode(
                y=y, x=alt.X("at:Q").scale(None).axis(None), text="said:N"
            ),
        )
        .properties(width=wide, height=_CLAIM_HIGH * len(drawn))
        .resolve_scale(x="independent")
    )
    return layers


def specification_curve(rows: Rows) -> ChartType:
    """Return the sorted estimates with their intervals, and below them the choices of each.

    Rows: `place` (from 1), `estimate`, `lower` and `upper` (None without an interval),
    `significant`, `unit` (one for all), `choices` (the levels of this cell) and `levels` (all of
    them, top first). Order is kept.
    """
    places = alt.Scale(domain=[0.5, len(rows) + 0.5], nice=False)
    x = alt.X("place:Q", scale=places).axis(None)
    cells = style.chart(rows).encode(x=x)
    none = style.chart([{"estimate": 0}]).mark_rule(color=style.SOFT, strokeDash=[4, 3])
    y = alt.Y("estimate:Q").title(rows[0]["unit"]).axis(tickCount=5)
    size = 50 if len(rows) <= 60 else 18
    points = cells.encode(y=y, href="link:N")
    curve = alt.layer(
        none.encode(y=alt.Y("estimate:Q").title(rows[0]["unit"])),
        cells.mark_rule(color=style.BLUE, strokeWidth=1.5)
        .encode(y=alt.Y("lower:Q").title(rows[0]["unit"]), y2="upper:Q")
        .transform_filter("isValid(datum.lower)"),
        points.mark_point(filled=True, size=size, color=style.BLUE, opacity=1).transform_filter(
            "datum.significant"
        ),
        points.mark_point(size=size, color=style.BLUE, opacity=1).transform_filter(
            "!datum.significant"
        ),
    ).properties(width=_CELLS_WIDE, height=_CURVE_HIGH)
    levels = list(rows[0]["levels"])
    if not levels:
        return curve
    names = style.short_names(levels, longest=_LONGEST_CHANGE)
    dots = [
        {"place": row["place"], "level": names[choice], "significant": row["significant"]}
        for row in rows
        for choice in row["choices"]
        if choice in names
    ]
    chosen = (
        style.chart(dots)
        .mark_circle(size=size, color=style.INK, opacity=1)
        .encode(
            x=x,
            y=alt.Y("level:N", sort=list(names.values()))
            .axis(ticks=False, domain=False, grid=True)
            .title(None),
        )
        .properties(width=_CELLS_WIDE, height=_LEVEL_HIGH * len(names))
    )
    both: ChartType = alt.vconcat(curve, chosen, spacing=8)
    return both


_CONTROL_WIDE, _CONTROL_HIGH = 520, 180


def control_chart(rows: Rows) -> ChartType:
    """Return a figure over time with its control limits.

    Rows: `day` (the first day of a period, as 2026-01-05), `value`, `low` and `high` (its interval,
    None without one), `centre`, `lower` and `upper` (None without limits), `state` (`outside` is
    drawn as a cross) and `unit`, one for all. Order is kept.
    """
    unit = rows[0]["unit"]
    base = style.chart(rows).encode(
        x=alt.X("day:O", sort=None).title(None).axis(labelAngle=-45, labelOverlap=True)
    )
    y = alt.Y("value:Q").scale(zero=False).title(unit)
    lines = [
        style.chart(rows[:1])
        .transform_filter(f"isValid(datum.{end})")
        .mark_rule(color=style.SOFT, strokeDash=[] if end == "centre" else [5, 4])
        .encode(y=alt.Y(f"{end}:Q").title(unit))
        for end in ("centre", "lower", "upper")
    ]
    outside = "datum.state == 'outside'"
    points = base.encode(y=y)
    return alt.layer(
        *lines,
        base.mark_rule(color=style.LINE, strokeWidth=3)
        .encode(y=alt.Y("low:Q").title(unit), y2="high:Q")
        .transform_filter("isValid(datum.low)"),
        points.mark_line(color=style.BLUE, strokeWidth=1.5),
        points.mark_point(filled=True, size=50, color=style.BLUE, opacity=1).transform_filter(
            f"!({outside})"
        ),
        points.mark_point(
            shape="cross", filled=True, size=120, color=style.RED, opacity=1
        ).transform_filter(outside),
    ).properties(width=_CONTROL_WIDE, height=_CONTROL_HIGH)


CHARTS: Mapping[Kind, Callable[[Rows], ChartType]] = {
    "heat_map": charts_of_verdicts.heat_map,
    "effects_map": charts_of_verdicts.effects_map,
    "reliability": charts_of_judges.reliability,
    "response": charts_of_judges.response,
    "swaps": charts_of_judges.swaps,
    "distributions": charts_of_verdicts.distributions,
    "subsets": charts_of_verdicts.subsets,
    "forest": forest,
    "headlines": headlines,
    "narrow_headlines": narrow_headlines,
    "histogram": histogram,
    "severity_curve": severity_curve,
    "specification_curve": specification_curve,
    "strips": strips,
    "control_chart": control_chart,
    "claims": claims,
}
"""The function that draws each kind of chart."""
