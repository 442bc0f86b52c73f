"""Charts as static SVG for a page: the page's colours and letters, nothing fetched, no script.

vl-convert writes attributes and text alone. Colours become the page's variables, so that they
follow a dark screen and paper. Three greys become patterns. Fonts are left to the page. Names
(`id`) get a prefix, because several drawings share one page.

Importing altair takes longer than everything else about a page, so it is imported only to draw.
A page that is written again takes over the drawings whose rows have not changed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from judge_gym.formats import number
from judge_gym.report.plots import style
from judge_gym.report.plots.plot import Kind, Plot, PlotPanel, Rows
from judge_gym.seeds import sha256

_VARIABLES = {
    style.INK: "var(--text)",
    style.SOFT: "var(--soft)",
    style.LINE: "var(--line)",
    style.BLUE: "var(--blue)",
    style.RED: "var(--red)",
    style.LINK: "var(--link)",
    style.FILLED: "var(--soft)",
}
_PATTERNS = {
    style.HATCHED: '<path d="M-1,1l2,-2M0,6l6,-6M5,7l2,-2" stroke="var(--soft)"/>',
    style.CROSSED: '<path d="M0,0l6,6M0,6l6,-6" stroke="var(--soft)"/>',
    style.DOTTED: '<circle cx="3" cy="3" r="1.3" fill="var(--soft)"/>',
}
_TAG = re.compile(r'<(?:[^>"]|"[^"]*")*>')
_PAINTED = re.compile(r'(fill|stroke)="([^"]*)"')
_PLAIN = ("none", "transparent")
_DROPPED = re.compile(
    r' (?:xmlns(?::xlink)?|version|class|role|font-family|pointer-events|aria-[a-z]+)="[^"]*"'
)
_UNSEEN = re.compile(
    r'<path class="(?:background|foreground)"[^>]*(?:display="none"|pointer-events="none")[^>]*/>'
)
_LINK = re.compile(r'<a xlink:href="[^"#]*#([^"]*)"[^>]*>')
_LONG = re.compile(r"-?\d+\.\d{3,}")
_NAMED = re.compile(r'(id="|url\(#)([^")]+)')
_SIZE = re.compile(rf'font-size="{style.TEXT_SIZE}px"')
_WRITTEN_SIZE = 12
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_PICTURE_WIDE, _PAPER = 460, "#ffffff"
_WIDTH = re.compile(r'width="([\d.]+)"')
_DRAWN = re.compile(r'<svg [^>]*data-of="([0-9a-f]{64})".*?</svg>', re.DOTALL)


_NARROW: Mapping[Kind, Kind] = {"headlines": "narrow_headlines"}


@dataclass(frozen=True)
class Drawing:
    """A panel as the page shows it; `svg` is an element."""

    heading: str
    says: str
    svg: str
    narrow: str = ""
    """The same for a phone; empty where `svg` fits or can be scrolled."""


def drawings(plot: Plot, older: Mapping[str, str]) -> Sequence[Drawing]:
    """Return the panels of a plot, drawn; `older` is what `drawn_before` found."""
    return [
        Drawing(
            panel.heading,
            panel.says,
            _drawn(plot, panel, place, older),
            _drawn(replace(plot, kind=narrow), panel, f"narrow-{place}", older) if narrow else "",
        )
        for place, panel in enumerate(plot.panels, start=1)
        for narrow in [_NARROW.get(plot.kind)]
    ]


def drawn_before(page: str) -> dict[str, str]:
    """Return the drawings of a page that was written before, by the digest of what they show."""
    return {match[1]: match[0] for match in _DRAWN.finditer(page)}


def draw(kind: Kind, rows: Rows, name: str, label: str) -> str:
    """Return rows as a chart of this kind, as an `<svg>` element; see `inline_svg`."""
    from altair.utils.schemapi import debug_mode

    from judge_gym.report.plots.charts import CHARTS

    with debug_mode(False):  # which checks each part of a chart as it is made, and takes as long
        chart = CHARTS[kind](rows)
    return inline_svg(chart, name, label)


def _drawn(plot: Plot, panel: PlotPanel, place: int | str, older: Mapping[str, str]) -> str:
    name = f"{_NOT_IN_NAMES.sub('-', plot.title.lower()).strip('-')}-plot-{place}"
    mark = "".join(f"{word}. " for word in plot.marks)
    label = ". ".join(filter(None, (mark + plot.title, panel.heading, plot.how_to_read)))
    digest = sha256(_code(), name, label, [dict(row) for row in panel.rows])
    if digest in older:
        return older[digest]
    svg = draw(plot.kind, panel.rows, name, label)
    return svg.replace("<svg ", f'<svg data-of="{digest}" ', 1)


@cache
def _code() -> str:
    """Return a digest of the code that draws: what other code drew is drawn again."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(*(file.read_text(encoding="utf-8") for file in files))


def inline_svg(chart: Any, name: str, label: str) -> str:
    """Return an altair chart as an `<svg>` element; equal charts give equal text.

    `name` begins every id in it, and is its own; `label` is what a screen reader says of it.
    """
    import vl_convert

    # Given as altair would, which copies the chart for every part of it.
    spec = json.dumps({**chart.to_dict(validate=False), "config": style.CONFIG})
    return on_page(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]), name, label)


def picture(
    title: str, subtitle: Sequence[str], rows: Rows, kind: Literal["strips", "claims"] = "strips"
) -> str:
    """Return a chart of this kind as the text of an SVG file with a background of its own.

    Equal rows give equal text, when it is the first drawing of a process.
    """
    import altair as alt
    import vl_convert

    from judge_gym.report.plots.charts import claims, strips

    heading = alt.Title(title, subtitle=[*subtitle], fontSize=18, fontWeight="bold", offset=14)
    chart = claims(rows) if kind == "claims" else strips(rows, wide=_PICTURE_WIDE)
    spec = chart.properties(title=heading).to_dict(validate=False)
    look: dict[str, Any] = {**style.CONFIG, "background": _PAPER, "padding": 20}
    look["title"] = {"color": style.INK, "subtitleColor": style.SOFT, "subtitleFontSize": 13}
    look["title"] |= {"anchor": "start", "frame": "bounds", "subtitlePadding": 6}
    svg: str = vl_convert.vegalite_to_svg(
        json.dumps({**spec, "config": look}), allowed_base_urls=[]
    )
    return svg


def on_page(svg: str, name: str, label: str) -> str:
    """Return what vl-convert wrote as a part of a page; see `inline_svg`.

    Raises ValueError for a colour that is none of `style`: it would not follow the page's.
    """
    ids: dict[str, str] = {}
    svg = _TAG.sub(lambda tag: _themed(tag[0], name, ids), _UNSEEN.sub("", svg))
    [wide] = _WIDTH.findall(svg)[:1]
    head, _, rest = svg.partition(">")
    escaped_label = escape(label)
    # What is in an image cannot be reached, links among it.
    role = "group" if "<a " in rest else "img"
    return (
        f'{head} id="{name}" role="{role}" aria-label="{escaped_label}" style="--wide:{wide}px">'
        f"<title>{escaped_label}</title>{_patterns(rest, name)}{rest}"
    )


def _themed(tag: str, name: str, ids: dict[str, str]) -> str:
    """Return a tag with the page's colours and ids numbered from 1.

    vl-convert goes on counting its ids from one chart to the next.
    """
    if link := _LINK.fullmatch(tag):
        return _linked(unescape(link[1]))
    tag = _LONG.sub(lambda match: number(float(match[0])), _DROPPED.sub("", tag))
    tag = _SIZE.sub(f'font-size="{_WRITTEN_SIZE}px"', tag)
    tag = _NAMED.sub(
        lambda match: match[1] + ids.setdefault(match[2], f"{name}-{len(ids) + 1}"), tag
    )
    return _PAINTED.sub(lambda match: f'{match[1]}="{_paint(match[2], name)}"', tag)


def _linked(target: str) -> str:
    """Return the tag that begins a link to this place on the page, which says what is there."""
    place, _, query = target.partition("?")
    of = ", ".join(value for _, value in parse_qsl(query))
    what = "Item and answers" if place.startswith("document-") else "Answers"
    label = escape(f"{what}: {of}" if of else what)
    return f'<a href="#{escape(target)}" aria-label="{label}"><title>{label}</title>'


def _paint(colour: str, name: str) -> str:
    if colour in _PATTERNS:
        return f"url(#{name}-{colour[1:]})"
    if colour in _PLAIN:
        return colour
    if colour not in _VARIABLES:
        raise ValueError(f"{name}: {colour} is no colour of the page")
    return _VARIABLES[colour]


def _patterns(svg: str, name: str) -> str:
    used = [
        f'<pattern id="{name}-{colour[1:]}" width="6" height="6" patternUnits="userSpaceOnUse">'
        f"{lines}</pattern>"
        for colour, lines in _PATTERNS.items()
        if f"url(#{name}-{colour[1:]})" in svg
    ]
    return f"<defs>{''.join(used)}</defs>" if used else ""
