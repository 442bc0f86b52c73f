"""What can be set of a simulator beside port and latency, as arguments and on a command line."""

from pathlib import Path
from typing import TypedDict


class Settings(TypedDict, total=False):
    """Each has a default when not given."""

    faults: Path | None
    """A fault plan (TOML); no faults when not given."""
    batch_seconds: float
    """From a batch's creation to its end; 1 when not given."""
    state: Path | None
    """A folder in which files and batches outlive the process; memory when not given."""
    news: Path | None
    """A corpus file or folder to serve as news; no news when not given."""
    known: Path | None
    """What graders know (JSONL, see `known`); nothing when not given."""


def as_arguments(settings: Settings) -> list[str]:
    """Return the settings as `python -m judge_gym.simulator` takes them."""
    return [
        part
        for name, value in settings.items()
        if value is not None
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]
