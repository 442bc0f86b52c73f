"""Judge reviews: asked anew once a day, drift that was planted found, and nothing changed."""

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.exceptions import Pause
from prefect.flow_engine import run_flow_async
from prefect.states import Scheduled
from typer.testing import CliRunner

from deployments.cli.app import app
from flows.judge_review import judge_review
from judge_gym.judges import load_judge
from judge_gym.llm.hourly import HourlyBoundError
from judge_gym.settings import settings
from support.flow_runs import HOURLY, artifacts, error_of, flow_run, run_scheduled
from support.postgres import selected
from support.simulation import Simulator

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "deployments" / "reviews" / "notes.yaml"
FUNCTIONS = """
from pathlib import Path


def mine(asked):
    return graded(asked, "mine")


def generous(asked):
    return 30 + int(asked["id"]) % 5 + graded(asked, "generous")


def graded(asked, name):
    with Path("asked.txt").open("a") as file:
        file.write(name + " " + asked["id"] + chr(10))
    shift = float(Path("shift").read_text()) if Path("shift").exists() else 0
    return 5 * len(asked["text"].split()) + shift + int(asked["id"]) % 2
"""
FILE = """
name: own
time_zone: Asia/Tokyo
reviews:
  - judge: mine.yaml
    items: items.jsonl
    decision: "Chosen | for **its** [calm](http://x)\\nand <b>price</b>"
    alternatives: [judge: generous.yaml]
"""
ITEMS = 12


@pytest.fixture
def file(place: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A review of a function of one's own beside another, in the working folder."""
    module = f"graded_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(FUNCTIONS)
    for name in ("mine", "generous"):
        judge = f"kind: callable\nname: {name}\nfunction: {module}:{name}\n"
        (tmp_path / f"{name}.yaml").write_text(judge)
    texts = [{"id": str(n), "text": f"{'word ' * (n % 7)}number{n}"} for n in range(ITEMS)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, texts)))
    (tmp_path / "review.yaml").write_text(FILE)
    return tmp_path / "review.yaml"


def reviewed(file: Path, scheduled: str) -> Path:
    """Review as a worker does; the page."""
    state: State[Any] = run_scheduled(judge_review, scheduled, file=str(file))
    page: Path = asyncio.run(state.aresult())
    return page


def asked(file: Path) -> int:
    return len((file.parent / "asked.txt").read_text().splitlines())


def rows(database: str, day: str) -> list[tuple[Any, ...]]:
    """(judge, alternative, recommendation, reason, simulated) of a day."""
    statement = """
        SELECT judge, alternative, recommendation, reason, simulated
        FROM analysis.judge_reviews WHERE reviewed_on = :day ORDER BY review_id
    """
    return selected(database, statement, day=day)


def test_drift_is_found_where_it_is_and_each_day_is_asked_once(file: Path, database: str) -> None:
    # in Tokyo it is the 11th already
    first = reviewed(file, "2026-01-10T18:00:00+00:00")
    assert first.name == "judge_review_2026-01-11.html"
    assert asked(file) == 2 * ITEMS
    mine, generous = rows(database, "2026-01-11")
    assert mine[:3] == ("mine", None, "cannot tell")
    assert mine[3].startswith("It has no earlier review")
    assert generous[1:4] == (
        "generous", "keep", "It does not judge alike, and is not shown to be better."
    )  # fmt: skip
    said = first.read_text()
    assert "A person decides. This page recommends and changes nothing" in said
    assert "Past decision: Chosen | for **its** [calm](http://x)\nand &lt;b&gt;price" in said
    assert "SIMULATED" not in said

    # a little later the same day: nothing is asked, nothing is otherwise
    assert reviewed(file, "2026-01-11T09:00:00+00:00").read_text() == said
    assert asked(file) == 2 * ITEMS
    assert rows(database, "2026-01-11") == [mine, generous]

    reviewed(file, "2026-01-11T18:00:00+00:00")
    assert asked(file) == 4 * ITEMS
    still = rows(database, "2026-01-12")[0]
    assert still[2] == "cannot tell"
    # 12 texts that did not move are too few to show that the mean did not.
    assert still[3].startswith("cannot tell: 0 points")
    assert "about 86 would show it, you have 12." in still[3]

    # The grader is another from now on, behind the same configuration.
    (file.parent / "shift").write_text("12")
    third = reviewed(file, "2026-01-12T18:00:00+00:00")
    drifted = rows(database, "2026-01-13")[0]
    assert drifted[2] == "reconsider"
    assert drifted[3].startswith("It no longer judges as on 2026-01-12: 12 points")
    assert ">mine, " in third.read_text()
    assert first.read_text() == said

    # A run for the 12th that comes late stays with what was judged for the 12th.
    late = reviewed(file, "2026-01-11T20:00:00+00:00")
    assert late.name == "judge_review_2026-01-12.html"
    assert rows(database, "2026-01-12")[0] == still
    assert asked(file) == 6 * ITEMS


def test_a_decision_is_recorded_with_a_name_and_stands_on_the_page(
    file: Path, database: str
) -> None:
    page = reviewed(file, "2026-01-10T18:00:00+00:00")
    given = ["judge", "decide", str(file), "mine", "keep", "--date", "2026-01-11"]
    unnamed = CliRunner().invoke(app, [*given, "--by", " "])
    assert "Name who decides" in str(unnamed.exception)
    unknown = CliRunner().invoke(app, [*given[:3], "mime", *given[4:], "--by", "Ada"])
    assert "Did you mean mine?" in str(unknown.exception)
    CliRunner().invoke(app, [*given, "--by", "Ada <b>", "--reason", "It is calm."])
    said = page.read_text()
    assert "Decided by Ada &lt;b&gt; on " in said
    assert "UTC: keep. It is calm." in said
    # A review of the same day leaves it there.
    assert reviewed(file, "2026-01-10T19:00:00+00:00").read_text() == said


def test_a_run_waits_for_a_decision_about_a_judge_that_drifted(file: Path, database: str) -> None:
    reviewed(file, "2026-01-10T18:00:00+00:00")
    (file.parent / "shift").write_text("12")
    given = {"file": str(file), "decide": True}
    meant_for = datetime.fromisoformat("2026-01-11T18:00:00+00:00")

    async def run() -> tuple[Any, ...]:
        async with get_client() as client:
            flow_id = await client.create_flow(judge_review)
            deployment = await client.create_deployment(flow_id, "decided")
            made = await client.create_flow_run_from_deployment(
                deployment, parameters=given, state=Scheduled(scheduled_time=meant_for)
            )
            with suppress(Pause):
                await run_flow_async(judge_review, made, given, return_type="state")
            waiting = (await client.read_flow_run(made.id)).state
            answer = {"decision": "reconsider", "name": "Ben", "reason": "Ask the vendor."}
            await client.resume_flow_run(made.id, run_input=answer)
            resumed = await client.read_flow_run(made.id)
            ended = await run_flow_async(judge_review, resumed, given, return_type="state")
            return waiting, ended

    waiting, ended = asyncio.run(run())
    assert waiting.name == "Suspended"
    assert ended.is_completed(), ended.message
    statement = "SELECT judge, decision, person, details ->> 'day' FROM analysis.decisions"
    rows = selected(database, statement)
    assert rows == [("mine", "reconsider", "Ben", "2026-01-12")]
    page = settings().reports_dir / "judge_review_2026-01-12.html"
    assert "UTC: reconsider. Ask the vendor." in page.read_text()


def test_the_page_is_shown_and_the_run_is_named_by_its_day(file: Path) -> None:
    state = run_scheduled(judge_review, "2026-01-10T03:00:00+00:00", file=str(file))
    assert flow_run(state).name == "review review.yaml meant for 2026-01-10 03:00 UTC"
    page = next(one for one in artifacts(state) if one.key == "judge-review-own")
    assert str(page.data).startswith("# Judge review of 2026-01-10")


def commanded(*arguments: object) -> str:
    given = ["judge", "review", *map(str, arguments)]
    ended = CliRunner().invoke(app, given, env={"COLUMNS": "200"})
    assert ended.exception is None, ended.output
    return " ".join(ended.output.split())


@pytest.mark.slow
def test_the_example_is_planned_reviewed_and_marked_as_simulated(
    place: pytest.MonkeyPatch, database: str, simulator: Simulator
) -> None:
    # It would set what this process, and the tests after this one, read.
    place.setattr("deployments.cli.environment.prepare_environment", lambda *_, **__: None)
    place.setenv("JUDGE_GYM_REUSE_ANSWERS", "true")
    settings.cache_clear()
    before = simulator.answered()
    planned = commanded(EXAMPLE, "--date", "2026-02-01", "--plan")
    assert "all 0 66 66" in planned
    assert "`margins.equivalence: 5` takes 86" in planned
    said = commanded(EXAMPLE, "--date", "2026-02-01")
    assert "Nothing was changed: a person decides. SIMULATED" in said
    assert simulator.answered() - before == 66
    commanded(EXAMPLE, "--date", "2026-02-01")
    assert "all 66 0 0" in commanded(EXAMPLE, "--date", "2026-02-01", "--plan")
    assert simulator.answered() - before == 66
    # Another day is asked anew, though answers to equal questions are used again.
    commanded(EXAMPLE, "--date", "2026-02-02")
    assert simulator.answered() - before == 132
    good, newer, clustering = rows(database, "2026-02-02")
    assert (good[0], newer[1], clustering[1]) == ("good", "good, other model", "clustering")
    assert {row[2] for row in (good, newer, clustering)} == {"keep"}
    assert good[3].startswith("It judges as on 2026-02-01")
    assert all(row[4] for row in (good, newer, clustering))
    page = settings().reports_dir / "judge_review_2026-02-02.html"
    assert "<strong>SIMULATED DATA</strong>" in page.read_text()


def test_a_stopped_review_reports_what_was_judged(file: Path, database: str) -> None:
    judge = load_judge(EXAMPLE.parent / "../calibrations/good.yaml")
    stopping = {"name": "stopping", "budget": {"max_calls": 1}}
    config = judge.model_dump(mode="json", exclude={"name", "budget"}) | stopping
    (file.parent / "mine.yaml").write_text(json.dumps(config))
    file.write_text(FILE.partition("    alternatives")[0])
    given = {"file": str(file), "day": "2026-01-05"}
    error = error_of(run_scheduled(judge_review, "2026-01-10T03:00:00+00:00", **given))
    assert "max_calls is 1" in str(error)
    page = settings().reports_dir / "judge_review_2026-01-05.html"
    assert str(page.resolve()) in str(error)
    assert "Judgements: 1 scored, 11 missing" in page.read_text()


def test_a_review_that_reaches_a_bound_per_hour_says_when_to_go_on(
    file: Path, place: pytest.MonkeyPatch
) -> None:
    (file.parent / "providers.toml").write_text(HOURLY)
    place.setenv("JUDGE_GYM_PROVIDERS_FILE", str(file.parent / "providers.toml"))
    settings.cache_clear()
    judge = load_judge(EXAMPLE.parent / "../calibrations/good.yaml")
    config = judge.model_dump(mode="json", exclude={"name", "model"})
    (file.parent / "mine.yaml").write_text(
        json.dumps(config | {"name": "mine", "model": "rehearsed/good-1"})
    )
    file.write_text(FILE.partition("    alternatives")[0])
    given = {"file": str(file), "day": "2026-01-05"}
    error = error_of(run_scheduled(judge_review, "2026-01-10T03:00:00+00:00", **given))
    assert isinstance(error, HourlyBoundError)
    assert error.after > datetime.now(UTC)
    assert "What was judged, and how much is missing: " in error.message
