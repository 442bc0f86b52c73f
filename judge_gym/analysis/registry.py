"""The figures of the analysis: what each is, which table shows it, and what computes it.

A module of `judge_gym.analysis.figures` is a family of figures. It holds its tables (`TABLES`), and
the functions that yield their rows: of one comparison group (`OF_GROUP`), over the groups of a
sweep (`OF_SWEEP`), over these at each level of a facet (`OF_LEVELS`), or from the rows of the
others (`OF_ROWS`). The folder is scanned, so a new figure is one file. Reports, the reference,
units and what a missing figure needs come from here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Literal

Kind = Literal["OF_GROUP", "OF_SWEEP", "OF_LEVELS", "OF_ROWS"]
Part = Literal["figure", "small", "floor", "p", "adjusted", "items", "n"]
EXPERIMENT = "an experiment"


@dataclass(frozen=True)
class ReportQuestion:
    """What figures answer: its key, its words, and the claims that are tested on it."""

    key: str
    title: str
    claims: tuple[str, ...] = ()


QUESTIONS = (
    ReportQuestion("stand-apart", "Do judges stand apart?", ("H1", "V2", "V5")),
    ReportQuestion("scale", "How do judges use their scale?"),
    ReportQuestion("rubrics", "Whose rubric is it?", ("H3",)),
    ReportQuestion("confidence", "Do judges know how far others agree?", ("H2",)),
    ReportQuestion(
        "forced-choice",
        "Does forced choice drive them apart?",
        ("H4.polarization", "H4.distance"),
    ),
    ReportQuestion(
        "right",
        "Are judges right?",
        ("V1.polarization", "V1.reference", "V3.chance", "V3.published"),
    ),
    ReportQuestion("design", "Which design choice matters?"),
    ReportQuestion("went-wrong", "What went wrong?", ("V4.variance", "V4.icc")),
)
"""The questions, in the order of a report."""


@dataclass(frozen=True)
class Figure:
    """One figure: its name in rows and views, its unit, and what a sweep must hold for a row.

    `unit` is that of estimate, interval and floor; one that depends says so with "or".
    """

    name: str
    unit: str
    requires: str = EXPERIMENT


@dataclass(frozen=True)
class Column:
    """A column of a table: a part of one figure; `small` is a figure in significant digits."""

    heading: str
    figure: str
    part: Part = "figure"
    digits: int = 2


LAST = 1000
"""The place of tables whose place does not matter: by title, after the others."""


@dataclass(frozen=True)
class FigureTable:
    """Figures that are read together, with all that is said of them.

    `question` is the key of one of `QUESTIONS`, and `rank` the place among its tables: 0 is the
    main one, and tens leave room. `formulas` are in plain text, in the notation that the page
    explains. `needs` and `sources` are sentences: what the figures need, and where their formulas
    come from. `across` compares judges: figures under own rubrics get a table of their own.
    Those `of_all_samples` compare distributions of judges: over several wordings or rubric draws,
    they are of the samples of all of them together, and not the mean of their figures.
    `joined_on` names a part of the scope that figures may lack and still stand in a line: a sham
    has no rival. Agents, which have little room, get the tables that are `in_terminal`, those
    `only_if_nonzero` when a figure is above 0.
    """

    title: str
    explanation: str
    question: str
    figures: tuple[Figure, ...]
    columns: tuple[Column, ...]
    formulas: tuple[str, ...]
    rank: int = LAST
    needs: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    across: bool = False
    of_all_samples: bool = False
    joined_on: str = ""
    in_terminal: bool = True
    only_if_nonzero: bool = False

    def __post_init__(self) -> None:
        if self.question not in (keys := [question.key for question in QUESTIONS]):
            raise ValueError(
                f"The table {self.title!r} has the question {self.question!r}. Use one of "
                f"{', '.join(keys)}."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the figures."""
        return tuple(figure.name for figure in self.figures)


@cache
def modules() -> tuple[ModuleType, ...]:
    """Return the modules of the figures, by name."""
    folder = import_module("judge_gym.analysis.figures")
    return tuple(
        import_module(f"{folder.__name__}.{found.name}") for found in iter_modules(folder.__path__)
    )


@cache
def tables() -> tuple[FigureTable, ...]:
    """Return every table, by question and rank."""
    questions = [question.key for question in QUESTIONS]
    found = [table for module in modules() for table in getattr(module, "TABLES", ())]
    return tuple(
        sorted(found, key=lambda table: (questions.index(table.question), table.rank, table.title))
    )


@cache
def figures() -> Mapping[str, Figure]:
    """Return every figure by its name, in the order of the tables."""
    return {figure.name: figure for table in tables() for figure in table.figures}


def functions(kind: Kind) -> Iterator[Callable[..., Any]]:
    """Yield the functions of every module that compute rows of this kind."""
    for module in modules():
        yield from getattr(module, kind, ())


# Needs and sources that tables of several families share.
DESIGN_EFFECT = (
    "The share Σx/Σn keeps its value and the number of trials N becomes N / deff, where the "
    "design effect deff is the variance of the ratio estimator over items, G/(G-1) · Σ(x - "
    "p·n)² / N², divided by p(1-p)/N (Kish 1965), never below 1, so that intervals are too wide "
    "where a judge errs in opposite ways in both orders (decision 26); the effective size is "
    "scaled by (z / t(G-1))² for the few items the variance rests on (Korn and Graubard 1998)."
)
LIN = "Source: Lin 1991, IEEE Transactions IT 37."
NEEDS_REPLICATES = (
    "Needs two judges (families), one common item, and a median of 5 scored replicates per cell"
    " (10 to read P without its floor)."
)
NEEDS_SHARED_ITEM = "Needs one shared item, two that differ for the interval."
NEEDS_UNITS = "Needs 4 units, and values that vary."
