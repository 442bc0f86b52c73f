"""A sweep's findings in short, as Markdown and one table: for pages that show no more than that."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from judge_gym.report.findings import findings_table
from judge_gym.report.largest import largest_effects
from judge_gym.report.sentences import sentences
from judge_gym.report.table import Table
from judge_gym.report.tables import result_tables
from judge_gym.store.results import load_findings, load_results, run_info
from judge_gym.workflows.status import Status, sweep_status

MOST_ROWS = 60
"""Rows of a table; the report has all of them."""
_MEANS = {
    "SIMULATED": "judges of a simulator answered. The figures show judge-gym at work, and say "
    "nothing of any real model.",
    "IMPORTED": "judgements were made elsewhere and brought in; judge-gym asked for none of them.",
}
_READ_AS_MARKUP = re.compile(r"([\\`*_\[\]<>&~|#$!])")
_BEGINS_A_LIST = re.compile(r"^(\d*)([-+=.)])")


@dataclass(frozen=True)
class InShort:
    """`markdown` has the findings in words; `rows` are the table `about` tells of, by heading."""

    markdown: str
    about: str
    rows: list[dict[str, str]]


def in_short(session: Session, run_id: int, report: str) -> InShort:
    """Return an analysis run in short; `report` is Markdown that says where its report is.

    The table has the findings, or the first table of figures when nothing could be tested. Raises
    `StoreError` when there is no such run.
    """
    run = run_info(session, run_id)
    figures, found = load_results(session, run_id), load_findings(session, run_id)
    findings = findings_table(found, run.standing)
    headline = findings if findings.rows else next(iter(result_tables(figures)), findings)
    lines = [
        f"# Sweep {escaped(run.sweep)}",
        *(f"**{mark}**: {_MEANS[mark]}" for mark in headline.marks),
        report,
        *_listed("Findings", sentences(found), headline.marks),
        *_listed("Largest effects", largest_effects(figures), headline.marks),
        *_failures(sweep_status(session, run.sweep)),
    ]
    return InShort("\n\n".join(lines), told(headline), records(headline))


def escaped(text: str) -> str:
    """Return text of others as Markdown that shows it as it is, in one line and without markup."""
    line = _READ_AS_MARKUP.sub(r"\\\1", " ".join(text.split()))
    return _BEGINS_A_LIST.sub(r"\1\\\2", line)


def _listed(title: str, said: Sequence[str], marks: Sequence[str]) -> Iterator[str]:
    if said:
        mark = "".join(f"**{one}** " for one in marks)
        yield f"## {title}"
        yield "\n".join(f"- {mark}{escaped(sentence)}" for sentence in said)


def _failures(status: Status) -> Iterator[str]:
    """Yield what failed by workflow and class, and how it is asked again."""
    lost = [
        *((one.workflow, one.failure, one.count, "kept as failed") for one in status.failures),
        *((one.workflow, one.failure, one.calls, "refused") for one in status.refusals),
    ]
    yield "## What failed"
    if not lost:
        yield f"Nothing, in {status.spent.calls:,} calls."
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
    marks = "".join(f"**{one}** " for one in table.marks)
    cut = f" The first {MOST_ROWS} of {len(table.rows)} rows." if _is_cut(table) else ""
    return f"{marks}{table.title}. {table.explanation}{cut}"


def _is_cut(table: Table) -> bool:
    return len(table.rows) > MOST_ROWS


def records(table: Table) -> list[dict[str, str]]:
    """Return the first rows of a table by heading, with what they rest on beside a real call."""
    source = {"source": " and ".join(table.marks)} if table.marks else {}
    headed = any(row.heading for row in table.rows)
    return [
        {
            # A finding's heading is its hypothesis, two spaces and what that says.
            **({"group": row.heading.partition("  ")[0]} if headed else {}),
            **dict(zip(table.columns, row.cells, strict=True)),
            **source,
        }
        for row in table.rows[:MOST_ROWS]
    ]
