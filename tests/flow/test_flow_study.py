"""Rolling studies: each period once and in order, after an outage too, and what its page says."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from prefect.client.schemas.objects import State

from flows.study import study
from judge_gym.llm.hourly import HourlyBoundError
from judge_gym.settings import settings
from support.command_line import REPOSITORY
from support.flow_runs import HOURLY, error_of, flow_run, run_flow, run_scheduled
from support.simulation import Simulator

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("place")]
WEEKLY = REPOSITORY / "deployments" / "studies" / "weekly"
TEMPLATE = (WEEKLY / "template.yaml").read_text()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The example's study with one judge and one replicate."""
    text = TEMPLATE.replace("../../sweeps", str(REPOSITORY / "deployments" / "sweeps"))
    text = text.replace("articles.jsonl", str(WEEKLY / "articles.jsonl"))
    (tmp_path / "template.yaml").write_text(text.replace("replicates: 2", "replicates: 1"))
    path = tmp_path / "study.yaml"
    described = (WEEKLY / "study.yaml").read_text()
    path.write_text(described.replace("[sim/calm-1, sim/low-1]", "[sim/calm-1]"))
    return path


def ran(scheduled: str, file: Path, **parameters: Any) -> State[Any]:
    return run_scheduled(study, scheduled, file=str(file), **parameters)


def points(database: str) -> list[tuple[Any, ...]]:
    """(first day, last day, sweep) in the order in which they were stored."""
    statement = """
        SELECT first_day::text, last_day::text, sweep FROM analysis.study_points ORDER BY point_id
    """
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        return [tuple(row) for row in connection.execute(sa.text(statement))]


def test_a_week_is_run_once_and_missed_ones_are_made_up_for_in_order(
    file: Path, database: str, simulator: Simulator
) -> None:
    first = ran("2026-01-12T08:00:00+00:00", file, catch_up=0)
    assert first.is_completed(), first.message
    assert flow_run(first).name == "study study.yaml before 2026-01-12"
    one = ("2026-01-05", "2026-01-11", "valmora-weekly-2026-01-05")
    assert points(database) == [one]
    asked = simulator.answered()
    # Late and again: nothing is asked, nothing is added.
    again = ran("2026-01-14T08:00:00+00:00", file, catch_up=0)
    assert str(again.message).startswith("0 new points, 1 of 1 period had one before.")
    assert (simulator.answered(), points(database)) == (asked, [one])
    # Two schedules were missed; the run after them does three weeks.
    after = ran("2026-02-02T08:00:00+00:00", file, catch_up=2)
    assert after.is_completed(), after.message
    assert points(database) == [
        one,
        ("2026-01-12", "2026-01-18", "valmora-weekly-2026-01-12"),
        ("2026-01-19", "2026-01-25", "valmora-weekly-2026-01-19"),
        ("2026-01-26", "2026-02-01", "valmora-weekly-2026-01-26"),
    ]
    page: Path = asyncio.run(after.aresult())
    said = page.read_text()
    assert "Too few points: 4 of 8." in said
    assert "lie outside" not in said.partition("Individuals chart")[0]
    assert "SIMULATED DATA" in said


def test_a_period_that_fails_has_no_point_and_leaves_the_next_alone(
    file: Path, database: str
) -> None:
    template = file.with_name("template.yaml")
    template.write_text(f"{template.read_text()}\nbudget: {{max_calls: 1}}\n")
    error = error_of(ran("2026-01-19T08:00:00+00:00", file, catch_up=1))
    assert "2026-01-05 to 2026-01-11: " in str(error)
    assert "2026-01-12 to 2026-01-18: " in str(error)
    assert points(database) == []


def test_a_fault_of_the_template_is_named_before_anything_is_asked(
    file: Path, simulator: Simulator
) -> None:
    template = file.with_name("template.yaml")
    template.write_text(template.read_text().replace('"{judges}"', '"{judge}"'))
    before = simulator.answered()
    error = str(error_of(run_flow(study, file)))
    assert f"{template}, line " in error
    assert "{first_day}, {last_day}, {judges}" in error
    assert simulator.answered() == before


def test_a_bound_per_hour_ends_the_run_and_not_only_a_period(
    file: Path, database: str, place: pytest.MonkeyPatch
) -> None:
    (file.parent / "providers.toml").write_text(HOURLY)
    place.setenv("JUDGE_GYM_PROVIDERS_FILE", str(file.parent / "providers.toml"))
    settings.cache_clear()
    file.write_text(file.read_text().replace("sim/calm-1", "rehearsed/calm-1"))
    error = error_of(ran("2026-01-19T08:00:00+00:00", file, catch_up=1))
    assert isinstance(error, HourlyBoundError)
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        sweeps = connection.execute(sa.text("SELECT name FROM sweeps")).scalars().all()
    assert sweeps == ["valmora-weekly-2026-01-05"]
