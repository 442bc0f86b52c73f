"""Rolling studies: each period once and in order, after an outage too, and what its page says."""

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.events import AutomationCore
from prefect.flow_engine import run_flow_async
from prefect.states import Scheduled
from ruamel.yaml import YAML

from flows.judge_review import judge_review
from flows.study import study
from judge_gym.llm.hourly import HourlyBoundError
from judge_gym.settings import settings
from support.command_line import REPOSITORY
from support.flow_runs import HOURLY, error_of, events, flow_run, run_flow, run_scheduled
from support.postgres import selected
from support.simulation import Simulator
from support.studies import weekly_study
from support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("place")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return weekly_study(tmp_path)


def ran(scheduled: str, file: Path, **parameters: Any) -> State[Any]:
    return run_scheduled(study, scheduled, file=str(file), **parameters)


def points(database: str) -> list[tuple[Any, ...]]:
    """(first day, last day, sweep) in the order in which they were stored."""
    statement = """
        SELECT first_day::text, last_day::text, sweep FROM analysis.study_points ORDER BY point_id
    """
    return selected(database, statement)


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


GRADED = """
from pathlib import Path


def graded(asked):
    with Path("asked.txt").open("a") as file:
        file.write(asked["id"] + chr(10))
    if Path("broken").exists():
        raise ValueError("away")
    return 40 + int(asked["id"]) % 3 + 30 * Path("moved").exists()
"""
ANCHORS = 24


@pytest.fixture
def reviewed(file: Path, place: pytest.MonkeyPatch) -> Path:
    """The study with a review of a function, in the working folder; it moves where `moved` is."""
    folder = file.parent
    module = f"anchored_{folder.name.replace('-', '_')}"
    (folder / f"{module}.py").write_text(GRADED)
    judge = f"kind: callable\nname: {folder.name}\nfunction: {module}:graded\n"
    (folder / "mine.yaml").write_text(judge)
    texts = [json.dumps({"id": str(n), "text": f"Text {n}"}) for n in range(ANCHORS)]
    (folder / "items.jsonl").write_text("\n".join(texts))
    (folder / "review.yaml").write_text(
        "name: anchors\ntime_zone: Europe/Lisbon\n"
        "reviews: [{judge: mine.yaml, items: items.jsonl, decision: It was chosen.}]\n"
    )
    file.write_text(f"{file.read_text()}\nreview: review.yaml\n")
    place.chdir(folder)
    place.syspath_prepend(str(folder))
    return file


async def deployed(file: Path, scheduled: str) -> tuple[UUID, UUID]:
    """Run the study twice as a deployment's run while there is the example automation.

    Returns the ids of the deployment and of the automation.
    """
    example = REPOSITORY / "deployments" / "automations" / "anchors-moved.yaml"
    described = AutomationCore.model_validate(YAML(typ="safe").load(example))
    given = {"file": str(file), "catch_up": 0}
    meant_for = Scheduled(scheduled_time=datetime.fromisoformat(scheduled))
    async with get_client() as client:
        made = await client.create_automation(described)
        deployment = await client.create_deployment(await client.create_flow(study), "anchored")
        for _ in range(2):
            run = await client.create_flow_run_from_deployment(
                deployment, parameters=given, state=meant_for
            )
            await run_flow_async(study, run, given, return_type="state")
    return deployment, made


async def is_paused(deployment: UUID) -> bool:
    async with get_client() as client:
        return bool((await client.read_deployment(deployment)).paused)


async def removed(deployment: UUID, automation: UUID) -> None:
    async with get_client() as client:
        await client.delete_automation(automation)
        await client.delete_deployment(deployment)


def test_anchors_that_moved_are_on_the_page_told_once_and_pause_the_deployment(
    reviewed: Path,
) -> None:
    """Four earlier looks, the fourth after the move; the study's own is the fifth."""
    folder = reviewed.parent
    for day in (8, 9, 10, 11):
        if day == 11:
            (folder / "moved").touch()
        run_scheduled(
            judge_review, f"2026-01-{day:02}T08:00:00+00:00", file=str(folder / "review.yaml")
        )
    deployment, automation = asyncio.run(deployed(reviewed, "2026-01-12T08:00:00+00:00"))
    try:
        until(lambda: asyncio.run(is_paused(deployment)), "the deployment to be paused", every=0.3)
    finally:
        asyncio.run(removed(deployment, automation))
    # The second run of the period has judged nothing again.
    assert len((folder / "asked.txt").read_text().splitlines()) == 5 * ANCHORS
    [event] = events("judge-gym.anchors.", id=[f"judge-gym.judge.{folder.name}"])
    payload = event["payload"]
    assert (payload["review"], payload["day"], payload["who"]) == (
        "anchors", "2026-01-12", ["judge"]
    )  # fmt: skip
    [evidence] = payload["evidence"]
    assert evidence["e_value"] >= evidence["alarm_from"] == 20
    # 30 points beside the mean of three looks at 0 and one at 30: 22.5.
    change = evidence["change"]
    assert change["points"] == pytest.approx(22.5)
    assert change["lower"] < 22.5 < change["upper"]
    assert "Text" not in json.dumps(payload)
    [page] = (settings().reports_dir).glob("drift-*.html")
    assert "judge (+22.5 points [" in page.read_text()


def test_a_review_that_fails_leaves_the_point_and_is_made_by_the_next_run(
    reviewed: Path, database: str
) -> None:
    broken = reviewed.parent / "broken"
    broken.touch()
    failed = ran("2026-01-12T08:00:00+00:00", reviewed, catch_up=0)
    assert failed.is_failed()
    assert "Review: " in str(error_of(failed))
    assert "1 new point." in (failed.message or "")
    assert len(points(database)) == 1
    broken.unlink()
    later = ran("2026-01-14T08:00:00+00:00", reviewed, catch_up=0, retry_failed=True)
    assert later.is_completed(), later.message
    page: Path = asyncio.run(later.aresult())
    assert "One review so far" in page.read_text()


def test_a_fault_of_the_review_is_named_before_anything_is_asked(
    reviewed: Path, simulator: Simulator
) -> None:
    (reviewed.parent / "mine.yaml").unlink()
    before = simulator.answered()
    assert "mine.yaml" in str(error_of(ran("2026-01-12T08:00:00+00:00", reviewed, catch_up=0)))
    reviewed.write_text(reviewed.read_text().replace("review.yaml", "reviews.yaml"))
    error = str(error_of(ran("2026-01-12T08:00:00+00:00", reviewed, catch_up=0)))
    assert "review is 'reviews.yaml', which does not exist" in error
    assert simulator.answered() == before
