"""The page of a day's reviews of judges in use."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from judge_gym.calibration.checks import Result, span
from judge_gym.calibration.comparisons import FIGURE_NAMES
from judge_gym.calibration.verdict import CalibrationVerdict
from judge_gym.counting import counted, first_of
from judge_gym.errors import StoreError
from judge_gym.formats import ABSENT
from judge_gym.metrics.estimate import estimate_from
from judge_gym.report.criteria import Criteria, criteria_of
from judge_gym.report.judge_study import StudyPage, StudyReport
from judge_gym.report.markdown import A_PERSON_DECIDES, decision_text, judge_review, judged
from judge_gym.report.plots.svg import draw
from judge_gym.report.table import Row, Table, marks_of, plain_table
from judge_gym.report.trust import MOST_TILES, Tile
from judge_gym.store.judges import RECONSIDER, ReviewRow

_DRIFT, _BIAS = "score_drift", "agreement_bias"
"""Metrics in points of 100 that the picture has."""
_EARLIER = ("since its last review", "since its first review")


def review_report(
    review: str, day: date, rows: Sequence[ReviewRow]
) -> StudyReport[Sequence[ReviewRow]]:
    """Return the report of a review, whose page `judge_review_YYYY-MM-DD` is of all of the day.

    Raises `StoreError` if none of the `rows` is of it.
    """
    own = [row for row in rows if row.review == review]
    if not own:
        raise StoreError(f"Nothing is stored of review {review} on {day}.", "Run it first.")
    in_use = [row for row in own if not row.is_alternative]
    page = StudyPage(
        stem=f"judge_review_{day.isoformat()}",
        title=f"Judge review of {day.isoformat()}",
        found=" ".join(f"{row.figures['judge']}: {_headline(row)}." for row in in_use),
        tables=[
            _overview(own, of_one=True),
            *([_in_use(in_use)] if len(in_use) > 1 else []),
        ],
        sentences=[
            *(f"{row.figures['judge']}: {why}" for row in in_use for why in _open(row)),
            "Nothing was changed: a person decides.",
        ],
        simulated=any(row.simulated for row in own),
        files=(),
        told=judge_review(day, rows),
        template="judge_review.html.j2",
        shown=_shown(rows),
    )
    value = [asdict(row) for row in own]
    return StudyReport(own, page, value, results=list(map(_result_of, own)))


def _headline(row: ReviewRow) -> str:
    """Return what is recommended of a judge in use, no stronger than its verdict and checks are."""
    verdict, checks = row.figures.get("verdict"), row.figures["checks"]
    weaker = verdict not in (None, CalibrationVerdict.USE.words, row.recommendation)
    said = f"{row.recommendation}, {verdict}" if weaker else row.recommendation
    still_open = [one["name"] for one in checks if one["result"] == Result.CANNOT_TELL]
    names = list(dict.fromkeys(still_open))
    return f"{said}; open: {first_of(names)}" if names else said


def _result_of(row: ReviewRow) -> Result:
    """Return what a review's finding is to an exit code."""
    if row.recommendation == RECONSIDER:
        return Result.FAILS
    untold = row.recommendation == Result.CANNOT_TELL and not row.is_alternative
    return Result.CANNOT_TELL if untold else Result.PASSES


def _open(row: ReviewRow) -> Iterator[str]:
    """Yield what the data cannot tell of a judge in use, each of which exits with 3."""
    if row.figures.get("verdict") == CalibrationVerdict.CANNOT_TELL.words:
        lacking = row.figures["missing"]
        why = f", as {counted(lacking, 'judgement')} are missing" if lacking else ""
        yield f"cannot tell whether it may be used{why}."
    if missing := (row.figures.get("moved") or {}).get("anchors_missing", 0):
        yield f"too few texts to tell who moved: add {counted(missing, 'text')}."


@dataclass(frozen=True)
class _Section:
    """What the page has of a judge in use, or of an alternative to it."""

    row: ReviewRow
    is_alternative: bool
    name: str
    judged: str
    tables: Sequence[Table]
    criteria: Criteria


def _shown(rows: Sequence[ReviewRow]) -> dict[str, Any]:
    """Return what the page shows, of all reviews of the day; equal rows give equal values."""
    whole = all(row.simulated for row in rows)
    return {
        "simulated": any(row.simulated for row in rows),
        "whole": whole,
        "marks_beside": lambda simulated: () if whole else marks_of(simulated, imported=False),
        "decides": A_PERSON_DECIDES,
        "decision_text": decision_text,
        "tiles": _tiles(rows),
        "overview": _overview(rows),
        "drawing": _drawing(rows),
        "sections": [_section(row) for row in rows],
    }


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


def _overview(rows: Sequence[ReviewRow], *, of_one: bool = False) -> Table:
    """Return what is recommended of each judge, and unless all is `of_one` review, of which."""
    columns = ("judge in use", "alternative", "recommendation", "moved", "why", "review")
    shown = columns[:-1] if of_one else columns
    cells = [
        (
            row.figures["judge"],
            row.figures["alternative"] or "its last review",
            row.recommendation,
            _who_moved(row),
            row.reason,
            row.review,
        )
        for row in rows
    ]
    return Table(
        "Judges in use, and their alternatives",
        "Reconsider: an interval shows that the judge has changed, or that an alternative is "
        "better or cheaper. Cannot tell: the data do not decide. Keep: neither.",
        shown,
        tuple(
            Row(of_row[: len(shown)], link=f"#judge-{place}")
            for place, of_row in enumerate(cells, start=1)
        ),
        words=len(shown),
        simulated=any(row.simulated for row in rows),
    )


def _who_moved(row: ReviewRow) -> str:
    """Return who moved, and why that is open where it is."""
    moved = row.figures.get("moved") or {}
    why = moved.get("open")
    return f"{moved['who']} ({why})" if why else moved.get("who", "")


def _in_use(rows: Sequence[ReviewRow]) -> Table:
    """Return the verdict on each judge in use."""
    return plain_table(
        "Judges in use",
        ("judge", "recommendation", "verdict"),
        [(row.figures["judge"], row.recommendation, row.figures.get("verdict") or "")
         for row in rows],
    )  # fmt: skip


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
                        check["result"],
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
