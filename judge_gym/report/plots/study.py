"""What the plots of an analysis run are made of: its data in groups, and its stored figures."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from judge_gym.analysis.data import SweepData
from judge_gym.analysis.groups import MIXED, Group
from judge_gym.store.results import ResultRow

MAX_PANELS = 6
"""Drawings of one plot."""
_MIXES = "mixes rubric and judgement"
_NOT_ESTIMABLE = "not estimable, because "


@dataclass(frozen=True, eq=False)
class Study:
    """A sweep's data, its groups (a common rubric first) with a heading each, and its figures.

    `titles` are those of the items, by their number in the data.
    """

    data: SweepData
    groups: Sequence[Group]
    headings: Sequence[str]
    titles: Sequence[str]
    figures: Sequence[ResultRow]

    def named_groups(self) -> Iterator[tuple[Group, str]]:
        """Yield each group with its heading, which says where rubrics are mixed."""
        for group, heading in zip(self.groups, self.headings, strict=True):
            yield group, f"{heading or 'own rubrics'} ({_MIXES})" if group.mixed else heading

    def of_metric(self, metric: str) -> list[ResultRow]:
        """Return the figures of a metric, those that mix rubrics among them."""
        return [row for row in self.figures if row.metric.removesuffix(MIXED) == metric]


def of_group(rows: Iterable[ResultRow], group: Group, *more: str) -> list[ResultRow]:
    """Return the rows about this group, whatever they say of the parts `more` of their scope."""
    return [
        row
        for row in rows
        if {name: one for name, one in row.scope.items() if name not in more} == group.scope
    ]


def estimated(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """Return the rows that have a figure."""
    return [row for row in rows if row.estimate is not None]


def why_not(rows: Iterable[ResultRow], else_because: str) -> str:
    """Return why these rows have no figure, each reason once; `else_because` when there is none."""
    reasons = (row.reason.removeprefix(_NOT_ESTIMABLE) for row in rows if row.estimate is None)
    return "; ".join(dict.fromkeys(filter(None, reasons))) or else_because


def more_groups(found: Sequence[tuple[Group, str]]) -> Iterator[str]:
    """Say which groups are not drawn, when not all are."""
    if len(found) > MAX_PANELS:
        others = "; ".join(heading for _, heading in found[MAX_PANELS:])
        yield f"Shown: the first {MAX_PANELS} of {len(found)} groups of judges. Not: {others}."


def more_judges(found: Sequence[tuple[Group, str]], at_most: int) -> Iterator[str]:
    """Say where not every judge of a group is drawn."""
    for group, heading in found[:MAX_PANELS]:
        if len(group.present) > at_most:
            yield f"Shown: the first {at_most} of {len(group.present)} judges{place(heading)}."


def place(heading: str) -> str:
    """Return a group's heading as the end of a sentence."""
    return f" ({heading})" if heading else ""
