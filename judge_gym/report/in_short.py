"""A sweep's findings in short, as Markdown and one table: for pages that show no more than that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.lab.status import Status, sweep_status
from judge_gym.report.escaping import escaped
from judge_gym.report.findings import findings_table
from judge_gym.report.largest import largest_effects
from judge_gym.report.sentences import sentences
from judge_gym.report.table import Table, marks_of
from judge_gym.report.tables import result_tables
from judge_gym.store.results import load_findings, load_results, run_info

MOST_ROWS = 60
"""Rows of a table; the report has all of them."""
MEANS = {
    "SIMULATED": "judges of a simulator answered. The figures show judge-gym at work, and say "
    "nothing of any real model.",
    "IMPORTED": "judgements were made elsewhere and brought in; judge-gym asked for none of them.",
}


@dataclass(frozen=True)
class InShort:
    """`said` has the findings in words; `rows` are a table of them, by heading.

    All but `rows` is Markdown.
    """

    said: str
    about_said: str
    rows: list[dict[str, str]]
    about_rows: str


def in_short(session: Session, run_id: int, report: str) -> InShort:
    """Return an analysis run in short; `report` is Markdown that says where its report is.

    The table has the findings, or the first table of figures when nothing could be tested. Raises
    `StoreError` when there is no such run.
    """
    run = run_info(session, run_id)
    figures, found = load_results(session, run_id), load_findings(session, run_id)
    findings = findings_table(found, run.standing)
    headline = findings if findings.rows else next(iter(result_tables(figures)), findings)
    imported = any(row.imported for row in figures)
    lines = [
        f"# Sweep {escaped(run.sweep)}",
        *(f"**{mark}**: {MEANS[mark]}" for mark in marks_of(run.simulated, imported)),
        report,
        *_listed("Findings", sentences(found), headline),
        *_listed("Largest effects", largest_effects(figures), headline),
        *_failures(sweep_status(session, run.sweep)),
    ]
    about_said = f"{_marks(headline)}The findings in words, what failed, and where the report is."
    return InShort("\n\n".join(lines), about_said, records(headline), told(headline))


def _listed(title: str, said: Sequence[str], marked: Table) -> Iterator[str]:
    if said:
        yield f"## {title}"
        yield "\n".join(f"- {_marks(marked)}{escaped(sentence)}" for sentence in said)


def _marks(table: Table) -> str:
    return "".join(f"**{mark}** " for mark in table.marks)


def _failures(status: Status) -> Iterator[str]:
    """Yield what failed by workflow and class, and how it is asked again."""
    lost = [
        *((one.workflow, one.failure, one.count, "kept as failed") for one in status.failures),
        *((one.workflow, one.failure, one.calls, "refused") for one in status.refusals),
    ]
    yield "## What failed"
    if not lost:
        yield f"Nothing, in {counted(status.spent.calls, 'call')}."
        return
    yield "\n".join(
        f"- {escaped(workflow)}: {count:,} {how} ({escaped(failure)})"
        for workflow, failure, count, how in lost
    )
    yield (
        "Run the sweep again with `retry_failed` to ask again for what is kept as failed. What was "
        "refused is asked again by every run, once its cause is mended."
    )


def told(table: Table) -> str:
    """Return in Markdown what a table is, what it rests on, and whether it is cut."""
    cut = (
        f" The first {MOST_ROWS} of {len(table.rows)} rows." if len(table.rows) > MOST_ROWS else ""
    )
    return f"{_marks(table)}{table.title}. {table.explanation}{cut}"


def records(table: Table) -> list[dict[str, str]]:
    """Return the first rows of a table by heading, with what they rest on beside a real call."""
    source = {"source": " and ".join(table.marks)} if table.marks else {}
    headed = any(row.heading for row in table.rows)
    # Figures beside what they are about: a page shows few columns without scrolling.
    words = range(1, table.words)
    order = [0, *range(table.words, len(table.columns)), *words]
    return [
        {
            # A finding's heading is its hypothesis, two spaces and what that says.
            **({"group": row.heading.partition("  ")[0]} if headed else {}),
            **{table.columns[place]: row.cells[place] for place in order},
            **source,
        }
        for row in table.rows[:MOST_ROWS]
    ]
