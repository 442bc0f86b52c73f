"""What a table of figures is, as data: its words, columns and formulas. `tables` fills it."""

from dataclasses import dataclass
from typing import Literal

Part = Literal["figure", "floor", "p", "adjusted", "items", "n"]


@dataclass(frozen=True)
class Cell:
    """A column: one part of one metric's figure."""

    heading: str
    metric: str
    part: Part = "figure"
    digits: int = 2


@dataclass(frozen=True)
class Spec:
    """A table. `across` compares judges: figures under own rubrics get a table of their own.

    `formulas` are in plain text, in the notation that the page explains. `needs` and `sources` are
    sentences: what the figures need, and where their formulas come from.
    `beside` names a part of the scope that figures may lack and still stand in a line: a sham
    has no rival. A table that is not `brief` stands on the page alone, not in the terminal; a
    `troubles` one stands in the terminal only when one of its figures is above 0.
    """

    title: str
    explanation: str
    cells: tuple[Cell, ...]
    formulas: tuple[str, ...]
    needs: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    across: bool = False
    beside: str = ""
    brief: bool = True
    troubles: bool = False

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of the table, each once."""
        return tuple(dict.fromkeys(cell.metric for cell in self.cells))
