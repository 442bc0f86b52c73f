"""The pictures of the explanation pages, drawn from small examples by the library's estimators.

Charts have the report's colours, so that they follow a light and a dark page.
"""

from collections.abc import Callable
from itertools import pairwise

import altair as alt
import numpy as np
from altair.typing import ChartType

from judge_gym.metrics.cells import Verdicts
from judge_gym.metrics.estimate import t_interval
from judge_gym.metrics.facets import ITEM, WORDING, FacetTable, total_error
from judge_gym.metrics.masses import (
    CellMasses,
    belief,
    betp,
    cell_masses,
    conflict,
    plausibility,
    singletons,
)
from judge_gym.metrics.polarization import mean_jensen_shannon
from judge_gym.report.plots import style
from judge_gym.report.plots.svg import inline_svg

STAGES = 4
FIRST = ((2,), (2,), (2,), (2, 3), (2, 3), (2, 3), (2, 3), (3,), (3, 4), (1, 2, 3, 4))
SECOND = ((3,), (3,), (3, 4), (3, 4), (3, 4), (3, 4), (4,), (4,), (4,), (2, 3, 4))
"""Ten verdicts of two judges on one item: the stages that each names."""
_ROW, _WIDE = 30, 210
"""Pixels."""
_PLAIN = {"ticks": False, "domain": False, "labelPadding": 8}


def drawn(name: str) -> str:
    """Return a picture as an `<svg>` element in a scrolling frame; KeyError for an unknown one."""
    label, chart = PICTURES[name]
    return f'<div class="picture">{inline_svg(chart(), name, label)}</div>'


def _cells() -> CellMasses:
    stages = [sum(1 << (stage - 1) for stage in named) for named in (*FIRST, *SECOND)]
    judge = np.repeat([0, 1], len(FIRST))
    return cell_masses(
        Verdicts(
            judge=judge,
            item=np.zeros(len(judge), np.int64),
            stages=np.array(stages),
            n_judges=2,
            n_items=1,
            n_stages=STAGES,
        )
    )


def masses() -> ChartType:
    """Return the sets that the first judge names, each with its mass."""
    cells = _cells()
    sets = [
        (int(which), float(mass))
        for which, mass in zip(cells.masses.sets, cells.masses.mass[0, 0], strict=True)
        if mass > 0
    ]
    sets.sort(key=lambda one: (bin(one[0]).count("1"), one[0]))
    order = [_named(which) for which, _ in sets]
    dots = [
        {"set": _named(which), "stage": stage, "in": bool(which >> (stage - 1) & 1)}
        for which, _ in sets
        for stage in range(1, STAGES + 1)
    ]
    spans = [
        {"set": _named(which), "low": _members(which)[0], "high": _members(which)[-1]}
        for which, _ in sets
    ]
    bars = [{"set": _named(which), "mass": mass, "said": f"{mass:.1f}"} for which, mass in sets]
    y = alt.Y("set:N", sort=order).axis(**_PLAIN).title("set of stages")
    hidden = alt.Y("set:N", sort=order).axis(None)
    x = alt.X("stage:O").title("stage").axis(labelAngle=0, domain=False, ticks=False, orient="top")
    height = _ROW * len(sets)
    grid = alt.layer(
        style.chart(spans)
        .mark_rule(color=style.BLUE, strokeWidth=3)
        .encode(y=y, x=alt.X("low:O"), x2="high:O"),
        style.chart(dots)
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            y=y,
            x=x,
            color=alt.Color("in:N")
            .scale(domain=[True, False], range=[style.BLUE, style.LINE])
            .legend(None),
        ),
    ).properties(width=_WIDE // 2, height=height)
    base = style.chart(bars)
    mass = alt.X("mass:Q").title("mass m(A)").scale(domain=[0, 0.5])
    shares = alt.layer(
        base.mark_bar(color=style.BLUE, height=12).encode(
            y=hidden, x=mass.axis(grid=False, tickCount=5)
        ),
        base.mark_text(align="left", dx=5).encode(y=hidden, x="mass:Q", text="said:N"),
    ).properties(width=_WIDE, height=height)
    return alt.hconcat(grid, shares, spacing=10)


def support() -> ChartType:
    """Return belief, plausibility and pignistic probability of each stage, for the first judge."""
    cells = _cells().masses
    single = singletons(STAGES)
    low, high, middle = (
        values[0, 0] for values in (belief(cells, single), plausibility(cells, single), betp(cells))
    )
    rows = [
        {
            "stage": f"stage {stage}",
            "low": float(low[stage - 1]),
            "high": float(high[stage - 1]),
            "middle": float(middle[stage - 1]),
            "said": f"Bel {low[stage - 1]:.2f}  BetP {middle[stage - 1]:.2f}"
            f"  Pl {high[stage - 1]:.2f}",
        }
        for stage in range(1, STAGES + 1)
    ]
    base = style.chart(rows).encode(y=alt.Y("stage:N").axis(**_PLAIN).title(None))
    x = alt.X("low:Q").title("probability").scale(domain=[0, 1]).axis(grid=False, tickCount=5)
    return alt.layer(
        base.mark_rule(color=style.BLUE, strokeWidth=6).encode(x=x, x2="high:Q"),
        base.mark_point(filled=True, size=90, color=style.RED, opacity=1).encode(x="middle:Q"),
        base.mark_text(align="left", dx=12).encode(x=alt.value(_WIDE), text="said:N"),
    ).properties(width=_WIDE, height=_ROW * STAGES)


def conflicting() -> ChartType:
    """Return every pair of sets of the two judges, with the product of their masses."""
    cells = _cells().masses
    first, second = (
        [(int(s), float(m)) for s, m in zip(cells.sets, cells.mass[0, judge], strict=True) if m > 0]
        for judge in (0, 1)
    )
    rows = [
        {
            "first": _named(a),
            "second": _named(b),
            "product": f"{m * n:.2f}",
            "kind": "no stage in common" if a & b == 0 else "a stage in common",
        }
        for a, m in first
        for b, n in second
    ]
    total = conflict(*(type(cells)(cells.sets, cells.mass[0, judge], STAGES) for judge in (0, 1)))
    colours = alt.Color("kind:N").scale(
        domain=["no stage in common", "a stage in common"], range=[style.RED, style.LINE]
    )
    legend = alt.Legend(
        orient="bottom", title=None, labelColor=style.INK, labelFontSize=style.TEXT_SIZE
    )
    base = style.chart(rows).encode(
        x=alt.X("second:N", sort=[_named(b) for b, _ in second])
        .axis(labelAngle=0, orient="top", ticks=False, domain=False)
        .title("second judge"),
        y=alt.Y("first:N", sort=[_named(a) for a, _ in first]).axis(**_PLAIN).title("first judge"),
    )
    return (
        base.mark_rect(stroke=style.LINE, fillOpacity=0.35, strokeWidth=1).encode(
            color=colours.legend(legend)
        )
        + base.mark_text().encode(text="product:N")
    ).properties(
        width=84 * len(second),
        height=_ROW * len(first),
        title=f"k = {float(total):.2f}, the sum of the marked products",
    )


def floor() -> ChartType:
    """Return P of two judges that behave alike, drawn 400 times with 5 and with 20 replicates."""
    rng = np.random.default_rng(1)
    chances, edges = np.array([0.15, 0.35, 0.35, 0.15]), np.linspace(0, 0.5, 51)
    rows = []
    for replicates in (5, 20):
        # Draws x items x judges x stages.
        counts = rng.multinomial(replicates, chances, size=(400, 16, 2))
        found = mean_jensen_shannon(counts / replicates).mean(axis=1)
        drawn_in, _ = np.histogram(found, edges)
        rows += [
            {
                "low": float(low),
                "high": float(high),
                "bottom": 0,
                "share": int(count) / len(found),
                "of": f"{replicates} replicates: mean of P is {found.mean():.2f} bits",
            }
            for (low, high), count in zip(pairwise(edges), drawn_in, strict=True)
            if count
        ]
    return (
        style.chart(rows)
        .mark_bar(color=style.BLUE)
        .encode(
            x=alt.X("low:Q")
            .scale(domain=[0, 0.5])
            .axis(grid=False, tickCount=5)
            .title("P of two judges that behave alike, bits"),
            x2="high:Q",
            y=alt.Y("share:Q").axis(None),
            y2="bottom:Q",
            row=alt.Row("of:N")
            .sort([row["of"] for row in rows])
            .header(labelAnchor="start", labelOrient="top"),
        )
        .properties(width=_WIDE + 110, height=80)
    )


def wordings() -> ChartType:
    """Return the mean of a judge under five wordings, and its two intervals."""
    rng = np.random.default_rng(2)
    values = 0.5 + rng.normal(0, 0.1, (30, 1)) + rng.normal(0, 0.1, (1, 5))
    values = values + rng.normal(0, 0.08, (30, 5))
    total = total_error(FacetTable((ITEM, WORDING), values))
    over_items = t_interval(values.mean(axis=1))
    assert total is not None
    assert over_items is not None
    mean = float(values.mean())
    rows = [
        {"line": f"wording {number}", "mean": float(values[:, number - 1].mean())}
        for number in range(1, 6)
    ]
    ends = [
        {"line": "items only", "mean": mean, "low": over_items[0], "high": over_items[1]},
        {"line": "total error", "mean": mean, "low": total.interval[0], "high": total.interval[1]},
    ]
    order = [row["line"] for row in (*rows, *ends)]
    y = alt.Y("line:N", sort=order).axis(**_PLAIN).title(None)
    x = alt.X("mean:Q").scale(domain=[0.3, 0.7]).axis(grid=False, tickCount=6)
    base = style.chart(ends).encode(y=y)
    return alt.layer(
        style.chart(rows)
        .mark_point(size=70, color=style.SOFT, opacity=1)
        .encode(y=y, x=x.title("mean score on 30 items, 0-1 scale")),
        base.mark_rule(color=style.BLUE, strokeWidth=3).encode(x="low:Q", x2="high:Q"),
        base.mark_point(filled=True, size=80, color=style.BLUE, opacity=1).encode(x="mean:Q"),
    ).properties(width=2 * _WIDE - 60, height=24 * len(order))


def _members(which: int) -> list[int]:
    return [stage for stage in range(1, STAGES + 1) if which >> (stage - 1) & 1]


def _named(which: int) -> str:
    return "{" + ", ".join(map(str, _members(which))) + "}"


PICTURES: dict[str, tuple[str, Callable[[], ChartType]]] = {
    "masses": ("Five sets of stages, each with the share of ten verdicts that names it.", masses),
    "support": ("Belief, pignistic probability and plausibility of four stages.", support),
    "conflict": ("Products of the masses of two judges; some sets share no stage.", conflicting),
    "floor": ("Two histograms of P for judges that behave alike; neither is around 0.", floor),
    "wordings": (
        "Five means, an interval over items, and a wider one of total error.",
        wordings,
    ),
}
