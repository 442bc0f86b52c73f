"""`simulator`: the offline provider as a process of its own, shared by a test session."""

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from judge_gym.simulator.launch import running


@dataclass(frozen=True)
class Simulator:
    """A running simulator; `url` ends in `/v1`."""

    url: str

    def answered(self) -> int:
        """How many requests it has answered or refused so far."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/stats", timeout=10) as reply:
            stats: dict[str, Any] = json.load(reply)
        return int(stats["total"]) + int(stats["refused"])


@pytest.fixture(scope="session")
def simulator() -> Iterator[Simulator]:
    """A simulator that answers at once."""
    with running() as url:
        yield Simulator(url)
