"""The page of a day's reviews of judges, as Markdown: for a person, who decides."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from judge_gym.calibration.checks import span
from judge_gym.calibration.replacing import FIGURE_NAMES
from judge_gym.formats import dollars
from judge_gym.metrics.estimate import estimate_from
from judge_gym.report.escaping import escaped_inside
from judge_gym.report.in_short import MEANS
from judge_gym.report.table import markdown_table, plain_table
from judge_gym.report.writing import put_in_place
from judge_gym.store.judges import ReviewRow

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
    return "\n\n".join(_parts(day, rows)) + "\n"


def _parts(day: date, rows: Sequence[ReviewRow]) -> Iterator[str]:
    yield f"# Judge review of {day.isoformat()}"
    if any(row.simulated for row in rows):
        yield f"**SIMULATED**: {MEANS['SIMULATED']}"
    yield _A_PERSON_DECIDES
    columns = ("review", "judge in use", "alternative", "recommendation", "why")
    yield markdown_table(plain_table("", columns, [
        (row.review, row.figures["judge"], row.figures["alternative"] or "its last review",
         _marked(row), row.reason)
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
    yield f"**{_marked(row)}** {escaped_inside(row.reason)}"
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


def _marked(row: ReviewRow) -> str:
    return f"SIMULATED {row.recommendation}" if row.simulated else row.recommendation
