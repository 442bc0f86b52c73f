"""What the plots have in common: colours, letters, sizes, and names short enough for an axis.

A chart has the colours of a light page, so that it is right in a notebook. `svg` replaces each by
the page's own, which follow the reader's: so a colour is only ever one of these.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from judge_gym.report.plots.plot import Rows

if TYPE_CHECKING:
    import altair as alt

INK, SOFT, LINE = "#1c1f23", "#59616b", "#d5d9de"
BLUE, RED = "#0072b2", "#c44e00"
LINK = "#1f5fa8"
"""After Okabe and Ito, told apart by the colour-blind. What they tell is told by place, shape or
letters too."""
HATCHED, CROSSED, DOTTED, FILLED = "#8c8c8c", "#8d8d8d", "#8e8e8e", "#5a5a5a"
"""Greys in a notebook; on a page the first three are patterns."""

TEXT_SIZE = 14
"""Pixels, with room to spare: a page may have wider letters than vl-convert has, so `svg` writes
them smaller than they were measured."""
LONGEST_NAME = 30
_CUT = "…"
CONFIG: Mapping[str, Any] = {
    "font": "sans-serif",
    "background": "transparent",
    "padding": 4,
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": SOFT,
        "domainColor": SOFT,
        "tickColor": SOFT,
        "gridColor": LINE,
        "labelFontSize": TEXT_SIZE,
        "titleFontSize": TEXT_SIZE,
        "titleFontWeight": "normal",
        "labelLimit": 0,
        "titleLimit": 0,
    },
    "header": {
        "labelColor": INK,
        "labelFontSize": TEXT_SIZE,
        "labelLimit": 0,
        "labelAnchor": "start",
        "title": None,
    },
    "text": {"color": INK, "fontSize": TEXT_SIZE},
    "title": {"color": INK, "fontSize": TEXT_SIZE, "fontWeight": "normal", "anchor": "start"},
}
"""The look of the report: `chart.configure(**CONFIG)` gives it to a chart in a notebook."""


def chart(rows: Rows) -> "alt.Chart":
    """Return a chart of these rows, with no mark yet."""
    import altair as alt

    return alt.Chart(data(rows))


def data(rows: Rows) -> Any:
    """Return these rows as the data of a chart; `link` is where a row's mark leads, "" nowhere."""
    import altair as alt

    untyped: Any = alt.Data
    return untyped(values=[{"link": "", **row} for row in rows])


def short_names(names: Iterable[str], longest: int = LONGEST_NAME) -> dict[str, str]:
    """Return each distinct name, in order, as it fits an axis: cut in its middle, never equal.

    What does not print, line breaks among it, becomes a space.
    """
    shown: dict[str, str] = {}
    for name in dict.fromkeys(names):
        plain = _plain(name)
        short = plain if len(plain) <= longest else _cut(plain, longest)
        number = 1
        while short in shown.values():
            number += 1
            short = f"{_cut(plain, longest - 4)} ({number})"
        shown[name] = short
    return shown


def _plain(name: str) -> str:
    cleaned = "".join(
        " " if unicodedata.category(character)[0] in "CZ" else character for character in name
    )
    return " ".join(cleaned.split()) or _CUT


def _cut(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    head = (longest - 1) * 2 // 3
    return name[:head] + _CUT + name[len(name) - (longest - 1 - head) :]
