"""The questions of a report: each with its claims, its tables and its pictures."""

from collections.abc import Sequence
from dataclasses import dataclass

from judge_gym.report.headlines import Answer, Headline, answers
from judge_gym.report.plots.plot import Plot
from judge_gym.report.table import Table
from judge_gym.report.tables import MIXED_TITLE


@dataclass(frozen=True)
class Question:
    """A question, the claims that answer it, and the titles of its tables, the main one first."""

    anchor: str
    title: str
    claims: tuple[str, ...]
    tables: tuple[str, ...]


QUESTIONS = (
    Question(
        "question-stand-apart",
        "Do judges stand apart?",
        ("H1", "V2", "V5"),
        (
            *("Polarization", "Polarization by pair", "Polarization by distance"),
            *("Entrenchment", "Agreement beyond chance", "Effective votes"),
            *("Conflict and distance", "Conflict and distance by pair"),
            *("Combined by the classical rules", "Uncertainty after combining"),
            "Check of the belief functions",
        ),
    ),
    Question(
        "question-rubrics",
        "Whose rubric is it?",
        ("H3",),
        (
            *("Swap sensitivity", "Verdict move under a swap", "Verdict change under a swap"),
            "Judges or rubrics",
        ),
    ),
    Question(
        "question-confidence",
        "Do judges know how far others agree?",
        ("H2",),
        ("Confidence and overconfidence", "Token probability of verdicts"),
    ),
    Question(
        "question-forced-choice",
        "Does forced choice drive them apart?",
        ("H4.polarization", "H4.distance"),
        (
            *("Forced choice", "Subset width", "Accuracy of subsets"),
            *("Self-conflict and uncertainty", "Support of each stage"),
        ),
    ),
    Question(
        "question-right",
        "Are judges right?",
        ("V1.polarization", "V1.reference", "V3.chance", "V3.published"),
        (
            *("Accuracy", "Accuracy on pairs", "Pairs by the order shown"),
            *("Pairs over wordings", "As published", "Scores as written"),
            *("Judges beside people", "Distance to people", "Agreement of people"),
            *("Corrected by labels", "What to label next"),
        ),
    ),
    Question(
        "question-design",
        "Which design choice matters?",
        (),
        (
            *("Axes over the grid", "Contrasts", "Which level gives the higher verdicts"),
            *("Position and label bias", "Concepts compared", "Regression"),
            *("Specification curves", "Cells of the specification curves"),
            *("Items that function differently", "Texts that move one judge more"),
            *("Shares of variance of two axes", "Effects that change sign"),
            *("Where the variance is", "Where the next dollar goes", "Expected half-width"),
        ),
    ),
    Question(
        "question-went-wrong",
        "What went wrong?",
        ("V4.variance", "V4.icc"),
        (
            *("Abstention", "Unparseable, refused, failed", "Consistency"),
            *("Reasoning, as a critic marks it", "Scores whose reasoning passes"),
            "Polarization of verdicts whose reasoning passes",
            *("Other figures", "Not estimable"),
        ),
    ),
)


@dataclass(frozen=True)
class Section:
    """One question as a page shows it: its answers, a picture, a table, and the rest."""

    question: Question
    answers: Sequence[Answer]
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
        own = [table for title in question.tables for table in tables if _base(table) == title]
        drawn = sorted(
            (plot for plot in plots if plot.beside in question.tables),
            key=lambda plot: (bool(plot.missing), question.tables.index(plot.beside)),
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


def _base(table: Table) -> str:
    return table.title.removesuffix(f": {MIXED_TITLE}")
