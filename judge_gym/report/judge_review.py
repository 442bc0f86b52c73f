"""The page of a day's reviews of judges in use."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from judge_gym.calibration.checks import Result, span
from judge_gym.calibration.comparisons import FIGURE_NAMES
from judge_gym.formats import ABSENT
from judge_gym.metrics.estimate import estimate_from
from judge_gym.report.criteria import Criteria, criteria_of
from judge_gym.report.files import ENVIRONMENT, write_page
from judge_gym.report.markdown import A_PERSON_DECIDES, decision_text, judged
from judge_gym.report.plots.svg import draw
from judge_gym.report.table import Row, Table, marks_of
from judge_gym.report.trust import MOST_TILES, Tile
from judge_gym.store.judges import ReviewRow

_DRIFT, _BIAS = "score_drift", "agreement_bias"
"""Metrics in points of 100 that the picture has."""
_EARLIER = ("since its last review", "since its first review")


def save_judge_review(day: date, rows: Sequence[ReviewRow], folder: Path) -> Path:
    """Write `judge_review_YYYY-MM-DD.html`; returns its path.

    Another day's page is another file. Raises `ReportError` when the folder cannot be written to.
    """
    path = folder / f"judge_review_{day.isoformat()}.html"
    return write_page(path, judge_review_page(day, rows))


@dataclass(frozen=True)
class _Section:
    """What the page has of a judge in use, or of an alternative to it."""

    row: ReviewRow
    is_alternative: bool
    name: str
    judged: str
    tables: Sequence[Table]
    criteria: Criteria


def judge_review_page(day: date, rows: Sequence[ReviewRow]) -> str:
    """Return the page; equal rows give equal text."""
    whole = all(row.simulated for row in rows)
    return ENVIRONMENT.get_template("judge_review.html.j2").render(
        day=day,
        simulated=any(row.simulated for row in rows),
        whole=whole,
        marks_beside=lambda simulated: () if whole else marks_of(simulated, imported=False),
        decides=A_PERSON_DECIDES,
        decision_text=decision_text,
        tiles=_tiles(rows),
        overview=_overview(rows),
        drawing=_drawing(rows),
        sections=[_section(row) for row in rows],
    )


def _tiles(rows: Sequence[ReviewRow]) -> list[Tile]:
    """Return the verdict on each of the first judges in use."""
    in_use = [row for row in rows if row.figures["alternative"] is None]
    tiles = []
    for row in in_use[:MOST_TILES]:
        # Reviews that were stored by earlier versions have none.
        verdict = row.figures.get("verdict") or ABSENT
        says = f"{row.recommendation.capitalize()}. {row.reason}"
        tiles.append(Tile(row.figures["judge"], f"{verdict[0].upper()}{verdict[1:]}", says))
    return tiles


def _overview(rows: Sequence[ReviewRow]) -> Table:
    return Table(
        "Judges in use, and their alternatives",
        "Reconsider: an interval shows that the judge has changed, or that an alternative is "
        "better or cheaper. Keep: none does.",
        ("judge in use", "alternative", "recommendation", "why", "review"),
        tuple(
            Row(
                (
                    row.figures["judge"],
                    row.figures["alternative"] or "its last review",
                    row.recommendation,
                    row.reason,
                    row.review,
                ),
                link=f"#judge-{place}",
            )
            for place, row in enumerate(rows, start=1)
        ),
        words=5,
        simulated=any(row.simulated for row in rows),
    )


def _section(row: ReviewRow) -> _Section:
    figures = row.figures
    name = figures["alternative"] or figures["judge"]
    return _Section(
        row,
        figures["alternative"] is not None,
        name,
        judged(figures),
        tuple(_tables(name, row)),
        criteria_of(name, row.config),
    )


def _tables(name: str, row: ReviewRow) -> Iterator[Table]:
    if checks := row.figures["checks"]:
        yield Table(
            f"Checks of {name}",
            "",
            ("check", "result", "figure", "what to do"),
            tuple(
                Row(
                    (
                        check["question"],
                        Result(check["result"]).words,
                        check["reason"],
                        check["action"],
                    )
                )
                for check in checks
            ),
            words=4,
            simulated=row.simulated,
            outcome=1,
        )
    if row.figures["figures"]:
        estimates = list(map(estimate_from, row.figures["figures"]))
        yield Table(
            f"{name} beside the judge in use",
            "",
            ("figure", "value", "items"),
            tuple(
                Row((FIGURE_NAMES[estimate.metric], span(estimate), str(estimate.n_items)))
                for estimate in estimates
            ),
            words=2,
            simulated=row.simulated,
        )


def _drawing(rows: Sequence[ReviewRow]) -> str:
    """Return by how many points scores moved, of every judge; empty without any."""
    effects = [
        {"change": f"{name}, {since}", "effect": check["estimate"], "lower": check["lower"],
         "upper": check["upper"], "unit": "points", "link": f"#judge-{place}"}
        for place, row in enumerate(rows, start=1)
        for name, since, check in _moved(row)
        if check["estimate"] is not None
    ]  # fmt: skip
    if not effects:
        return ""
    mark = "SIMULATED. " if any(row.simulated for row in rows) else ""
    return draw("forest", effects, "moved", f"{mark}How far scores moved, in points")


def _moved(row: ReviewRow) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the name of a judge, what it is compared with, and the check that says how it moved.

    Checks of drift are of the last review and, where there is another, of the first.
    """
    checks = row.figures["checks"]
    if row.figures["alternative"] is None:
        drifts = (check for check in checks if check["metric"] == _DRIFT)
        for since, check in zip(_EARLIER, drifts, strict=False):
            yield row.figures["judge"], since, check
    for check in checks:
        if check["metric"] == _BIAS:
            yield row.figures["alternative"], "in its place", check
