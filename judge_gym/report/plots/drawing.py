"""Draws plots for the page; what an older page holds of the same rows is taken from there.

Importing altair takes longer than all else about a page of a finished sweep, so a page that is
written again does without, unless something in its plots is new.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from judge_gym.report.plots.plot import Panel, Plot
from judge_gym.seeds import sha256

_DRAWN = re.compile(r'<svg [^>]*data-of="([0-9a-f]{64})".*?</svg>', re.DOTALL)


@dataclass(frozen=True)
class Drawing:
    """A panel as the page shows it; `svg` is an element."""

    heading: str
    says: str
    svg: str


def drawings(plot: Plot, older: Mapping[str, str]) -> Sequence[Drawing]:
    """Return the panels of a plot, drawn; `older` is what `drawn_before` found."""
    return [
        Drawing(panel.heading, panel.says, _drawn(plot, panel, place, older))
        for place, panel in enumerate(plot.panels, start=1)
    ]


def drawn_before(page: str) -> dict[str, str]:
    """Return the drawings of a page that was written before, by what they are of."""
    return {found[1]: found[0] for found in _DRAWN.finditer(page)}


def _drawn(plot: Plot, panel: Panel, place: int, older: Mapping[str, str]) -> str:
    name = f"{plot.kind.replace('_', '-')}-{place}"
    mark = "".join(f"{word}. " for word in plot.marks)
    label = ". ".join(filter(None, (mark + plot.title, panel.heading, plot.how_to_read)))
    of = sha256(_code(), name, label, [dict(row) for row in panel.rows])
    if of in older:
        return older[of]
    from altair.utils.schemapi import debug_mode

    from judge_gym.report.plots.svg import inline_svg

    draw: Callable[..., Any] = import_module(f"judge_gym.report.plots.{plot.kind}").draw
    with debug_mode(False):  # which checks each part of a chart as it is made, and takes as long
        chart = draw(panel.rows)
    svg = inline_svg(chart, name, label)
    return svg.replace("<svg ", f'<svg data-of="{of}" ', 1)


@cache
def _code() -> str:
    """Return a digest of the code that draws: what other code drew is drawn again."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(*(file.read_text(encoding="utf-8") for file in files))
