"""Pages in Markdown: a sweep in short, a panel's run, and a day's reviews of judges."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.calibration.checks import span
from judge_gym.calibration.comparisons import FIGURE_NAMES
from judge_gym.counting import counted
from judge_gym.formats import dollars, number, plain
from judge_gym.judges.reviewing.moving import shown_moves
from judge_gym.lab.status import Status, sweep_status
from judge_gym.metrics.anchors import Mover
from judge_gym.metrics.estimate import estimate_from
from judge_gym.panel.state import SPARED, PanelState, RaterState, ScoreAgreement
from judge_gym.report.facts import Facts
from judge_gym.report.findings import findings_table, largest_effects, sentences
from judge_gym.report.table import (
    Table,
    escaped,
    escaped_inside,
    escaped_sentence,
    markdown_table,
    marks_of,
    plain_table,
)
from judge_gym.report.tables import result_tables
from judge_gym.store.decisions import Decided
from judge_gym.store.judges import ReviewRow
from judge_gym.store.results import load_findings, load_results

MOST_ROWS = 10
"""Rows of a table; the report has all of them."""
MEANS = {
    "SIMULATED": "judges of a simulator answered. The figures show judge-gym at work, and say "
    "nothing of any real model.",
    "IMPORTED": "judgements were made elsewhere and brought in; judge-gym asked for none of them.",
}


@dataclass(frozen=True)
class RunMarkdown:
    """An analysis run as Markdown `text`, and a table of its findings by heading."""

    text: str
    description: str
    rows: list[dict[str, str]]
    caption: str
    """What the table shows, as Markdown."""


def run_markdown(session: Session, facts: Facts, report: str) -> RunMarkdown:
    """Return the summary of the analysis run of `facts`; `report` is Markdown that links to it.

    The table has the findings, or the first table of figures when nothing could be tested.
    """
    run = facts.run
    figures, findings = load_results(session, run.id), load_findings(session, run.id)
    table = findings_table(findings, run.standing)
    headline = table if table.rows else next(iter(result_tables(figures)), table)
    imported = any(row.imported for row in figures)
    lines = [
        f"# Sweep {escaped(run.sweep)}",
        *(f"**{mark}**: {MEANS[mark]}" for mark in marks_of(run.simulated, imported)),
        report,
        *_listed("Findings", sentences(findings), headline),
        *_listed("Largest effects", largest_effects(figures), headline),
        *_listed("Be careful", facts.warnings, headline),
        *_failures(sweep_status(session, run.sweep)),
    ]
    description = f"{_marks(headline)}The findings in words, what failed, and where the report is."
    return RunMarkdown(
        "\n\n".join(lines), description, records(headline), caption(headline, report)
    )


def _listed(title: str, items: Sequence[str], marked: Table) -> Iterator[str]:
    if items:
        yield f"## {title}"
        yield "\n".join(f"- {_marks(marked)}{escaped_sentence(item)}" for item in items)


def _marks(table: Table) -> str:
    return "".join(f"**{mark}** " for mark in table.marks)


def _failures(status: Status) -> Iterator[str]:
    """Yield what failed by workflow and class, and how to retry it."""
    lost = [
        *((failed.workflow, failed.failure, failed.count, "failed") for failed in status.failures),
        *(
            (refused.workflow, refused.failure, refused.calls, "refused")
            for refused in status.refusals
        ),
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
        "Run the sweep again with `retry_failed` to retry failed calls. Every run retries refused "
        "calls."
    )


def caption(table: Table, report: str) -> str:
    """Return the caption of a table in Markdown; where it was cut, with `report`."""
    cut = (
        f" The first {MOST_ROWS} of {len(table.rows)} rows. {report}"
        if len(table.rows) > MOST_ROWS
        else ""
    )
    return f"{_marks(table)}{table.title}. {table.explanation}{cut}"


def records(table: Table) -> list[dict[str, str]]:
    """Return the first rows of a table by heading, with what they rest on beside a real call."""
    source = {"source": " and ".join(table.marks)} if table.marks else {}
    headed = any(row.heading for row in table.rows)
    # Figures beside what they are about.
    words = range(1, table.words)
    order = [0, *range(table.words, len(table.columns)), *words]
    # The page shows few columns without scrolling, and the conclusion has to be among them.
    first = [place for place in order if table.columns[place] == "conclusion"]
    return [
        {
            **{table.columns[place]: row.cells[place] for place in first},
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
        yield f"The document was longer; raters saw its first {counted(len(state.items), 'item')}."
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
        yield f"Agreement: {agreement_text(state.agreement)}."


def agreement_text(agreement: ScoreAgreement) -> str:
    """Return "strong (mean 4.3, median 4, spread 1)"."""
    return (
        f"{agreement.level} (mean {plain(agreement.mean)}, median {plain(agreement.median)}, "
        f"spread {agreement.spread})"
    )


def _scores(state: PanelState) -> str:
    reviews = [rater.review for rater in state.raters if rater.review]
    levels = {item.id: agreement_text(item) for item in state.item_agreement}
    rows = [
        (name, *(review.items[place].score for review in reviews), levels.get(name, ""))
        for place, name in enumerate(state.items)
    ]
    level = agreement_text(state.agreement) if state.agreement else ""
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


A_PERSON_DECIDES = (
    "A person decides. This page recommends and changes nothing: no judge file, and no judge."
)


def judge_review(day: date, rows: Sequence[ReviewRow]) -> str:
    """Return the page; equal rows give equal text."""
    return "\n\n".join(_review_parts(day, rows)) + "\n"


def _review_parts(day: date, rows: Sequence[ReviewRow]) -> Iterator[str]:
    yield f"# Judge review of {day.isoformat()}"
    if any(row.simulated for row in rows):
        yield f"**SIMULATED**: {MEANS['SIMULATED']}"
    yield A_PERSON_DECIDES
    columns = ("review", "judge in use", "alternative", "recommendation", "why")
    yield markdown_table(plain_table("", columns, [
        (row.review, row.figures["judge"], row.figures["alternative"] or "its last review",
         _marked_recommendation(row), row.reason)
        for row in rows
    ]))  # fmt: skip
    for row in rows:
        yield from _section(row)


def decision_text(decided: Decided) -> str:
    """Return what a person decided after a review, with the name and the time."""
    why = f" {decided.reason}" if decided.reason else ""
    return (
        f"Decided by {decided.person} on {decided.at:%Y-%m-%d %H:%M} UTC: {decided.decision}.{why}"
    )


def _section(row: ReviewRow) -> Iterator[str]:
    figures = row.figures
    if figures["alternative"] is None:
        yield f"## {escaped_inside(figures['judge'])}"
        yield f"Past decision: {escaped_inside(row.decision)}"
    else:
        yield f"### Instead: {escaped_inside(figures['alternative'])}"
    yield f"**{_marked_recommendation(row)}** {escaped_inside(row.reason)}"
    if row.decided:
        yield escaped_inside(decision_text(row.decided))
    yield judged(figures)
    if figures["checks"]:
        checks = figures["checks"]
        cells = [
            (check["question"], check["result"], check["reason"], check["action"])
            for check in checks
        ]
        yield markdown_table(plain_table("", ("check", "result", "figure", "what to do"), cells))
    if figures["figures"]:
        values = [
            (FIGURE_NAMES[estimate.metric], span(estimate), estimate.n_items)
            for estimate in map(estimate_from, figures["figures"])
        ]
        yield markdown_table(plain_table("", ("figure", "value", "items"), values))


def judged(figures: Mapping[str, Any]) -> str:
    """Return in a sentence how many judgements there are, since when, their cost, and who moved."""
    ends = [f"{count} {status}" for status, count in sorted(figures["judgements"].items())]
    if figures["missing"]:
        ends.append(f"{figures['missing']} missing")
    text = f"Judgements: {', '.join(ends)}."
    if figures["since"]:
        text += f" Last review: {figures['since']}."
    if figures["usd_a_judgement"] is not None:
        text += f" Each has cost {dollars(figures['usd_a_judgement'])} USD."
    if moved := moved_text(figures):
        text += f" {moved}"
    return text


def moved_text(figures: Mapping[str, Any]) -> str:
    """Return in a sentence who moved on the texts of a review, and how far; "" where not stored."""
    moved = figures.get("moved")
    if not moved:
        return ""
    who = moved["open"] and f"{moved['who']} ({moved['open']})"
    of = {one["of"]: one for one in shown_moves(figures)}
    named = [f"{name} ({_evidence(one)})" for name, one in of.items()]
    since = "together"
    if kept := moved.get("kept"):
        since = f"since that of {kept['day']}, after which {kept['person']} kept it"
    said = f"Moved, by all reviews {since}: {' and '.join(named) or who or moved['who']}."
    apart = [one for one in moved.get("systems", []) if not one["lower"] <= 0 <= one["upper"]]
    if Mover.SYSTEMS in of and apart:
        of_each = ", ".join(f"{one['system']} {_points(one)}" for one in apart)
        said += f" By system: {of_each}, over {counted(sum(o['items'] for o in apart), 'item')}."
    return said


def _points(change: Mapping[str, Any]) -> str:
    return f"{change['points']:+.1f} points [{change['lower']:.1f}, {change['upper']:.1f}]"


def _evidence(one: Mapping[str, Any]) -> str:
    change = one["change"]
    by = ""
    if change["points"] is not None:
        by = f"{_points(change)}, "
    return (
        f"{by}{counted(one['anchors'], 'text')}, e-value {plain(round(one['e_value'], 1))} of "
        f"{one['alarm_from']:g}"
    )


def _marked_recommendation(row: ReviewRow) -> str:
    return f"SIMULATED {row.recommendation}" if row.simulated else row.recommendation
