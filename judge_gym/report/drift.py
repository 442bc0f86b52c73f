"""The drift page of a rolling study: each figure over its periods, with control limits."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from judge_gym.analysis.drift import Series, StudyDrift
from judge_gym.counting import counted
from judge_gym.formats import figure, number, percent
from judge_gym.report.files import ENVIRONMENT, csv_of, put_in_place
from judge_gym.report.markdown import moved_text
from judge_gym.report.plots.svg import draw
from judge_gym.report.table import Row, Table
from judge_gym.report.trust import MOST_TILES, Tile

TOO_FEW, NO_VARIATION, BASELINE = "too few points", "no limits", "baseline"
WITHIN, OUTSIDE = "within", "outside"
NO_LOOK = "One review so far: who moved shows from the second on."


def save_drift(drift: StudyDrift, folder: Path) -> Path:
    """Write `drift-<study>.html` and its values as CSV; returns the page's path.

    Raises `ReportError` when the folder cannot be written to.
    """
    page = folder / f"drift-{drift.study.name}.html"
    put_in_place({
        folder / f"drift-{drift.study.name}.csv": csv_of(_csv_rows(drift)),
        page: drift_page(drift, datetime.now(UTC)),
    })  # fmt: skip
    return page


def drift_page(drift: StudyDrift, written: datetime) -> str:
    """Return the whole page; equal arguments give equal text."""
    tiles = [Tile(title_of(series), state_of(series), _latest(series)) for series in drift.series]
    return ENVIRONMENT.get_template("drift.html.j2").render(
        drift=drift,
        written=written,
        conclusion=conclusion(drift),
        rule=rule(drift),
        anchors=anchors_said(drift),
        tiles=tiles[:MOST_TILES],
        sections=[
            {
                "title": title_of(series),
                "says": says(series),
                "drawing": draw("control_chart", _chart_rows(series), f"drift-{place}",
                                title_of(series)),
                "table": _table(series),
            }
            for place, series in enumerate(drift.series, 1)
        ],
    )  # fmt: skip


def conclusion(drift: StudyDrift) -> str:
    """Return what the page comes to, in one or two sentences."""
    count = len(drift.points)
    if not count:
        return "No period was run yet."
    if not any(series.has_baseline for series in drift.series):
        return (
            f"Too few points: {count} of {drift.study.baseline}. Control limits are drawn from "
            f"{drift.study.baseline} points on; until then nothing is said about drift."
        )
    judged = [series for series in drift.series if series.limits and series.later]
    if not judged:
        flat = any(series.has_baseline and series.limits is None for series in drift.series)
        return (
            "The points of the baseline do not vary, so there are no limits."
            if flat
            else "The baseline is complete; no later point was judged yet."
        )
    values = counted(sum(len(series.later) for series in judged), "later value")
    outside = [series for series in judged if series.outside]
    if not outside:
        return f"None of {values} lies outside its control limits."
    named = "; ".join(
        f"{title_of(series)} ({', '.join(str(v.point.first_day) for v in series.outside)})"
        for series in outside
    )
    found = sum(len(series.outside) for series in outside)
    verb = "lies outside its" if found == 1 else "lie outside their"
    return f"{found} of {values} {verb} control limits: {named}."


def anchors_said(drift: StudyDrift) -> list[str]:
    """Return of each judge under review who moved on its anchors, and how far."""
    return [
        f"{row.figures['judge']}: {moved_text(row.figures) or NO_LOOK}" for row in drift.reviews
    ]


def rule(drift: StudyDrift) -> str:
    """Return how the limits are made, and how often they are wrong."""
    return (
        f"Individuals chart: the centre is the mean of the first {drift.study.baseline} points, "
        "the limits lie 3 times their mean moving range divided by 1.128 from it. Only later "
        "points are judged. "
        "If nothing changed and points varied independently and normally, "
        f"{percent(drift.false_alarms, 1)} of them would lie outside by chance. "
        "A point outside does not say why: the evidence of a period is new, and so may be the "
        "model. A judge review asks about the same texts again, and tells a judge that changed."
    )


def title_of(series: Series) -> str:
    """Return the figure and what it is of: "confidence, sim/low-1"."""
    scope = series.scope
    first = [str(scope[name]) for name in ("judge", "pair", "rival", "arm") if name in scope]
    rest = [
        f"{name} {value}"
        for name, value in scope.items()
        if name not in ("judge", "pair", "rival", "arm")
    ]
    return ", ".join([series.metric.replace("_", " "), *(first or rest[:1])])


def says(series: Series) -> str:
    """Return the state of a series in words, with what it is about."""
    about = ", ".join(f"{name} {value}" for name, value in series.scope.items())
    if not series.has_baseline:
        state = f"Too few points: {len(series.values)} of {series.baseline}."
    elif series.limits is None:
        state = "No limits: the points of the baseline do not vary."
    else:
        limits = series.limits
        state = (
            f"Centre {number(limits.centre, 3)}, limits {number(limits.lower, 3)} to "
            f"{number(limits.upper, 3)}, from the first {series.baseline} points; "
            f"{len(series.outside)} of {len(series.later)} later points lie outside."
        )
    return f"{state} {about}." if about else state


def state_of(series: Series) -> str:
    """Return the state of the newest point in one or two words."""
    return _state(series, len(series.values) - 1)


def _state(series: Series, place: int) -> str:
    if not series.has_baseline:
        return TOO_FEW
    if place < series.baseline:
        return BASELINE
    if series.limits is None:
        return NO_VARIATION
    return WITHIN if series.limits.holds(series.values[place].estimate) else OUTSIDE


def _latest(series: Series) -> str:
    newest = series.values[-1]
    return f"{figure(newest.row)} {series.unit}, from {newest.point.first_day}"


def _chart_rows(series: Series) -> list[dict[str, object]]:
    limits = series.limits
    ends = (limits.centre, limits.lower, limits.upper) if limits else (None, None, None)
    return [
        {
            "day": value.point.first_day.isoformat(),
            "value": value.estimate,
            "low": value.row.lower,
            "high": value.row.upper,
            "state": _state(series, place),
            "unit": series.unit,
            **dict(zip(("centre", "lower", "upper"), ends, strict=True)),
        }
        for place, value in enumerate(series.values)
    ]


def _table(series: Series) -> Table:
    return Table(
        "",
        "",
        ("from", "to", f"{series.metric}, {series.unit}", "items", "judgements", "state"),
        tuple(
            Row(
                (
                    str(value.point.first_day),
                    str(value.point.last_day),
                    figure(value.row, 3),
                    str(value.row.n_items),
                    str(value.row.n),
                    _state(series, place),
                )
            )
            for place, value in enumerate(series.values)
        ),
        words=2,
        simulated=any(value.point.simulated for value in series.values),
    )


def _csv_rows(drift: StudyDrift) -> Sequence[dict[str, object]]:
    return [
        {
            "study": drift.study.name,
            "metric": series.metric,
            "scope": str(dict(series.scope)),
            "first_day": value.point.first_day,
            "last_day": value.point.last_day,
            "estimate": value.estimate,
            "lower": value.row.lower,
            "upper": value.row.upper,
            "n": value.row.n,
            "items": value.row.n_items,
            "state": _state(series, place),
            "simulated": value.point.simulated,
        }
        for series in drift.series
        for place, value in enumerate(series.values)
    ]
