"""A calibration, a panel's evaluation and a sweep in batches, each hit while it is at work.

The command is killed, its provider is killed, or its database goes away and comes back, at moments
and in an order that a seed draws; `test_chaos` prints it. What is left is compared with an
undisturbed run of the same command.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from support.command_line import REPOSITORY, CommandLine, sweep_text
from support.failover import failing_over
from support.killable import Provider
from support.launcher import Launcher
from support.postgres import temporary_database
from support.prefect_server import PrefectServer
from support.waiting import until

from .test_chaos import LONGEST_S, SEED

pytestmark = pytest.mark.stress
EXAMPLES = REPOSITORY / "deployments"
HITS = 2
MOST_STARTS = 15
WAITS = 75
"""The exit code while calls wait in batches."""
PROVIDERS = """
[sim]
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
# No other test of the run uses it: a killed process keeps its slots for minutes.
[hit]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
concurrency = 40
task_slots = 40
batch = {batch}
"""
CALIBRATION = """
name: small
judges: [good.yaml]
items: items.jsonl
repeats: 2
perturbations: [vague_ify, injection_line]
severities: [1.0]
"""


def calibration(folder: Path) -> tuple[str, ...]:
    calibrations = EXAMPLES / "calibrations"
    (folder / "good.yaml").write_text(of_provider((calibrations / "good.yaml").read_text()))
    lines = (calibrations / "notes.jsonl").read_text().splitlines()[:8]
    (folder / "items.jsonl").write_text("\n".join(lines))
    (folder / "small.yaml").write_text(CALIBRATION)
    return "judge", "calibrate", "small.yaml"


def panel(folder: Path) -> tuple[str, ...]:
    for file in (EXAMPLES / "panels").glob("*.yaml"):
        (folder / file.name).write_text(of_provider(file.read_text()))
    lines = (EXAMPLES / "panels" / "labelled.jsonl").read_text().splitlines()[:6]
    (folder / "labelled.jsonl").write_text("\n".join(lines))
    return "panel", "evaluate", "two-families.yaml", "--corpus", "labelled.jsonl"


def batches(folder: Path) -> tuple[str, ...]:
    text = sweep_text(
        "quick.yaml",
        ("name: quick", "name: quick\nutility_model: sim/utility-1"),
        ("max_documents: 5", "max_documents: 4"),
    )
    (folder / "quick.yaml").write_text(of_provider(text))
    return "sweep", "run", "quick.yaml"


def of_provider(text: str) -> str:
    return text.replace("sim/", "hit/")


_CALLS = "SELECT key, model, status, answer FROM llm_calls"
_MADE = (
    "SELECT m.key, j.status, j.score, j.verdict, j.repeat FROM judge_results AS j "
    "JOIN judge_items AS m ON m.id = j.item_id"
)


def rows(url: str, query: str = _CALLS) -> list[tuple[object, ...]]:
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        return sorted(map(tuple, connection.exec_driver_sql(query).all()), key=str)


def number(url: str, condition: str) -> int:
    return len(rows(url, f"SELECT id FROM llm_calls WHERE {condition}"))  # noqa: S608


@pytest.fixture
def two_databases(postgres_server: str, migrated_template: str) -> Iterator[tuple[str, str]]:
    with (
        temporary_database(postgres_server, migrated_template) as calm,
        temporary_database(postgres_server, migrated_template) as hit,
    ):
        yield calm, hit


@pytest.mark.parametrize("make", [calibration, panel, batches], ids=lambda make: make.__name__)
def test_a_command_that_is_hit_leaves_what_an_undisturbed_one_leaves(
    make: Callable[[Path], tuple[str, ...]],
    two_databases: tuple[str, str],
    launcher: Launcher,
    prefect_server: PrefectServer,
    tmp_path: Path,
) -> None:
    arguments = make(tmp_path)
    (tmp_path / "providers.toml").write_text(
        PROVIDERS.format(batch="true" if make is batches else "false")
    )
    calm, hit = two_databases
    provider = Provider(state=tmp_path / "provider")
    provider.start()
    common = {
        "JUDGE_GYM_SIMULATOR_URL": provider.simulator.url,
        "JUDGE_GYM_PROVIDERS_FILE": str(tmp_path / "providers.toml"),
        "JUDGE_GYM_CHUNK_SIZE": "8",
        "JUDGE_GYM_WORKERS": "2",
        "JUDGE_GYM_CALL_ATTEMPTS": "10",
        **prefect_server.environment,
    }

    def start(url: str) -> None:
        variables = CommandLine(tmp_path, common | {"JUDGE_GYM_DATABASE_URL": url}).variables()
        launcher.start(*arguments, folder=tmp_path, environment=variables)

    def to_the_end(url: str) -> None:
        for _ in range(MOST_STARTS):
            code = launcher.wait()
            assert code in (0, 1, WAITS), launcher.output() + launcher.errors()
            if code == 0:
                return
            start(url)
        raise AssertionError(launcher.output() + launcher.errors())

    try:
        start(calm)
        to_the_end(calm)
        calls, before = rows(calm), provider.answered()
        chance = random.Random(f"{SEED} {make.__name__}")
        parts = chance.sample(("run", "provider", "database"), HITS)
        moments = sorted(chance.sample(range(1, len(calls) - 1), HITS))
        print(f"Seed {SEED}: {list(zip(moments, parts, strict=True))} of {len(calls)} calls.")
        in_flight = 0
        with failing_over(hit) as database:
            start(database.url)
            for moment, part in zip(moments, parts, strict=True):

                def reached(moment: int = moment) -> bool:
                    if launcher.pid and launcher.ended() is not None:
                        start(database.url)
                    return number(hit, "status = 'succeeded'") >= moment

                until(reached, f"{moment} answers", LONGEST_S, every=0.1)
                in_flight += number(hit, "status = 'sent'")
                if part == "run" and launcher.pid:
                    launcher.kill()
                    launcher.wait()
                    start(database.url)
                elif part == "provider":
                    provider.kill()
                    provider.start()
                else:
                    database.go_away()
                    database.come_back()
            to_the_end(database.url)
        assert rows(hit) == calls
        assert rows(hit, _MADE) == rows(calm, _MADE)
        if make is not batches:  # a batch is paid for by the calls that come back
            assert provider.answered() - before <= len(calls) + in_flight
    finally:
        if launcher.pid:
            launcher.kill()
            launcher.wait()
        provider.kill()
