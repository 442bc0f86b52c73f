"""A sweep whose calls go as batches, typed until it is done."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from judge_gym.simulator.launch import running
from support.command_line import CommandLine, sweep_text
from support.prefect_server import PrefectServer

pytestmark = pytest.mark.stress
TRY_AGAIN_LATER = 75
PROVIDERS = """
[sim]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
batch = true

[sim-anthropic]
litellm = "anthropic"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
path = "/"
batch = "anthropic"
models."*" = {refuses = ["seed"]}
"""


@pytest.fixture
def slow() -> Iterator[str]:
    """A simulator whose batches take longer than a test."""
    with running(batch_seconds=3600) as url:
        yield url


def test_a_sweep_that_waits_says_so_and_can_be_cancelled(
    database: str, slow: str, prefect_server: PrefectServer, tmp_path: Path
) -> None:
    (tmp_path / "providers.toml").write_text(PROVIDERS)
    command = CommandLine(
        tmp_path,
        {
            "JUDGE_GYM_DATABASE_URL": database,
            "JUDGE_GYM_SIMULATOR_URL": slow,
            "JUDGE_GYM_PROVIDERS_FILE": str(tmp_path / "providers.toml"),
            **prefect_server.environment,
        },
    )
    file = tmp_path / "quick.yaml"
    text = sweep_text("quick.yaml")
    for judge in ("high-1", "low-1"):
        text = text.replace(f"sim/{judge}", f"sim-anthropic/{judge}")
    file.write_text(text)
    planned = command("sweep", "plan", file).fine().output
    assert "sim and sim-anthropic use the batch API" in planned
    waiting = command("sweep", "run", file)
    assert waiting.code == TRY_AGAIN_LATER, waiting
    said = " ".join(waiting.output.split())
    assert "10 judgements wait in batches at sim;" in said
    assert "20 judgements wait in batches at sim-anthropic" in said
    assert f"judge-gym sweep run {file}" in waiting.output
    # A slow run says how far it is.
    assert all(line.startswith("sweep quick: ") for line in waiting.errors.splitlines()), (
        waiting.errors
    )

    status = command("sweep", "status", "quick").fine().output
    [w3] = [line.split() for line in status.splitlines() if line.startswith("w3")]
    assert w3[-1] == "30"

    listed = command("sweep", "batches", "list").fine().output
    assert "3 open batches" in listed
    rows = [line.replace("│", " ").split() for line in listed.splitlines() if "-1" in line]
    assert {(row[1], row[2], row[3]) for row in rows} == {
        (model, "submitted", "10")
        for model in ("sim/calm-1", "sim-anthropic/high-1", "sim-anthropic/low-1")
    }
    one = next(row[0] for row in rows if row[1] == "sim-anthropic/low-1")
    assert f"Batch {one} is cancelling." in command("sweep", "batches", "cancel", one).fine().output
    assert "cancelling" in command("sweep", "batches", "list").fine().output
    unknown = command("sweep", "batches", "cancel", "999")
    assert unknown.code == 1
    assert "no open batch 999" in unknown.errors
