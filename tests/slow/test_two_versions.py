"""An upgrade with a run in flight: two versions at once, their workers real processes.

The newer one is a wheel of a copy of the checkout with another version and one more migration. Its
`database init` migrates the database while a worker of the older one is in the middle of a run.
That run stops before its next calls, the newer worker does what is missing, and commands of the
older version are refused.
"""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from judge_gym.simulator.launch import running
from support import wheels
from support.command_line import REPOSITORY, CommandLine, Ended
from support.migrations import LATER, SCRIPT, newest
from support.paid_provider import paid_provider
from support.postgres import temporary_database
from support.prefect_api import Server
from support.prefect_server import PrefectServer
from support.waiting import until
from support.workers import Worker

from .test_workers import LONGEST_S, count_in

pytestmark = pytest.mark.slow
KEY = "sk-two-versions-0123456789"
ITEMS, ENOUGH = 24, 5
FAST_S, SLOW_S = 0.2, 5.0
"""Latencies: the second while the database is migrated, so that the run is not over before."""
PROVIDERS = """
[versions]
litellm = "openai"
base_url = "{url}"
key_env = "VERSIONS_API_KEY"
concurrency = 2
task_slots = 1
"""
RESULTS = "SELECT count(*) FROM judge_results WHERE failure IS NULL"
OF_RESUMING = "Resumed after a crash"


@dataclass(frozen=True)
class Story:
    """What happened."""

    paid: int
    """Answers that were paid for until the older version's run had stopped."""
    stored: int
    """Of these."""
    states: list[dict[str, Any]]
    """Of the run, in their order."""
    results: int
    answered: list[int]
    """How often the provider answered each request."""
    refused: list[Ended]
    """Commands of the older version, after all this."""
    paid_since: int
    """Answers to them."""


def newer(folder: Path) -> Path:
    """The command of a judge-gym with one more migration."""
    copy = wheels.copied(folder / "copy")
    project = copy / "pyproject.toml"
    project.write_text(project.read_text().replace('\nversion = "', '\nversion = "9.', 1))
    more = SCRIPT.format(
        revision=LATER,
        below=newest(),
        up="ALTER TABLE llm_calls ADD COLUMN later text",
        down="ALTER TABLE llm_calls DROP COLUMN later",
    )
    (copy / "sql" / "migrations" / "versions" / f"{LATER}_later.py").write_text(more)
    [wheel] = wheels.built(copy, folder / "built").glob("*.whl")
    return wheels.environment(wheel, sys.executable, folder / "environment") / "judge-gym"


@pytest.fixture(scope="module")
def story(
    postgres_server: str,
    migrated_template: str,
    prefect_server: PrefectServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("versions")
    judge = (REPOSITORY / "deployments" / "calibrations" / "good.yaml").read_text()
    judge = judge.replace("sim/", "versions/").partition("\ngate:")[0]
    (folder / "judge.yaml").write_text(f"{judge}\n")
    for name, start in (("items", 0), ("more", ITEMS)):
        rows = [{"id": f"n{at}", "text": f"Costs: {at}."} for at in range(start, start + ITEMS)]
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    server = Server(prefect_server.url)
    with ExitStack() as stack:
        url = stack.enter_context(temporary_database(postgres_server, migrated_template))
        simulator = stack.enter_context(running())
        provider = stack.enter_context(paid_provider(simulator, KEY, FAST_S))
        (folder / "providers.toml").write_text(PROVIDERS.format(url=provider.url))
        environment = {
            **prefect_server.environment,
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            "JUDGE_GYM_DATABASE_URL": url,
            "JUDGE_GYM_PROVIDERS_FILE": str(folder / "providers.toml"),
            "JUDGE_GYM_CHUNK_SIZE": "4",
            "JUDGE_GYM_WORKERS": "1",
            "JUDGE_GYM_HOME": str(folder),
            "VERSIONS_API_KEY": KEY,
        }
        older = CommandLine(folder, environment)
        pool = stack.enter_context(ThreadPoolExecutor())
        building = pool.submit(newer, folder)
        older("database", "init").fine()
        upgraded = CommandLine(folder, environment, building.result())
        first, second = Worker(older, "older", limit=None), Worker(upgraded, "newer", limit=None)
        for one in (first, second):
            stack.callback(one.kill)
        first.start()
        run = server.run("score/default", judge="judge.yaml", items="items.jsonl")
        until(lambda: provider.answered.total() >= ENOUGH, "some answers", LONGEST_S)
        provider.latency_s = SLOW_S
        second.start()
        upgrade = pool.submit(upgraded, "database", "init")

        def states() -> list[dict[str, Any]]:
            found = server.get(f"/flow_run_states/?flow_run_id={run}")
            return sorted(found, key=lambda state: str(state["timestamp"]))

        until(lambda: any(state["type"] == "CRASHED" for state in states()), "its stop", LONGEST_S)
        provider.latency_s = FAST_S
        paid, stored = provider.answered.total(), count_in(url)(RESULTS)
        until(lambda: OF_RESUMING in (states()[-1]["message"] or ""), "its next begin", LONGEST_S)
        first.kill()
        # At once, and not after the half a minute for which a worker may be lost.
        begins = {"type": "SCHEDULED", "message": "Now."}
        server.post(f"/flow_runs/{run}/set_state", state=begins, force=True)
        until(lambda: states()[-1]["type"] in ("COMPLETED", "FAILED"), "its end", LONGEST_S)
        upgrade.result().fine()
        results, answered = count_in(url)(RESULTS), list(provider.answered.values())
        commands = (
            ("judge", "score", "judge.yaml", "--items", "more.jsonl"),
            ("database", "init"),
        )
        refused = list(pool.map(lambda arguments: older(*arguments), commands))
        paid_since = provider.answered.total() - len(answered)
        yield Story(paid, stored, states(), results, answered, refused, paid_since)


def test_the_run_stops_before_its_next_calls_and_says_why(story: Story) -> None:
    stop = next(state for state in story.states if state["type"] == "CRASHED")
    assert f"upgraded to schema {LATER} by a newer judge-gym" in stop["message"]
    # Calls that were at work are stored.
    assert ENOUGH <= story.stored == story.paid < ITEMS


def test_the_older_version_refuses_in_one_line_before_anything_is_spent(story: Story) -> None:
    for refused in story.refused:
        assert refused.code == 1, refused
        assert f"is of schema {LATER}, unknown to this judge-gym" in refused.errors
        assert "upgrade judge-gym" in refused.errors
        assert "Traceback" not in refused.errors
    assert story.paid_since == 0


def test_the_newer_worker_resumes_it_and_nothing_is_paid_for_twice(story: Story) -> None:
    assert story.states[-1]["type"] == "COMPLETED", story.states[-1]
    assert story.results == ITEMS
    assert story.answered == [1] * ITEMS
