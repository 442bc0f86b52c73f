"""What `judge-gym sweep status` says of a run that was killed, cancelled and resumed: one story."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from support.command_line import CommandLine, small_sweep, sweep_text
from support.figures import value_of
from support.killable import Provider
from support.simulation import Simulator
from support.waiting import until

IN_PIECES = {"JUDGE_GYM_CHUNK_SIZE": "2", "JUDGE_GYM_WORKERS": "1"}


@pytest.fixture
def provider() -> Iterator[Provider]:
    slow = Provider()
    slow.start()
    yield slow
    slow.kill()


@pytest.mark.slow
def test_a_lost_run_is_not_in_progress_and_nobody_waits_for_its_end(
    command: CommandLine, database: str, provider: Provider
) -> None:
    # Prefect's server is that of the whole run: what is killed keeps slots of its provider for a
    # while, and cancelling finds flow runs by the sweep's name and the numbers of its windows.
    command.environment["JUDGE_GYM_PROVIDERS_FILE"] = "providers.toml"
    command.environment["JUDGE_GYM_SIMULATOR_URL"] = provider.simulator.url
    Path(command.folder, "providers.toml").write_text(
        '[sim]\nbase_url_env = "JUDGE_GYM_SIMULATOR_URL"\n'
        '[killed]\nlitellm = "openai"\nbase_url_env = "JUDGE_GYM_SIMULATOR_URL"\n'
    )
    with sa.create_engine(database, poolclass=sa.NullPool).begin() as connection:
        connection.exec_driver_sql("ALTER SEQUENCE windows_id_seq RESTART WITH 7001")
    file = command.folder / "lost.yaml"
    text = sweep_text(
        "quick.yaml",
        ("name: quick", "name: lost\nutility_model: killed/utility-1"),
        ("replicates: 2", "replicates: 4"),
    )
    file.write_text(text.replace("sim/", "killed/"))

    def status() -> dict[str, Any]:
        return dict(json.loads(command("sweep", "status", "lost", "--json").fine().output))

    def scoring(found: dict[str, Any]) -> str:
        return str(next(p["state"] for p in found["workflows"] if p["workflow"] == "w3-scoring"))

    command("sweep", "create", file).fine()
    assert status()["state"] == "not started"

    run = command.start("sweep", "run", file, **IN_PIECES)

    def some() -> bool:
        assert run.poll() is None, run.communicate()
        return bool(value_of(database, "SELECT count(*) FROM samples") > 12)

    until(some, "some judgements", 240)
    alive = status()
    assert (alive["state"], scoring(alive)) == ("in progress", "running")

    run.send_signal(signal.SIGKILL)
    run.wait()
    dead = until(lambda: (found := status())["state"] != "in progress" and found, "its end")
    assert (dead["state"], scoring(dead)) == ("stopped", "stopped")
    assert dead["expected"]["at"] is None
    assert dead["last_run"]["ended_at"] is None
    watched = command("sweep", "status", "lost", "--watch")
    assert watched.code == 1
    assert "Sweep lost is stopped: no run is in progress." in watched.errors
    assert "its process was killed" in " ".join(watched.errors.split())
    everything = command("sweep", "status").fine().output
    assert "stopped" in everything

    # The kill may fall between two calls: then none is left to be cancelled.
    open_calls = "SELECT count(*) FROM llm_calls WHERE status IN ('planned', 'sent')"
    in_flight = value_of(database, open_calls)
    command("sweep", "cancel", "lost", "--yes").fine()
    assert status()["state"] == ("cancelled" if in_flight else "stopped")

    command("sweep", "run", file).fine()
    assert status()["state"] == "finished"
    command("sweep", "status", "lost", "--watch").fine()


@pytest.mark.slow
def test_the_status_of_a_stopped_sweep_says_why_it_stopped(
    command: CommandLine, simulator: Simulator
) -> None:
    file = command.folder / "small.yaml"
    file.write_text(small_sweep("bounded", "sim/calm-1") + "budget: {max_calls: 2}\n")
    stopped = command("sweep", "run", file)
    assert stopped.code == 4
    said = " ".join(command("sweep", "status", "bounded").fine().output.split())
    assert "The last run ended at" in said
    assert "max_calls is 2" in said
    file.write_text(file.read_text().replace("max_calls: 2", "max_calls: 100"))
    command("sweep", "run", file).fine()
    assert "The last run ended" not in command("sweep", "status", "bounded").fine().output


@pytest.mark.slow
def test_failures_are_counted_where_they_are_listed(command: CommandLine, database: str) -> None:
    """No provider answers at that address: no sample is failed, and every call failed."""
    Path(command.folder, "providers.toml").write_text(
        '[sim]\nbase_url_env = "JUDGE_GYM_SIMULATOR_URL"\n'
        '[gone]\nlitellm = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    command.environment["JUDGE_GYM_PROVIDERS_FILE"] = "providers.toml"
    command.environment["JUDGE_GYM_CALL_ATTEMPTS"] = "1"
    file = command.folder / "quick.yaml"
    file.write_text(small_sweep("quick", "gone/judge"))
    assert command("sweep", "run", file).code == 1
    found = json.loads(command("sweep", "status", "quick", "--json").fine().output)
    listed = sum(one["count"] for one in found["failures"])
    refused = sum(one["calls"] for one in found["refusals"])
    assert sum(part["failed"] for part in found["workflows"]) == listed + refused > 0
    assert found["state"] == "stopped"
