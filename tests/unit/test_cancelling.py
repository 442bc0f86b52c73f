"""`sweep cancel`: which flow runs belong to a sweep."""

from datetime import UTC, datetime
from typing import Any

import pytest

from deployments.cli.changing import works_on
from judge_gym.store.selecting import ChosenExperiments
from support.command_line import REPOSITORY

STUDY = str(REPOSITORY / "deployments" / "studies" / "weekly" / "study.yaml")


@pytest.mark.parametrize(
    ("given", "first_day", "belongs"),
    [
        # Wednesday 21 January 2026: the last whole week began on the 12th.
        ({"day": "2026-01-21", "catch_up": 1}, "2026-01-12", True),
        ({"day": "2026-01-21", "catch_up": 1}, "2026-01-05", True),
        ({"day": "2026-01-21", "catch_up": 0}, "2026-01-05", False),
        ({"day": "2026-01-21", "catch_up": 1}, "2026-01-19", False),
        # Without a day, the one that the run was meant for.
        ({"catch_up": 0}, "2026-01-26", True),
        ({"catch_up": 0}, "2026-01-12", False),
    ],
)
def test_a_study_belongs_to_the_sweeps_of_its_periods(
    given: dict[str, Any], first_day: str, belongs: bool
) -> None:
    sweep = f"valmora-weekly-{first_day}"
    chosen = ChosenExperiments(title=sweep, experiments={}, windows=(), sweep=sweep)
    meant_for = datetime(2026, 2, 4, 12, tzinfo=UTC)
    assert works_on({"file": STUDY, **given}, chosen, sweep, meant_for) == belongs
