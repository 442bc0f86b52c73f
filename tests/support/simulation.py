"""`simulator`: the offline provider as a process of its own, shared by a test session."""

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from judge_gym.simulator.launch import running

Fault = dict[str, Any]
"""A table of a fault plan."""


@dataclass(frozen=True)
class Simulator:
    """A running simulator; `url` ends in `/v1`."""

    url: str

    def answered(self) -> int:
        """How many requests it has answered or refused so far."""
        stats = self.statistics()
        return int(stats["total"]) + int(stats["refused"])

    def statistics(self) -> dict[str, Any]:
        """What it says of itself: answers, refusals and faults so far."""
        with urllib.request.urlopen(f"{self._address}/stats", timeout=60) as reply:
            stats: dict[str, Any] = json.load(reply)
        return stats

    def use_faults(self, *faults: Fault) -> None:
        """Have it give these faults from now on, and no others."""
        request = urllib.request.Request(
            f"{self._address}/faults",
            data=json.dumps({"seed": 3, "fault": faults}).encode(),
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=60).close()

    @property
    def _address(self) -> str:
        return self.url.removesuffix("/v1")


@pytest.fixture(scope="session")
def simulator() -> Iterator[Simulator]:
    """A simulator that answers at once."""
    with running() as url:
        yield Simulator(url)
