"""The study file: a sweep that is run again every period, on that period's evidence."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field

from judge_gym.design.config import Node, read_model, read_tree, shown, what_exists
from judge_gym.design.fields import Frozen, Legal
from judge_gym.design.sweep import Sweep, read_sweep
from judge_gym.design.window_files import Cadence, Period, TimeZone, periods
from judge_gym.errors import ConfigError

FEWEST_POINTS = 8
"""Points from which on control limits are drawn, at least."""
MOST_CATCH_UP = 52
"""Periods before the newest that one run makes up for, at most."""
FIRST_DAY, LAST_DAY, JUDGES = "{first_day}", "{last_day}", "{judges}"
_PLACEHOLDERS = (FIRST_DAY, LAST_DAY, JUDGES)
_PLACEHOLDER = re.compile(r"\{[a-z_]+\}")
_NAME = "1 to 60 small letters, digits and hyphens"


class StudyFile(Frozen):
    """A rolling study."""

    name: Annotated[str, Legal(_NAME)] = Field(pattern=r"^[a-z0-9-]{1,60}$")
    """What it is called. The sweep of a period is called so too, with the period's first day."""
    time_zone: TimeZone
    """Days end at midnight in this zone; the schedule should use the same zone."""
    cadence: Cadence = "weekly"
    """Whether a period is a day, or a week from Monday to Sunday."""
    sweep: Path
    """The template, relative to this file: a sweep file in which `{first_day}` and `{last_day}`
    stand for the dates of the period and `{judges}` for the judges."""
    judges: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = Field(
        default=(), max_length=50
    )
    """The models for `{judges}`, as provider/model."""
    figures: tuple[Annotated[str, Field(pattern=r"^[a-z0-9_]{1,80}$")], ...] = Field(
        min_length=1, max_length=20
    )
    """The figures that the drift page follows, by the names in the reference of figures."""
    baseline: int = Field(default=12, ge=FEWEST_POINTS, le=200)
    """The first points, from which control limits are computed; before there are so many, the page
    has no limits."""
    review: Path | None = None
    """A review file (`judge review`), relative to this file: its texts are anchors, judged again
    once a period, and the drift page states whether the judge or people moved."""


def load_study(path: Path) -> StudyFile:
    """Read a study file; raises `ConfigError` with file, line, key, value and what is legal."""
    tree = read_tree(path)
    study = read_model(StudyFile, tree)
    named = {"sweep": study.sweep} | ({"review": study.review} if study.review else {})
    files = {key: path.parent / file for key, file in named.items()}
    for key, file in files.items():
        if not file.is_file():
            raise tree.items[key].place.problem(
                f"is {shown(str(named[key]))}, which does not exist", what_exists(file)
            )
    # A mistake in the template is found before anything is spent.
    study = study.model_copy(update=files)
    sweep_of(study, Period(date(2026, 1, 5), date(2026, 1, 11)))
    return study


def due_periods(study: StudyFile, day: date, catch_up: int) -> list[Period]:
    """Return the last whole period before a day, and `catch_up` before it, oldest first."""
    noon = datetime.combine(day, time(12), ZoneInfo(study.time_zone))
    return periods(study.cadence, noon, study.time_zone, catch_up)


def name_of_period(study: StudyFile, period: Period) -> str:
    """Return what the sweep of a period is called."""
    return f"{study.name}-{period.start.isoformat()}"


def sweep_of(study: StudyFile, period: Period) -> Sweep:
    """Return the sweep of a period: the template with its dates and the study's judges.

    Raises `ConfigError` with the place in the template. Paths are relative to the template.
    """
    tree = read_tree(study.sweep)
    _check_dated(tree)
    filled = _filled(
        tree,
        {
            FIRST_DAY: period.start.isoformat(),
            LAST_DAY: period.end.isoformat(),
            JUDGES: study.judges,
        },
    )
    name = Node(name_of_period(study, period), tree.place)
    return read_sweep(Node({**filled.items, "name": name}, tree.place))


def _check_dated(tree: Node) -> None:
    """Refuse a template whose windows are the same in every period."""
    windows = tree.items.get("windows")
    dates = [
        window.items[key].value
        for window in (windows.items.values() if windows else ())
        for key in ("start", "end")
        if key in window.items
    ]
    if not {FIRST_DAY, LAST_DAY} <= set(filter(_is_text, dates)):
        place = windows.place if windows else tree.place
        raise place.problem(
            "has no window of the period", f"Write start: {FIRST_DAY!r} and end: {LAST_DAY!r}."
        )


def _filled(node: Node, values: Mapping[str, str | Sequence[str]]) -> Node:
    """Return a node with every placeholder replaced by its value."""
    if isinstance(node.value, Mapping):
        return replace(node, value={key: _filled(of, values) for key, of in node.items.items()})
    if isinstance(node.value, tuple):
        return replace(node, value=tuple(_filled(entry, values) for entry in node.entries))
    if not _is_text(node.value) or not _PLACEHOLDER.fullmatch(node.value):
        return node
    if node.value not in values:
        raise node.place.problem(
            f"is {shown(node.value)}", f"The placeholders are {', '.join(_PLACEHOLDERS)}."
        )
    value = values[node.value]
    if isinstance(value, str):
        return replace(node, value=value)
    if not value:
        raise _without_judges(node)
    return replace(node, value=tuple(Node(model, node.place) for model in value))


def _without_judges(node: Node) -> ConfigError:
    return node.place.problem(f"is {JUDGES}, and the study names none", "Give it `judges`.")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
