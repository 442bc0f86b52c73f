"""The questions of a report: each with its claims, its tables and its pictures."""

from collections.abc import Sequence
from dataclasses import dataclass

from judge_gym.analysis import registry
from judge_gym.analysis.registry import QUESTIONS, ReportQuestion
from judge_gym.report.headlines import Headline, QuestionSummary, answers
from judge_gym.report.plots.plot import Plot
from judge_gym.report.table import Table
from judge_gym.report.tables import MIXED_TITLE

UNTABLED = {"went-wrong": ("Other figures", "Not estimable")}
"""Key of a question → titles of tables that hold what no table of figures does."""


@dataclass(frozen=True)
class Section:
    """One question as a page shows it: its answers, a picture, a table, and the rest."""

    question: ReportQuestion
    answers: Sequence[QuestionSummary]
    plot: Plot | None
    table: Table | None
    more_plots: Sequence[Plot]
    more_tables: Sequence[Table]


def sections(
    rows: Sequence[Headline], tables: Sequence[Table], plots: Sequence[Plot]
) -> list[Section]:
    """Return a section per question that has an answer, a figure, a picture or a reason for none.

    The picture is the first that could be drawn; what could not be says why among the rest.
    """
    found = []
    for question in QUESTIONS:
        titles = titles_of(question)
        own = [table for title in titles for table in tables if _base(table) == title]
        drawn = sorted(
            (plot for plot in plots if plot.beside in titles),
            key=lambda plot: (bool(plot.missing), titles.index(plot.beside)),
        )
        said = [row for row in rows if row.claim_key in question.claims]
        if own or said or drawn:
            lead = bool(drawn) and not drawn[0].missing
            found.append(
                Section(
                    question,
                    answers(said),
                    drawn[0] if lead else None,
                    own[0] if own else None,
                    drawn[lead:],
                    own[1:],
                )
            )
    return found


def titles_of(question: ReportQuestion) -> list[str]:
    """Return the titles of the tables of a question, the main one first."""
    own = (table.title for table in registry.tables() if table.question == question.key)
    return [*own, *UNTABLED.get(question.key, ())]


def _base(table: Table) -> str:
    return table.title.removesuffix(f": {MIXED_TITLE}")
