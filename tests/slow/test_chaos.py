"""A sweep whose parts are killed at random moments, one part each time: one story.

The run, PostgreSQL, the provider and Prefect's server are real processes, killed with SIGKILL and
started again where they were; the disk of the database is filled and freed; the run is typed again
whenever it has ended. What it leaves is compared with an undisturbed run of the same sweep.

Which part is hit when is drawn by a seed, which is printed; JUDGE_GYM_TEST_SEED repeats a draw.

The moments are numbers of answers in the ledger, so that they do not depend on the machine's pace.
Restarted runs are forked from a process that has done their imports, or those would be most of the
time; the undisturbed run is the console script.
"""

import json
import os
import random
import secrets
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest

from judge_gym.store import embedded
from support.command_line import CommandLine, sweep_text
from support.killable import Disk, Part, Postgres, Provider, Run
from support.launcher import Launcher
from support.natural_rows import Rows, natural_rows
from support.postgres import temporary_database
from support.prefect_server import PrefectServer, ServerProcess
from support.simulation import Simulator
from support.waiting import until

pytestmark = pytest.mark.stress
KILLS = int(os.environ.get("JUDGE_GYM_TEST_KILLS", "6"))
"""Beside the two at once. `make chaos` has forty, which take longer than tests should."""
SEED = int(os.environ.get("JUDGE_GYM_TEST_SEED", secrets.randbelow(2**31)))
FIRST = ("run", "prefect")
"""Killed at once, at the first moment."""
LONGEST_S = 900.0
CHANGES = (
    ("name: quick", "name: chaos\nutility_model: sim/utility-1"),
    ("max_documents: 5", "max_documents: 12"),
    ("model: [sim/calm-1, sim/high-1, sim/low-1]", "model: [sim/high-1, sim/low-1]"),
    ("replicates: 2", "replicates: 4"),
)
ANSWERS = 12 + 8 + 5 * 48 + 200
"""Summaries, rubrics, judgements, and fewer probes than there are in the end."""
SLOTS = 20
"""For the chunks of all processes that were killed: each slot comes back after a minute."""
PROVIDERS = f"""
[sim]
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
# No other test of the run uses it: the undisturbed run shares its server with them.
[chaos]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
concurrency = {4 * SLOTS}
task_slots = {SLOTS}
"""
SETTINGS = {
    "JUDGE_GYM_CHUNK_SIZE": "20",
    "JUDGE_GYM_WORKERS": "2",
    # A provider that is away for a moment fails no judgement.
    "JUDGE_GYM_CALL_ATTEMPTS": "10",
}


@dataclass(frozen=True)
class Story:
    """What was left in the end."""

    rows: Rows
    undisturbed: Rows
    run: Run
    answered: int
    """Requests that the provider answered."""
    prefect: ServerProcess
    hit: list[str]
    """The parts that were killed or filled after the first two, in order."""


@pytest.fixture(scope="module")
def calm_database(postgres_server: str, migrated_template: str) -> Iterator[str]:
    """A database for the undisturbed run."""
    with temporary_database(postgres_server, migrated_template) as url:
        yield url


@pytest.fixture(scope="module")
def story(
    calm_database: str,
    simulator: Simulator,
    prefect_server: PrefectServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("chaos")
    text = sweep_text("quick.yaml", *CHANGES).replace("sim/", "chaos/")
    (folder / "chaos.yaml").write_text(text)
    (folder / "providers.toml").write_text(PROVIDERS)
    settings = {**SETTINGS, "JUDGE_GYM_PROVIDERS_FILE": str(folder / "providers.toml")}
    calm = {
        "JUDGE_GYM_DATABASE_URL": calm_database,
        "JUDGE_GYM_SIMULATOR_URL": simulator.url,
        **prefect_server.environment,
    }
    undisturbed = CommandLine(folder, settings | calm).start("sweep", "run", "chaos.yaml")
    provider, prefect = Provider(), ServerProcess(folder)
    postgres = Postgres(folder / "data" / "postgres")
    own = {"JUDGE_GYM_SIMULATOR_URL": provider.simulator.url, **prefect.server.environment}
    launcher = Launcher(folder, CommandLine(folder, settings | own).variables())
    run = Run(launcher, postgres, "chaos.yaml")
    disk = Disk(postgres)
    parts: dict[str, Part] = {
        "run": run,
        "postgres": postgres,
        "provider": provider,
        "prefect": prefect,
    }
    if disk.mount():
        parts["disk"] = disk
    else:
        print("No disk is filled: this user may not mount one.")
    hit = drawn(parts)
    print(f"Seed {SEED}: {', '.join(hit)}. Repeat with JUDGE_GYM_TEST_SEED={SEED}.")
    try:
        for name in ("postgres", "provider", "prefect", "run"):
            parts[name].start()
        go_through(parts, hit, run, postgres)
        output, errors = undisturbed.communicate(timeout=LONGEST_S)
        assert undisturbed.returncode == 0, output + errors
        yield Story(
            natural_rows(postgres.url),
            natural_rows(calm_database),
            run,
            provider.answered(),
            prefect,
            hit,
        )
    finally:
        undisturbed.kill()
        undisturbed.communicate()
        launcher.close()
        provider.kill()
        prefect.stop()
        embedded.remove(postgres.folder)
        if "disk" in parts:
            disk.unmount()


def drawn(parts: Iterable[str]) -> list[str]:
    """The part to hit at each moment: every part in turn, in an order that is drawn."""
    chance, hit = random.Random(SEED), list[str]()
    while len(hit) < KILLS:
        hit += chance.sample(sorted(parts), len(list(parts)))
    return hit[:KILLS]


def go_through(parts: dict[str, Part], hit: list[str], run: Run, postgres: Postgres) -> None:
    """Hit one part at each moment and start it again; first two at once; then let it end."""

    def answers_or_ended() -> bool:
        run.go_on()
        return postgres.count(_ANSWERS) >= moment

    moments = sorted(random.Random(SEED).sample(range(ANSWERS), KILLS + 1))
    for moment, names in zip(moments, [FIRST, *((name,) for name in hit)], strict=True):
        until(answers_or_ended, f"{moment} answers", LONGEST_S, every=0.2)
        if "provider" in names:
            run.in_flight += run.calls_in_flight()
        for name in names:
            parts[name].kill()
        for name in reversed(names):
            parts[name].start()
    run.finish()


_ANSWERS = "SELECT count(*) FROM llm_calls WHERE status = 'succeeded'"


def slots_held(prefect: ServerProcess) -> int:
    """Slots that tasks hold at the moment, over all limits."""
    request = urllib.request.Request(
        f"{prefect.server.url}/v2/concurrency_limits/filter",
        data=b"{}",
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        return sum(limit["active_slots"] for limit in json.load(reply))


def test_what_is_left_is_what_an_undisturbed_run_leaves(story: Story) -> None:
    for table, rows in story.undisturbed.items():
        assert rows
        assert story.rows[table] == rows, table


def test_only_what_was_on_its_way_when_a_run_ended_is_asked_again(story: Story) -> None:
    assert story.answered <= len(story.rows["llm_calls"]) + story.run.in_flight


def test_every_end_of_a_run_is_a_kill_a_success_or_one_clear_message(story: Story) -> None:
    *before, (last, said) = story.run.ends
    assert last == 0, said
    kills = [code for code, _ in before if code == -9]
    assert len(kills) == 1 + story.hit.count("run")
    for code, said in before:
        if code != -9:
            assert code == 1, said
            assert "rerun the command" in said.lower() or "--retry-failed" in said, said
            assert "Unexpected" not in said


def test_slots_of_killed_processes_come_back_by_themselves(story: Story) -> None:
    """Those too whose server was killed with them; after the minute that a task's lease lasts."""
    until(lambda: slots_held(story.prefect) == 0, "the slots of killed processes", 150, every=1)
