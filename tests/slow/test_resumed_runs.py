"""A sweep whose worker is killed before the run began, and whose process is killed in the middle.

Prefect's server, the workers, PostgreSQL and the provider are real processes, and nobody does
anything after a kill: what is lost is found and resumed by the automations that `judge-gym database
init` makes.
"""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import psutil
import pytest

from judge_gym.simulator.launch import running
from support.command_line import REPOSITORY, CommandLine, sweep_text
from support.natural_rows import Rows, natural_rows
from support.postgres import temporary_database
from support.prefect_api import Server
from support.prefect_server import PrefectServer
from support.simulation import Simulator
from support.waiting import until
from support.workers import kill, worker

from .test_workers import LONGEST_S, count_in

pytestmark = pytest.mark.slow
AT_MOST = 20
PROVIDERS = """
[sim]
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
# No other test of the run uses it: a killed process keeps its slots for a minute.
[lost]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
concurrency = 8
task_slots = 8
"""
CHANGES = (
    ("name: quick", "name: quick\nutility_model: lost/utility-1"),
    ("model: [sim/calm-1, sim/high-1, sim/low-1]", "model: [sim/high-1, sim/low-1]"),
    ("max_documents: 5", "max_documents: 8"),
    ("replicates: 2", "replicates: 4"),
)
PARTS = ("w1-evidence", "w2-rubric", "w3-scoring")
JUDGEMENTS = 2 * 8 * 4


@dataclass(frozen=True)
class Story:
    """What was left in the end."""

    run: dict[str, Any]
    states: list[dict[str, Any]]
    """Of the sweep's run, in their order."""
    children: list[dict[str, Any]]
    rows: Rows
    undisturbed: Rows
    in_flight: int
    """Calls that had been sent and not answered when the process was killed."""
    answered: int
    """Requests of both sweeps that the provider answered."""


@pytest.fixture(scope="module")
def story(
    postgres_server: str,
    migrated_template: str,
    prefect_server: PrefectServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("resumed")
    file = folder / "quick.yaml"
    file.write_text(sweep_text("quick.yaml", *CHANGES).replace("sim/", "lost/"))
    (folder / "providers.toml").write_text(PROVIDERS)
    server = Server(prefect_server.url)
    with ExitStack() as stack:
        hit, calm = (
            stack.enter_context(temporary_database(postgres_server, migrated_template))
            for _ in range(2)
        )
        provider = Simulator(stack.enter_context(running(latency=0.5)))
        environment = {
            **prefect_server.environment,
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            "JUDGE_GYM_DATABASE_URL": hit,
            "JUDGE_GYM_SIMULATOR_URL": provider.url,
            "JUDGE_GYM_PROVIDERS_FILE": str(folder / "providers.toml"),
            "JUDGE_GYM_CHUNK_SIZE": "10",
            "JUDGE_GYM_HOME": str(REPOSITORY),
        }
        command = CommandLine(folder, environment, in_process=True)
        command("database", "init").fine()
        # A busy machine takes more than 75 s to begin a process, which is then found lost again.
        resumes = server.get("/deployments/name/resume/default")["id"]
        server.ask("PATCH", f"/deployments/{resumes}", parameters={"at_most": AT_MOST})
        run = server.run("sweep/default", file=str(file), only=list(PARTS))
        with worker(command, "killed", limit=1) as first:
            until(
                lambda: server.get(f"/flow_runs/{run}")["state_type"] == "PENDING",
                "a run that has been taken",
                LONGEST_S,
                every=0.05,
            )
            kill(first)
        assert server.get(f"/flow_runs/{run}")["state_type"] == "PENDING"
        stack.enter_context(worker(command, "second", limit=2))
        count = count_in(hit)
        until(
            lambda: count("SELECT count(*) FROM samples") >= JUDGEMENTS / 4,
            "a quarter of the judgements",
            LONGEST_S,
            every=0.1,
        )
        pid = int(server.get(f"/flow_runs/{run}")["infrastructure_pid"].rpartition(":")[2])
        assert psutil.pid_exists(pid)
        os.kill(pid, signal.SIGKILL)
        in_flight = count("SELECT count(*) FROM llm_calls WHERE status = 'sent'")
        parts = [word for part in PARTS for word in ("--only", part)]
        command("sweep", "run", file, *parts, JUDGE_GYM_DATABASE_URL=calm).fine()

        def ended() -> bool:
            state = server.get(f"/flow_runs/{run}")["state"]
            return bool(state["type"] in ("COMPLETED", "FAILED"))

        until(ended, "the end of the sweep", 2 * LONGEST_S, every=1)
        within = {"parent_flow_run_id": {"any_": [run]}}
        yield Story(
            server.get(f"/flow_runs/{run}"),
            sorted(
                server.get(f"/flow_run_states/?flow_run_id={run}"),
                key=lambda state: str(state["timestamp"]),
            ),
            server.post("/flow_runs/filter", flow_runs=within),
            natural_rows(hit),
            natural_rows(calm),
            in_flight,
            provider.answered(),
        )


def test_the_sweep_ends_well_without_anyone_who_resumes_it(story: Story) -> None:
    assert story.run["state_type"] == "COMPLETED", story.states
    resumed = [state["message"] for state in story.states if "Resumed" in (state["message"] or "")]
    assert resumed[:2] == [
        f"Resumed after a crash, {time} of at most {AT_MOST}." for time in (1, 2)
    ]


def test_a_run_that_never_began_is_found_before_one_that_lost_its_heartbeat(story: Story) -> None:
    """It crashed without ever having been at work, and not after the time for containers."""
    types = [state["type"] for state in story.states]
    assert "RUNNING" not in types[: types.index("CRASHED")]


def test_the_flow_run_inside_the_lost_process_does_not_stay_running(story: Story) -> None:
    ends = Counter(child["state_type"] for child in story.children)
    assert ends.pop("CRASHED") == 1
    assert ends.keys() == {"COMPLETED"}


def test_it_leaves_what_an_undisturbed_sweep_leaves(story: Story) -> None:
    for table, rows in story.undisturbed.items():
        assert story.rows[table] == rows, table
    assert len(story.rows["samples"]) == JUDGEMENTS


def test_only_what_was_on_its_way_is_paid_for_again(story: Story) -> None:
    calls = len(story.rows["llm_calls"]) + len(story.undisturbed["llm_calls"])
    assert calls <= story.answered <= calls + story.in_flight
