"""A table as people see it: one value for the terminal, for Markdown and for HTML."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True)
class Row:
    """One line; rows of the same `heading` stand together under it, "" is no heading."""

    cells: tuple[str, ...]
    heading: str = ""


@dataclass(frozen=True)
class Table:
    """One table: for the terminal and for the page alike.

    The first `words` columns hold words, the others numbers. `methods` say how the figures came
    about. `simulated` and `imported` say whether any row rests on a simulated call, or on a
    judgement made elsewhere: show `marks` with the table. One that is not `brief` is for the page
    alone.
    """

    title: str
    explanation: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    words: int = 1
    simulated: bool = False
    imported: bool = False
    brief: bool = True

    @property
    def marks(self) -> tuple[str, ...]:
        """The words that stand with the table wherever it is shown."""
        return marks_of(self.simulated, self.imported)

    def sections(self) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
        """Yield each heading with the cells of its rows, in order."""
        for heading, rows in groupby(self.rows, key=lambda row: row.heading):
            yield heading, [row.cells for row in rows]


def marks_of(simulated: bool, imported: bool) -> tuple[str, ...]:
    """Return the words for what figures rest on besides real calls, to be shown with them."""
    marks = {"SIMULATED": simulated, "IMPORTED": imported}
    return tuple(word for word, holds in marks.items() if holds)
