"""A table as people see it: one value for the terminal, for Markdown and for HTML."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

from judge_gym.counting import counted
from judge_gym.formats import ABSENT, visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.padding import Padding


GAP = 2
"""Columns of a terminal between two columns of a table."""
NARROWEST = 8
LONGEST_NAME = 24
"""Longest word that is not broken while there is room."""


@dataclass(frozen=True)
class Row:
    """One line; rows of the same `heading` stand together under it, "" is no heading.

    Without `cells` there is the heading alone. `group` is the heading in a word, where a table has
    no room for headings; the heading itself when it is empty. `link` is where the first cell leads
    on a page. `about` names the judgements behind it: judge, pair of families, concept.
    """

    cells: tuple[str, ...]
    heading: str = ""
    group: str = ""
    link: str = ""
    about: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Table:
    """One table: for the terminal and for the page alike.

    The first `words` columns hold words, the others numbers. `methods` say how the figures came
    about. `simulated` and `imported` say whether any row rests on a simulated call, or on a
    judgement made elsewhere: show `marks` with the table. One that is not `brief` is left out for
    agents, which have little room.
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
    outcome: int | None = None
    """The column that holds outcomes, which a page colours."""

    @property
    def marks(self) -> tuple[str, ...]:
        """The words that stand with the table wherever it is shown."""
        return marks_of(self.simulated, self.imported)

    def sections(self) -> Iterator[tuple[str, list[Row]]]:
        """Yield each heading with its rows, in order."""
        for heading, rows in groupby(self.rows, key=lambda row: row.heading):
            yield heading, list(rows)


def marks_of(simulated: bool, imported: bool) -> tuple[str, ...]:
    """Return the words for what figures rest on besides real calls, to be shown with them."""
    marks = {"SIMULATED": simulated, "IMPORTED": imported}
    return tuple(word for word, holds in marks.items() if holds)


def plain_table(
    title: str, columns: Iterable[str], rows: Iterable[Iterable[object]], words: int | None = None
) -> Table:
    """Return a table of these cells, whose first `words` columns hold words; all when None."""
    headings = tuple(columns)
    lines = tuple(Row(tuple(map(str, cells))) for cells in rows)
    return Table(title, "", headings, lines, words=len(headings) if words is None else words)


def markdown_table(table: Table) -> str:
    """Return the columns and rows of a table in Markdown; nothing in it is read as markup."""
    rules = ["---" if place < table.words else "---:" for place in range(len(table.columns))]
    rows = [[sentence_inside(cell) for cell in row.cells] for row in table.rows]
    lines = [[escaped_inside(heading) for heading in table.columns], rules, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True)
class TerminalTable:
    """A table as a rich console prints it; nothing in it is read as markup."""

    table: Table
    marks: Sequence[str] = ()
    unbroken: Collection[str] = ()
    """Headings of columns that are never wrapped, so that their cells can be copied."""

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """Yield title, explanation, rows below their headings, and notes."""
        from rich.text import Text

        table = self.table
        mark = f" ({', '.join(self.marks)})" if self.marks else ""
        if table.title:
            yield Text(f"{table.title}{mark}", style="bold")
        if table.explanation:
            yield Text(table.explanation, style="dim")
        for number, part in enumerate(self._side_by_side(options.max_width)):
            if number:
                yield Text("")
            yield from replace(self, table=part)._rows(options.max_width)
        for note in table.notes:
            yield Text(f"  {note}", style="dim")
        yield Text("")

    def _rows(self, most: int) -> "RenderResult":
        """Yield the headings of the columns, and all rows below their headings."""
        from rich.text import Text

        indent = self._indent
        widths = self._widths(most - indent)
        yield self._grid(widths, [self.table.columns], indent, style="underline")
        for heading, rows in self.table.sections():
            if heading:
                yield Text(heading, style="italic")
            if cells := [row.cells for row in rows if row.cells]:
                yield self._grid(widths, cells, indent)

    @property
    def _indent(self) -> int:
        return GAP if any(row.heading for row in self.table.rows) else 0

    def _side_by_side(self, most: int) -> Iterator[Table]:
        """Yield the table, or parts of it that each begin with the columns of words.

        Numbers that do not fit unbroken beside names come below, so that names keep their room.
        """
        words = list(range(self.table.words))
        start = sum(min(self._longest_word(place), LONGEST_NAME) + GAP for place in words)
        chosen, taken = words, start
        for place in range(len(words), len(self.table.columns)):
            width = self._longest_word(place) + GAP
            if taken + width > most - self._indent + GAP and chosen != words:
                yield with_columns(self.table, chosen)
                chosen, taken = words, start
            chosen, taken = [*chosen, place], taken + width
        yield with_columns(self.table, chosen)

    def _widths(self, room: int) -> list[int]:
        """Return the width of each column.

        Where room is missing, columns of words wrap between words first, then headings of numbers
        do, and only then names break.
        """
        from rich.cells import cell_len

        table = self.table
        widths = [
            max(
                [
                    cell_len(heading),
                    *(cell_len(row.cells[place]) for row in table.rows if row.cells),
                ]
            )
            for place, heading in enumerate(table.columns)
        ]
        words = [place for place in range(table.words) if table.columns[place] not in self.unbroken]
        longest = [self._longest_word(place) for place in range(len(widths))]
        for places, floors in (
            (words, [min(word, LONGEST_NAME) for word in longest]),
            (range(table.words, len(widths)), longest),
            (words, [NARROWEST] * len(widths)),
        ):
            while sum(widths) + GAP * (len(widths) - 1) > room and (
                wide := [place for place in places if widths[place] > floors[place]]
            ):
                widths[max(wide, key=lambda place: widths[place])] -= 1
        return widths

    def _longest_word(self, place: int) -> int:
        """Return the width of a column's longest word; the value of a number is one word."""
        from rich.cells import cell_len

        cells = [row.cells[place] for row in self.table.rows if row.cells]
        parts = self.table.columns[place].split()
        parts += cells if place >= self.table.words else " ".join(cells).split()
        return max(map(cell_len, parts), default=0)

    def _grid(
        self, widths: Sequence[int], rows: Iterable[Sequence[str]], indent: int, style: str = ""
    ) -> "Padding":
        """Return rows as columns of these widths, so that the parts of a table stand aligned."""
        from rich.padding import Padding
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid(box=None, pad_edge=False, show_header=False, padding=(0, GAP, 0, 0))
        for place, width in enumerate(widths):
            side: Literal["left", "right"] = "left" if place < self.table.words else "right"
            grid.add_column(justify=side, width=width, overflow="fold")
        for cells in rows:
            grid.add_row(
                *(Text(self._hung(cell, place, widths[place]), style=style)
                  for place, cell in enumerate(cells))
            )  # fmt: skip
        return Padding(grid, (0, 0, 0, indent), expand=False)

    def _hung(self, cell: str, place: int, width: int) -> str:
        """Return a label with its further lines indented: none of them reads as another row."""
        from rich.cells import cell_len

        fits = cell_len(cell) <= width or cell_len(cell) != len(cell)
        if fits or place >= self.table.words or self._longest_word(place) > width - GAP:
            return cell
        return "\n".join(wrap(cell, width, subsequent_indent=" " * GAP, break_on_hyphens=False))


def without_empty(table: Table) -> Table:
    """Return a table without columns and rows of missing numbers alone; a note counts the rows."""
    kept = tuple(
        row
        for row in table.rows
        if not row.cells or any(cell not in ("", ABSENT) for cell in row.cells[table.words :])
    )
    empty = len(table.rows) - len(kept)
    if table.words == len(table.columns):
        return table
    if empty:
        note = f"{counted(empty, 'row')} without a figure {'is' if empty == 1 else 'are'} left out."
        table = replace(table, rows=kept, notes=(*table.notes, note))
    filled = [
        place
        for place in range(len(table.columns))
        if place < table.words
        or any(row.cells[place] not in ("", ABSENT) for row in kept if row.cells)
    ]
    return with_columns(table, filled)


def with_columns(table: Table, chosen: Sequence[int]) -> Table:
    """Return a table with some of its columns, all of those of words among them."""
    if len(chosen) == len(table.columns):
        return table
    return replace(
        table,
        columns=tuple(table.columns[place] for place in chosen),
        rows=tuple(
            replace(row, cells=tuple(row.cells[place] for place in chosen)) if row.cells else row
            for row in table.rows
        ),
        outcome=chosen.index(table.outcome) if table.outcome in chosen else None,
    )


_READ_AS_MARKUP = re.compile(r"([\\`*_\[\]<>&~|#$!])")
_BEGINS_A_LIST = re.compile(r"^(\d*)([-+=.)])")


def escaped(text: str) -> str:
    """Return text of others as Markdown that shows it as it is, in one line and without markup."""
    return _BEGINS_A_LIST.sub(r"\1\\\2", escaped_inside(text))


_CODE = re.compile(r"(?<![`\\])`([^`|\n]+)`(?!`)")


def escaped_sentence(text: str) -> str:
    """Return a sentence of the program as Markdown: text in it as it is, and its code as code."""
    return _BEGINS_A_LIST.sub(r"\1\\\2", sentence_inside(text))


def sentence_inside(text: str) -> str:
    """Return the same for a place where no line begins, such as a cell of a table."""
    parts = _CODE.split(" ".join(visible(text).split()))
    return "".join(
        f"`{part}`" if place % 2 else _READ_AS_MARKUP.sub(r"\\\1", part)
        for place, part in enumerate(parts)
    )


def escaped_inside(text: str) -> str:
    """Return the same for a place where no line begins, such as a cell of a table."""
    return _READ_AS_MARKUP.sub(r"\\\1", " ".join(visible(text).split()))
