"""A sweep shared out to two workers, one of which is killed with its flow run half-way.

Prefect's server, the workers, PostgreSQL and the provider are real processes. The same file is run
by one process into another database, while the server has yet to notice what is gone.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import psutil
import pytest
import sqlalchemy as sa

from judge_gym.simulator.launch import running
from support.command_line import REPOSITORY, CommandLine, sweep_text
from support.natural_rows import Rows, natural_rows
from support.postgres import temporary_database
from support.prefect_api import Server
from support.prefect_server import PrefectServer
from support.simulation import Simulator
from support.waiting import until
from support.workers import kill, worker

pytestmark = pytest.mark.slow
IN_FLIGHT, TASK_SLOTS = 8, 4
LATENCY_S = 1.0
PROVIDERS = f"""
[sim]
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
# No other test of the run uses it: a killed process keeps its slots for minutes.
[away]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
concurrency = {IN_FLIGHT}
task_slots = {TASK_SLOTS}
"""
CHANGES = (
    ("name: quick", "name: quick\nutility_model: sim/utility-1"),
    ("max_documents: 5", "max_documents: 8"),
    ("replicates: 2", "replicates: 4"),
)
JUDGEMENTS = 3 * 8 * 4
"""Of W3, a third of them by each flow run."""
LONGEST_S = 900.0
PARTS = ("w1-evidence", "w2-rubric", "w3-scoring")
"""W4 and W5 are shared out in the same way; tests/flow/test_flow_fanning_out.py has them."""


@dataclass(frozen=True)
class Story:
    """What was left in the end."""

    server: Server
    rows: Rows
    alone: Rows
    earlier: frozenset[str]
    """Flow runs of other tests on the same server."""
    killed: dict[str, Any]
    """The flow run that lost its process."""
    on_its_way: int
    """Calls that had been sent and not answered when it did."""
    before: int
    """The most requests in flight at once until then."""
    provider: dict[str, Any]

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The flow runs of W3 that belong to this story."""
        return [one for one in self.server.runs("w3-scoring") if one["id"] not in self.earlier]


@pytest.fixture(scope="module")
def story(
    postgres_server: str,
    migrated_template: str,
    prefect_server: PrefectServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("workers")
    file = folder / "quick.yaml"
    file.write_text(sweep_text("quick.yaml", *CHANGES).replace("sim/", "away/"))
    (folder / "providers.toml").write_text(PROVIDERS)
    server = Server(prefect_server.url)
    with ExitStack() as stack:
        shared, alone = (
            stack.enter_context(temporary_database(postgres_server, migrated_template))
            for _ in range(2)
        )
        provider = Simulator(stack.enter_context(running(latency=LATENCY_S)))
        environment = {
            **prefect_server.environment,
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            "JUDGE_GYM_DATABASE_URL": shared,
            "JUDGE_GYM_SIMULATOR_URL": provider.url,
            "JUDGE_GYM_PROVIDERS_FILE": str(folder / "providers.toml"),
            "JUDGE_GYM_CHUNK_SIZE": "10",
            "JUDGE_GYM_HOME": str(REPOSITORY),
        }
        command = CommandLine(folder, environment, in_process=True)
        command("database", "init").fine()
        earlier = frozenset(run["id"] for run in server.runs("w3-scoring"))
        stack.enter_context(worker(command, "first", limit=3))
        sweep = server.run("sweep/default", file=str(file), at_once=3, only=list(PARTS))
        server.reaches(sweep, "RUNNING", LONGEST_S)
        # The first has places for the sweep and two of its flow runs, so this one gets the third.
        second = stack.enter_context(worker(command, "second", limit=1))
        killed, on_its_way, before = kill_at_work(server, second, count_in(shared), provider)
        parts = [word for part in PARTS for word in ("--only", part)]
        command("sweep", "run", file, *parts, JUDGE_GYM_DATABASE_URL=alone).fine()
        server.reaches(sweep, "COMPLETED", LONGEST_S)
        stats = provider.statistics()
        yield Story(
            server,
            natural_rows(shared),
            natural_rows(alone),
            earlier,
            killed,
            on_its_way,
            before,
            stats,
        )


def count_in(url: str) -> Callable[[str], int]:
    """What counts rows of a database: the number that a query gives."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)

    def count(query: str) -> int:
        with engine.connect() as connection:
            return int(connection.scalar(sa.text(query)) or 0)

    return count


def kill_at_work(
    server: Server, process: psutil.Process, count: Callable[[str], int], provider: Simulator
) -> tuple[dict[str, Any], int, int]:
    """Kill a worker in the middle of a flow run.

    Returns that run, the calls that were on their way, and the most in flight until then.
    """

    def at_work() -> dict[str, Any] | None:
        own = {one.pid for one in process.children(recursive=True)}
        return next(
            (
                run
                for run in server.runs("w3-scoring")
                if run["state_type"] == "RUNNING"
                and int((run["infrastructure_pid"] or ":0").rpartition(":")[2]) in own
            ),
            None,
        )

    run = until(at_work, "a flow run of the second worker", LONGEST_S, every=1)
    [tag] = run["parameters"]["experiments"]
    judged = f"""
        SELECT count(*) FROM samples JOIN arms ON arms.id = arm_id
        JOIN experiments ON experiments.id = experiment_id WHERE tag = '{tag}'
    """  # noqa: S608
    until(
        lambda: count(judged) >= JUDGEMENTS / 3 / 4,
        "a quarter of its judgements",
        LONGEST_S,
        every=0.2,
    )
    before = int(provider.statistics()["most_in_flight"])
    kill(process)
    return run, count("SELECT count(*) FROM llm_calls WHERE status = 'sent'"), before


def test_what_is_left_is_what_one_process_leaves(story: Story) -> None:
    for table, rows in story.alone.items():
        assert story.rows[table] == rows, table
    assert len(story.rows["samples"]) == JUDGEMENTS


def test_the_limit_of_the_provider_holds_over_all_processes(story: Story) -> None:
    assert IN_FLIGHT / TASK_SLOTS < story.before <= IN_FLIGHT
    # The provider goes on with calls whose sender was killed, beside those of who is left.
    most = IN_FLIGHT + story.on_its_way
    assert story.provider["most_in_flight"] <= most


def test_only_what_was_on_its_way_is_asked_again(story: Story) -> None:
    calls = len(story.rows["llm_calls"]) + len(story.alone["llm_calls"])
    assert calls <= story.provider["total"] <= calls + story.on_its_way


def test_the_lost_flow_run_was_noticed_and_another_did_the_rest(story: Story) -> None:
    runs = story.runs
    ends = {run["id"]: run["state_type"] for run in runs}
    lost = story.killed
    assert ends.pop(lost["id"]) == "CRASHED"
    assert set(ends.values()) == {"COMPLETED"}
    of_it = lost["parameters"]["experiments"]
    again = [ends.get(one["id"]) for one in runs if one["parameters"]["experiments"] == of_it]
    assert again == [None, "COMPLETED"]


def test_every_experiment_has_a_flow_run_of_its_own(story: Story) -> None:
    assert len({tuple(run["parameters"]["experiments"]) for run in story.runs}) == 3
