"""The drift page: what it says of points within and outside limits, and before there are limits."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from judge_gym.analysis.drift import PeriodValue, Series, StudyDrift
from judge_gym.design.study_file import StudyFile
from judge_gym.metrics.control_chart import false_alarm_share
from judge_gym.report.drift import conclusion, drift_page, state_of
from judge_gym.store.results import ResultRow
from judge_gym.store.studies import Point

FLOW = (49.6, 47.6, 49.9, 51.3, 47.8, 51.2, 52.6, 52.4, 53.6, 52.1)
"""Of the NIST handbook; its limits are 45.82 and 55.80."""
STUDY = StudyFile(
    name="weekly", time_zone="UTC", sweep=Path("t.yaml"), figures=("flow",), baseline=len(FLOW)
)


def row(value: float) -> ResultRow:
    scope = {"judge": "acme/<b>", "window": "w"}
    rest = {"n": 4, "n_items": 2, "floor": None, "p": None, "p_adjusted": None}
    return ResultRow(
        "flow", scope, value, value - 1, value + 1, **rest, unit="l/h", method="m", simulated=True
    )


def drift(values: Sequence[float]) -> StudyDrift:
    days = [date(2026, 1, 5) + timedelta(weeks=place) for place in range(len(values))]
    points = [Point(day, day + timedelta(days=6), f"weekly-{day}", 1, True) for day in days]
    pairs = tuple(
        PeriodValue(point, row(value)) for point, value in zip(points, values, strict=True)
    )
    series = Series("flow", {"judge": "acme/<b>"}, pairs, STUDY.baseline)
    return StudyDrift(
        STUDY, tuple(points), (series,), ("absent",), false_alarm_share(STUDY.baseline)
    )


def page(values: Sequence[float]) -> str:
    return drift_page(drift(values), datetime(2026, 4, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("values", "state", "said"),
    [
        (FLOW[:9], "too few points", "Too few points: 9 of 10."),
        (FLOW, "baseline", "no later point was judged yet"),
        ((*FLOW, 55.8), "within", "None of 1 later value lies outside"),
        ((*FLOW, 55.9), "outside", "1 of 1 later value lies outside its control limits: flow"),
        ((1.0,) * 11, "no limits", "do not vary"),
    ],
)
def test_a_page_says_where_its_newest_point_lies(
    values: Sequence[float], state: str, said: str
) -> None:
    assert state_of(drift(values).series[0]) == state
    assert said in conclusion(drift(values))
    assert said.partition(":")[0] in page(values)


def test_nothing_is_said_about_drift_before_there_are_enough_points() -> None:
    # An outlier among the first ones is no signal.
    assert "outside" not in conclusion(drift((*FLOW[:8], 900.0)))


def test_a_page_is_marked_escaped_and_names_what_is_absent() -> None:
    text = page((*FLOW, 55.9))
    assert "<strong>SIMULATED DATA</strong>" in text
    assert "acme/<b>" not in text
    assert "acme/&lt;b&gt;" in text
    assert "absent: could be estimated in no period" in text
    assert "Centre 50.810, limits 45.8" in text
