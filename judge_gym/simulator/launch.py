"""Start the simulator as a process of its own and stop it again."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict, Unpack

from judge_gym.errors import JudgeGymError


class LaunchSettings(TypedDict, total=False):
    """Settings of the simulator beside port and latency; each has a default."""

    faults: Path | None
    """A fault plan (TOML); no faults when not given."""
    batch_seconds: float
    """From a batch's creation to its end; 1 when not given."""
    state: Path | None
    """A folder in which files and batches outlive the process; memory when not given."""
    news: Path | None
    """Articles to serve as news (JSONL, see `news.read_archive`); no news when not given."""
    known: Path | None
    """What graders know (JSONL, see `text_features.read_known`); nothing when not given."""


def as_arguments(settings: LaunchSettings) -> list[str]:
    """Return the settings as `python -m judge_gym.simulator` takes them."""
    return [
        part
        for name, value in settings.items()
        if value is not None
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]


LISTENING = "judge-gym simulator listening on "
NEWS_AT = "its news search, for JUDGE_GYM_FIRECRAWL_URL: "
_STOP_SECONDS = 10.0


@contextmanager
def running(
    log_file: Path | None = None,
    latency: float = 0.0,
    *,
    port: int = 0,
    **settings: Unpack[LaunchSettings],
) -> Iterator[str]:
    """Run the simulator as `started` does; yields only its base URL."""
    with started(log_file, latency, port=port, **settings) as (_, url):
        yield url


@contextmanager
def started(
    log_file: Path | None = None,
    latency: float = 0.0,
    *,
    port: int = 0,
    **settings: Unpack[LaunchSettings],
) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """Run the simulator beside this process; yields it and its base URL, ending in `/v1`.

    It ends with the block, and with this process however that ends: it stops when the pipe to its
    standard input closes. Ctrl-C does not reach it, so that it answers until its clients have
    ended. Its stderr goes to `log_file`. Port 0 takes a free one. Raises `ConfigError` for a fault
    plan that cannot be used and `JudgeGymError` when it does not start.
    """
    if faults := settings.get("faults"):
        # Reading config files takes longer to import than everything else here.
        from judge_gym.simulator.faults.reading import load_plan

        load_plan(faults)
    command = [sys.executable, "-m", "judge_gym.simulator", "--stop-with-stdin"]
    with open(log_file or os.devnull, "ab") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--latency", str(latency), *as_arguments(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline().decode().strip()
        if not line.startswith(LISTENING):
            where = f"See {log_file}." if log_file else "Give a log file to see why."
            raise JudgeGymError("The simulator did not start.", where)
        yield process, line.removeprefix(LISTENING)
    finally:
        process.stdin.close()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
