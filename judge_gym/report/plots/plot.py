"""A plot as data: what it says, the rows it is drawn from, and the same numbers as a table.

Importing this needs no drawing library: rows can be read and tested without one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from judge_gym.report.table import Table, marks_of

Rows = Sequence[Mapping[str, Any]]
"""Tidy rows; the function that draws them says which fields. Of a frame:
`frame.to_dict("records")`."""
Kind = Literal[
    "heat_map", "effects_map", "reliability", "response", "swaps", "distributions", "subsets",
    "forest", "headlines", "narrow_headlines", "histogram", "severity_curve",
    "specification_curve", "strips", "control_chart", "claims",
]  # fmt: skip
"""The kinds of charts; `charts.CHARTS` has the function that draws each."""

ALL_ITEMS = "all items"
"""The item of rows that are about all of them."""


@dataclass(frozen=True)
class PlotPanel:
    """One drawing of a plot.

    `heading` tells it from the others and may be empty; `says` is a figure to read beside it.
    """

    heading: str
    rows: Rows
    says: str = ""


@dataclass(frozen=True)
class Plot:
    """What is drawn beside a table, or why it is not.

    `beside` is the title of the table it stands with. `numbers` are those drawn, None where the
    table beside it has them. Without panels, `missing` says why there is nothing to draw.
    """

    kind: Kind
    title: str
    how_to_read: str
    beside: str
    panels: tuple[PlotPanel, ...] = ()
    notes: tuple[str, ...] = ()
    numbers: Table | None = None
    simulated: bool = False
    imported: bool = False
    missing: str = ""
    link: str = ""
    """Where on the page the evidence behind it is."""

    def __post_init__(self) -> None:
        """Refuse an empty plot without a reason."""
        if not self.panels and not self.missing:
            raise ValueError(f"{self.kind}: nothing to draw, and no reason")

    @property
    def marks(self) -> tuple[str, ...]:
        """The words that stand with the plot wherever it is shown."""
        return marks_of(self.simulated, self.imported)


def without_links(plot: Plot) -> Plot:
    """Return the plot for a page that does not show the judgements behind it."""
    panels = (
        replace(panel, rows=[{**row, "link": ""} for row in panel.rows]) for panel in plot.panels
    )
    return replace(plot, panels=tuple(panels))
