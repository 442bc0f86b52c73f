"""The figures of a rolling study over its periods, with control limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from sqlalchemy.orm import Session

from judge_gym.analysis.groups import MIXED
from judge_gym.calibration.review_file import load_review_file
from judge_gym.design.study_file import StudyFile
from judge_gym.metrics.control_chart import Limits, false_alarm_share, individuals_limits
from judge_gym.seeds import canonical_json
from judge_gym.store.judges import ReviewRow, newest_review, reviews_of
from judge_gym.store.results import ResultRow, load_results
from judge_gym.store.studies import Point, points_of

_OF_PERIOD = "window"
"""The entry of a scope that differs from period to period."""


@dataclass(frozen=True)
class PeriodValue:
    """A figure in one period."""

    point: Point
    row: ResultRow

    @property
    def estimate(self) -> float:
        """The figure, in its unit."""
        assert self.row.estimate is not None
        return self.row.estimate


@dataclass(frozen=True)
class Series:
    """A figure of one scope over the periods in which it could be estimated, oldest first."""

    metric: str
    scope: Mapping[str, object]
    """What it is about, without the window."""
    values: tuple[PeriodValue, ...]
    baseline: int
    """How many of the first values the limits are computed from."""

    @property
    def unit(self) -> str:
        """The unit of its values."""
        return self.values[-1].row.unit

    @property
    def has_baseline(self) -> bool:
        """Whether there are enough values for limits."""
        return len(self.values) >= self.baseline

    @cached_property
    def limits(self) -> Limits | None:
        """The control limits; None with too few values, or if the first ones do not vary."""
        if not self.has_baseline:
            return None
        return individuals_limits([value.estimate for value in self.values[: self.baseline]])

    @property
    def later(self) -> tuple[PeriodValue, ...]:
        """The values after the baseline: only those are judged."""
        return self.values[self.baseline :]

    @property
    def outside(self) -> tuple[PeriodValue, ...]:
        """The later values outside the limits."""
        limits = self.limits
        return tuple(v for v in self.later if limits and not limits.holds(v.estimate))


@dataclass(frozen=True)
class StudyDrift:
    """What is known of a study: its points, and a series for each of its figures and scopes."""

    study: StudyFile
    points: tuple[Point, ...]
    series: tuple[Series, ...]
    without: tuple[str, ...]
    """Figures of the study that could be estimated in no period."""
    false_alarms: float
    """The share of later points outside the limits if nothing changes."""
    reviewed_on: date | None = None
    """The day of the newest review of the study's anchors; None without one."""
    reviews: tuple[ReviewRow, ...] = ()
    """What it found of each judge in use."""

    @property
    def simulated(self) -> bool:
        """Whether the simulator answered in any period."""
        return any(self._simulated)

    @property
    def is_simulated_throughout(self) -> bool:
        """Whether the simulator answered in every period."""
        return all(self._simulated)

    @property
    def _simulated(self) -> list[bool]:
        points = [point.simulated for point in self.points]
        return [*points, *(row.simulated for row in self.reviews)]


def drift_of(session: Session, study: StudyFile) -> StudyDrift:
    """Return the series of a study from its stored points; reads no template and no answer."""
    points = points_of(session, study.name)
    values: dict[tuple[str, str], list[PeriodValue]] = {}
    scopes: dict[tuple[str, str], Mapping[str, object]] = {}
    for point in points:
        for row in load_results(session, point.run_id):
            metric = row.metric.removesuffix(MIXED)
            if metric not in study.figures or row.estimate is None:
                continue
            scope = {name: value for name, value in row.scope.items() if name != _OF_PERIOD}
            key = (metric, canonical_json(scope))
            values.setdefault(key, []).append(PeriodValue(point, row))
            scopes[key] = scope
    found = {metric for metric, _ in values}
    review = load_review_file(study.review)[0].name if study.review else ""
    day = newest_review(session, review) if review else None
    rows = reviews_of(session, day) if day else []
    return StudyDrift(
        study,
        tuple(points),
        tuple(
            Series(key[0], scopes[key], tuple(_once(values[key])), study.baseline)
            for key in sorted(values, key=lambda key: (study.figures.index(key[0]), key[1]))
        ),
        tuple(metric for metric in study.figures if metric not in found),
        false_alarm_share(study.baseline),
        day,
        tuple(row for row in rows if row.review == review and not row.is_alternative),
    )


def _once(values: Sequence[PeriodValue]) -> list[PeriodValue]:
    """Return one value a period; a scope with several windows in a period has its first one."""
    return list({value.point.first_day: value for value in reversed(values)}.values())[::-1]
