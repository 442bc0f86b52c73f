"""Slots of a provider that a killed run held: the next command has them, but not beside a run."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import asyncio, sys
from pathlib import Path
from deployments.cli.environment import prefect_api
from deployments.local.temporary_server import set_prefect_defaults

set_prefect_defaults(Path("data"), verbose=False)
from prefect.client.orchestration import get_client

async def taken():
    async with get_client() as client:
        await client.upsert_global_concurrency_limit_by_name("tag:provider:sim", 4)
        if sys.argv[1] == "take":
            await client.increment_concurrency_slots(["tag:provider:sim"], 4, "concurrency")
        return (await client.read_global_concurrency_limit_by_name("tag:provider:sim")).active_slots

with prefect_api():
    print(asyncio.run(taken()), flush=True)
    if sys.argv[1] == "take":
        sys.stdin.read()
"""


def started(folder: Path, argument: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, argument],
        cwd=folder,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_slots_are_free_after_a_kill_and_kept_beside_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PREFECT_API_URL", "PREFECT_HOME", "PREFECT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    run = started(tmp_path, "take")
    assert first_line(run) == "4"
    assert first_line(started(tmp_path, "look")) == "4"
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert first_line(started(tmp_path, "look")) == "0"
