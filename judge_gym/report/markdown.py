"""Pages in Markdown: a sweep in short, a panel's run, and a day's reviews of judges."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.calibration.checks import span
from judge_gym.calibration.comparisons import FIGURE_NAMES
from judge_gym.counting import counted
from judge_gym.formats import dollars, number, plain
from judge_gym.lab.status import Status, sweep_status
from judge_gym.metrics.estimate import estimate_from
from judge_gym.panel.state import SPARED, Agreement, PanelState, RaterState
from judge_gym.report.files import put_in_place
from judge_gym.report.findings import findings_table, largest_effects, sentences
from judge_gym.report.table import (
    Table,
    escaped,
    escaped_inside,
    markdown_table,
    marks_of,
    plain_table,
)
from judge_gym.report.tables import result_tables
from judge_gym.store.judges import ReviewRow
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
            **({"group": row.group or row.heading} if headed else {}),
            **{table.columns[place]: row.cells[place] for place in order},
            **source,
        }
        for row in table.rows[:MOST_ROWS]
    ]


def panel_markdown(state: PanelState) -> str:
    """Return what is known of a run; all words of raters and arbiter are escaped."""
    return "\n\n".join(_panel_parts(state))


def _panel_parts(state: PanelState) -> Iterator[str]:
    yield f"# Panel {escaped(state.panel)} on {escaped(state.document)}"
    if state.simulated:
        yield f"**SIMULATED**: {MEANS['SIMULATED']}"
    if state.was_truncated:
        yield f"The document was longer; raters saw its first {len(state.items)} items."
    yield from _consensus(state)
    if state.reviewed:
        yield "## Scores"
        yield _scores(state)
    for rater in state.raters:
        yield f"## {escaped(rater.name)}: {escaped(rater.label)}"
        yield "\n".join(_rater(rater))


def _consensus(state: PanelState) -> Iterator[str]:
    verdict = state.consensus.verdict
    if verdict is not None:
        yield f"## Consensus: {verdict.final_score}, from {state.lowest} to {state.highest}"
        if verdict.raw_score != verdict.final_score:
            yield (
                f"The arbiter said {verdict.raw_score}, which no rater's score allows; it is held "
                "to the nearest of theirs."
            )
        yield escaped(verdict.rationale)
    if state.error is not None:
        yield f"**No consensus**: {escaped(state.error)}."
    if state.agreement is not None:
        yield f"Agreement: {agreement_said(state.agreement)}."


def agreement_said(agreement: Agreement) -> str:
    """Return "strong (mean 4.3, median 4, spread 1)"."""
    return (
        f"{agreement.level} (mean {plain(agreement.mean)}, median {plain(agreement.median)}, "
        f"spread {agreement.spread})"
    )


def _scores(state: PanelState) -> str:
    reviews = [rater.review for rater in state.raters if rater.review]
    levels = {item.id: agreement_said(item) for item in state.item_agreement}
    rows = [
        (name, *(review.items[place].score for review in reviews), levels.get(name, ""))
        for place, name in enumerate(state.items)
    ]
    level = agreement_said(state.agreement) if state.agreement else ""
    rows.append(("the whole", *(review.overall_score for review in reviews), level))
    names = [rater.name for rater in state.reviewed]
    return markdown_table(plain_table("", ("item", *names, "agreement"), rows, words=1))


def _rater(rater: RaterState) -> Iterator[str]:
    took = "" if rater.latency_ms is None else f" after {number(rater.latency_ms / 1000, 1)} s"
    kept = ", kept from an earlier run" if rater.kept else ""
    status = SPARED if rater.status == "spared" else rater.status
    yield f"- {escaped(rater.model)}: {status}{took}{kept}"
    if rater.error is not None:
        yield f"- {escaped(rater.error)}"
    if rater.review is not None:
        yield f"- The whole, {rater.review.overall_score}: {escaped(rater.review.overall_comment)}"
        for item in rater.review.items:
            yield f"- {escaped(item.id)}, {item.score}: {escaped(item.comment)}"


_A_PERSON_DECIDES = (
    "A person decides. This page recommends and changes nothing: no judge file, and no judge."
)


def save_judge_review(day: date, rows: Sequence[ReviewRow], folder: Path) -> Path:
    """Write `judge_review_YYYY-MM-DD.md`; returns its path.

    Another day's page is another file. Raises `ReportError` when the folder cannot be written to.
    """
    page = folder / f"judge_review_{day.isoformat()}.md"
    put_in_place({page: judge_review(day, rows)})
    return page


def judge_review(day: date, rows: Sequence[ReviewRow]) -> str:
    """Return the page; equal rows give equal text."""
    return "\n\n".join(_review_parts(day, rows)) + "\n"


def _review_parts(day: date, rows: Sequence[ReviewRow]) -> Iterator[str]:
    yield f"# Judge review of {day.isoformat()}"
    if any(row.simulated for row in rows):
        yield f"**SIMULATED**: {MEANS['SIMULATED']}"
    yield _A_PERSON_DECIDES
    columns = ("review", "judge in use", "alternative", "recommendation", "why")
    yield markdown_table(plain_table("", columns, [
        (row.review, row.figures["judge"], row.figures["alternative"] or "its last review",
         _marked_recommendation(row), row.reason)
        for row in rows
    ]))  # fmt: skip
    for row in rows:
        yield from _section(row)


def _section(row: ReviewRow) -> Iterator[str]:
    figures = row.figures
    if figures["alternative"] is None:
        yield f"## {escaped_inside(figures['judge'])}"
        yield f"Past decision: {escaped_inside(row.decision)}"
    else:
        yield f"### Instead: {escaped_inside(figures['alternative'])}"
    yield f"**{_marked_recommendation(row)}** {escaped_inside(row.reason)}"
    yield _judged(figures)
    if figures["checks"]:
        checks = figures["checks"]
        cells = [(one["question"], one["result"], one["reason"], one["action"]) for one in checks]
        yield markdown_table(plain_table("", ("check", "result", "figure", "what to do"), cells))
    if figures["figures"]:
        values = [
            (FIGURE_NAMES[one.metric], span(one), one.n_items)
            for one in map(estimate_from, figures["figures"])
        ]
        yield markdown_table(plain_table("", ("figure", "value", "items"), values))


def _judged(figures: Mapping[str, Any]) -> str:
    """Return in a sentence how many judgements there are, since when, and what they cost."""
    ends = [f"{count} {status}" for status, count in sorted(figures["judgements"].items())]
    if figures["missing"]:
        ends.append(f"{figures['missing']} missing")
    told = f"Judgements: {', '.join(ends)}."
    if figures["since"]:
        told += f" Last review: {figures['since']}."
    if figures["usd_a_judgement"] is not None:
        told += f" Each has cost {dollars(figures['usd_a_judgement'])} USD."
    return told


def _marked_recommendation(row: ReviewRow) -> str:
    return f"SIMULATED {row.recommendation}" if row.simulated else row.recommendation
