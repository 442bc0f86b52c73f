"""What a table of figures is, as data: its words, columns and formulas. `tables` fills it."""

from dataclasses import dataclass
from typing import Literal

Part = Literal["figure", "small", "floor", "p", "adjusted", "items", "n"]


@dataclass(frozen=True)
class Cell:
    """A column: one part of one metric's figure; `small` is a figure in significant digits."""

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
    has no rival. A table that is not `brief` is left out for agents, which have little room; a
    `troubles` one is brief when one of its figures is above 0.
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


# Needs and sources that several tables share.
NEEDS_SHARED_ITEM = "Needs one shared item, two that differ for the interval."
NEEDS_REPLICATES = (
    "Needs two judges (families), one common item, and a median of 5 scored replicates per cell"
    " (10 to read P without its floor)."
)
NEEDS_UNITS = "Needs 4 units, and values that vary."
NEEDS_CROSSED = (
    "Judges and rubrics that are not fully crossed, and terms that the design cannot tell apart"
    ' (one replicate per cell), are "not estimable"; see complete_block.'
)
HENDERSON = "Source: Henderson 1953, Biometrics 9; Searle, Casella and McCulloch 1992, section 5.3."
LIN = "Source: Lin 1991, IEEE Transactions IT 37."
NEEDS_JUDGES = "Needs two judges and n >= 1."
NEEDS_THIRTY_ITEMS = (
    "Needs two judges and n >= 2; 30 items advised (0.044 is found 12% of the time at 15 items,"
    " 33% at 30, 69% at 60)."
)
SHAFER = (
    "The chance that a verdict of one judge and one of the other are incompatible (Shafer 1976)."
)
NEEDS_FEW_MASSES = (
    "Needs two judges and n >= 1; Dubois-Prade and PCR6 list every product of the judges' "
    "masses, and are not estimable with too many."
)
DESIGN_EFFECT = (
    "The share Σx/Σn keeps its value and the number of trials N becomes N / deff, where the "
    "design effect deff is the variance of the ratio estimator over items, G/(G-1) · Σ(x - "
    "p·n)² / N², divided by p(1-p)/N (Kish 1965), never below 1; the effective size is scaled "
    "by (z / t(G-1))² for the few items the variance rests on (Korn and Graubard 1998)."
)
JOUSSELME_GRETTON = (
    "Sources: Jousselme, Grenier and Bossé 2001, Information Fusion 2; the unbiased form is "
    "that of Gretton et al. 2012, Journal of Machine Learning Research 13."
)
