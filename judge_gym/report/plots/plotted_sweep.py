"""What the plots of a sweep are made from, and what their tables and notes share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judge_gym.analysis.data import SweepData
from judge_gym.analysis.groups import MIXED, Group
from judge_gym.report.plots.plot import Plot, PlotPanel
from judge_gym.report.scopes import behind, evidence_link
from judge_gym.report.table import Row, Table
from judge_gym.store.judgement_texts import ItemTitle
from judge_gym.store.results import ResultRow

MAX_PANELS = 6
"""Drawings of one plot."""
_MIXES = "mixes rubric and judgement"


@dataclass(frozen=True, eq=False)
class PlottedSweep:
    """A sweep's data, its groups with a heading each, and its figures.

    Groups of a common rubric come first, those over all levels of facets before the levels.

    `titles` are those of the items, by their number in the data.
    """

    data: SweepData
    groups: Sequence[Group]
    headings: Sequence[str]
    titles: Sequence[ItemTitle]
    figures: Sequence[ResultRow]

    def named_groups(self) -> Iterator[tuple[Group, str]]:
        """Yield each group with its heading, which says where rubrics are mixed."""
        for group, heading in zip(self.groups, self.headings, strict=True):
            yield group, f"{heading or 'own rubrics'} ({_MIXES})" if group.mixed else heading

    def rows_of_metric(self, metric: str) -> list[ResultRow]:
        """Return the figures of a metric, those that mix rubrics among them."""
        return [row for row in self.figures if row.metric in (metric, metric + MIXED)]


def place_of(title: ItemTitle) -> str:
    """Return the id of the item's first document on the page."""
    return f"document-{title.document_id}"


def link_to_judge(group: Group, judge: str) -> str:
    """Return the address of the judgements by a judge of a group."""
    return evidence_link(behind([{**group.scope, "judge": judge}]))


def drawn(
    plot: Plot,
    panels: tuple[PlotPanel, ...],
    simulated: bool,
    notes: Sequence[str],
    numbers: Table | None = None,
) -> Plot:
    """Return the plot with its panels, notes and numbers."""
    return replace(
        plot,
        panels=panels,
        notes=tuple(notes),
        numbers=replace(numbers, simulated=simulated) if numbers else None,
        simulated=simulated,
        missing="",
    )


def numbers_of(
    plot: Plot,
    explanation: str,
    columns: tuple[str, ...],
    panels: Sequence[PlotPanel],
    cells: Callable[[Mapping[str, Any]], tuple[str, ...]],
    words: int = 2,
) -> Table:
    """Return the rows of the panels as a table, a heading per panel."""
    rows = [Row(cells(row), heading=panel.heading) for panel in panels for row in panel.rows]
    return Table(f"{plot.title}: the numbers", explanation, columns, tuple(rows), words=words)


def rows_of_group(rows: Iterable[ResultRow], group: Group, *more: str) -> list[ResultRow]:
    """Return the rows about this group, whatever they say of the parts `more` of their scope."""
    return [
        row
        for row in rows
        if {name: value for name, value in row.scope.items() if name not in more} == group.scope
    ]


def estimated(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """Return the rows with an estimate."""
    return [row for row in rows if row.estimate is not None]


def why_not(rows: Iterable[ResultRow], else_because: str) -> str:
    """Return why these rows have no figure, each reason once; `else_because` when there is none."""
    reasons = (row.because for row in rows if row.estimate is None)
    return "; ".join(dict.fromkeys(filter(None, reasons))) or else_because


def more_groups(groups: Sequence[tuple[Group, str]]) -> Iterator[str]:
    """Yield which groups are not drawn, when not all are."""
    yield from more_panels([heading for _, heading in groups])


def more_panels(headings: Sequence[str]) -> Iterator[str]:
    """Yield which headings have no panel, when not all have one."""
    if len(headings) > MAX_PANELS:
        others = "; ".join(headings[MAX_PANELS:])
        yield f"Shown: the first {MAX_PANELS} of {len(headings)} groups of judges. Not: {others}."


def more_judges(groups: Sequence[tuple[Group, str]], at_most: int) -> Iterator[str]:
    """Yield where not every judge of a group is drawn."""
    for group, heading in groups[:MAX_PANELS]:
        if len(group.present) > at_most:
            yield f"Shown: the first {at_most} of {len(group.present)} judges{in_group(heading)}."


def in_group(heading: str) -> str:
    """Return the end of a note on one group."""
    return f" ({heading})" if heading else ""
