"""A sweep shared out to two workers, hit at random moments, which nobody resumes.

A worker is killed with all that it runs, or the process of one flow run, or the provider, or the
database goes away and comes back: what is hit when is drawn by the seed that `test_chaos` prints.
What is left is compared with an undisturbed run of one process.
"""

import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import psutil
import pytest

from support.command_line import REPOSITORY, CommandLine, sweep_text
from support.failover import Failover, failing_over
from support.killable import Provider
from support.natural_rows import Rows, natural_rows
from support.postgres import temporary_database
from support.prefect_api import Server
from support.prefect_server import PrefectServer
from support.waiting import until
from support.workers import kill, worker

from .test_chaos import SEED
from .test_workers import count_in

pytestmark = pytest.mark.stress
HITS = max(2, int(os.environ.get("JUDGE_GYM_TEST_KILLS", "2")) // 8)
"""Five of the forty of `make chaos`: a worker that is lost is found after more than a minute."""
PROVIDERS = """
[sim]
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
# No other test of the run uses it: a killed process keeps its slots for a minute.
[shared]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
concurrency = 4
task_slots = 4
"""
CHANGES = (
    ("name: quick", "name: quick\nutility_model: shared/utility-1"),
    ("model: [sim/calm-1, sim/high-1, sim/low-1]", "model: [sim/high-1, sim/low-1]"),
    ("max_documents: 5", "max_documents: 12"),
    ("replicates: 2", "replicates: 8"),
)
PARTS = ("w1-evidence", "w2-rubric", "w3-scoring")
JUDGEMENTS = 2 * 12 * 8
ENDS_S = 900.0


@dataclass
class Site:
    """The parts that are hit, and what was in flight when they were."""

    command: CommandLine
    server: Server
    provider: Provider
    database: Failover
    count: Callable[[str], int]
    sweep: str
    stack: ExitStack
    chance: random.Random
    workers: list[psutil.Process] = field(default_factory=list)
    in_flight: int = 0

    def start_worker(self) -> None:
        name = f"worker {len(self.workers)}"
        self.workers.append(self.stack.enter_context(worker(self.command, name, limit=4)))

    def hit(self, part: str) -> None:
        self.in_flight += self.count("SELECT count(*) FROM llm_calls WHERE status = 'sent'")
        getattr(self, f"_hit_{part}")()

    def _hit_worker(self) -> None:
        kill(self.chance.choice([one for one in self.workers if one.is_running()]))
        self.start_worker()

    def _hit_process(self) -> None:
        """That of the sweep or of a flow run that it has launched."""
        runs = [self.server.get(f"/flow_runs/{self.sweep}"), *self.server.runs("w3-scoring")]
        numbers = [
            int(run["infrastructure_pid"].rpartition(":")[2])
            for run in runs
            if run["state_type"] == "RUNNING" and run["infrastructure_pid"]
        ]
        alive = [number for number in numbers if psutil.pid_exists(number)]
        if alive:
            os.kill(self.chance.choice(alive), signal.SIGKILL)

    def _hit_provider(self) -> None:
        self.provider.kill()
        self.provider.start()

    def _hit_database(self) -> None:
        self.database.go_away()
        self.database.come_back()


@dataclass(frozen=True)
class Story:
    """What was left in the end."""

    state: dict[str, Any]
    rows: Rows
    undisturbed: Rows
    answered: int
    in_flight: int


@pytest.fixture(scope="module")
def story(
    postgres_server: str,
    migrated_template: str,
    prefect_server: PrefectServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("chaos-of-workers")
    file = folder / "quick.yaml"
    file.write_text(sweep_text("quick.yaml", *CHANGES).replace("sim/", "shared/"))
    (folder / "providers.toml").write_text(PROVIDERS)
    chance = random.Random(f"{SEED} workers")
    parts = [chance.choice(("worker", "process", "provider", "database")) for _ in range(HITS)]
    # A run that nobody can resume but the automation, at least once.
    parts[chance.randrange(HITS)] = chance.choice(("worker", "process"))
    moments = sorted(chance.sample(range(1, JUDGEMENTS * 3 // 4), HITS))
    print(f"Seed {SEED}: {list(zip(moments, parts, strict=True))} of {JUDGEMENTS} judgements.")
    server = Server(prefect_server.url)
    provider = Provider()
    with ExitStack() as stack:
        hit, calm = (
            stack.enter_context(temporary_database(postgres_server, migrated_template))
            for _ in range(2)
        )
        database = stack.enter_context(failing_over(hit))
        provider.start()
        stack.callback(provider.kill)
        environment = {
            **prefect_server.environment,
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            "JUDGE_GYM_DATABASE_URL": database.url,
            "JUDGE_GYM_SIMULATOR_URL": provider.simulator.url,
            "JUDGE_GYM_PROVIDERS_FILE": str(folder / "providers.toml"),
            "JUDGE_GYM_CHUNK_SIZE": "10",
            "JUDGE_GYM_CALL_ATTEMPTS": "10",
            "JUDGE_GYM_HOME": str(REPOSITORY),
        }
        command = CommandLine(folder, environment, in_process=True)
        command("database", "init").fine()
        sweep = server.run("sweep/default", file=str(file), at_once=2, only=list(PARTS))
        count = count_in(hit)
        site = Site(command, server, provider, database, count, sweep, stack, chance)
        for _ in range(2):
            site.start_worker()
        for moment, part in zip(moments, parts, strict=True):
            until(
                lambda moment=moment: count("SELECT count(*) FROM samples") >= moment,
                f"{moment} judgements",
                ENDS_S,
                every=0.1,
            )
            site.hit(part)
        words = [word for part in PARTS for word in ("--only", part)]
        command("sweep", "run", file, *words, JUDGE_GYM_DATABASE_URL=calm).fine()

        def state() -> dict[str, Any]:
            found: dict[str, Any] = server.get(f"/flow_runs/{sweep}")["state"]
            return found

        until(
            lambda: state()["type"] in ("COMPLETED", "FAILED") or state()["name"] == "Abandoned",
            "the end of the sweep",
            ENDS_S,
            every=1,
        )
        yield Story(
            state(), natural_rows(hit), natural_rows(calm), provider.answered(), site.in_flight
        )


def test_the_sweep_ends_well_without_anyone_who_resumes_it(story: Story) -> None:
    assert story.state["type"] == "COMPLETED", story.state


def test_it_leaves_what_an_undisturbed_run_leaves(story: Story) -> None:
    for table, rows in story.undisturbed.items():
        assert story.rows[table] == rows, table
    assert len(story.rows["samples"]) == JUDGEMENTS


def test_only_what_was_on_its_way_is_paid_for_again(story: Story) -> None:
    calls = len(story.rows["llm_calls"]) + len(story.undisturbed["llm_calls"])
    assert calls <= story.answered <= calls + story.in_flight
