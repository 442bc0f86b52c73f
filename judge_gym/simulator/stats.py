"""What the simulator has served so far, for `/stats`."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web


@dataclass
class Stats:
    """Counts since the start; only the event loop touches them.

    `calls` counts answers made, on either route and whether or not they arrived: what a provider
    would charge. `batch_lines` of them were lines of batches. `refused` counts every refusal.
    `news` counts requests for searches and pages, however they ended. `most_in_flight` is the most
    chat requests that were being answered at one moment.
    """

    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    in_flight: int = 0
    most_in_flight: int = 0
    refused: int = 0
    batch_lines: int = 0
    news: Counter[str] = field(default_factory=Counter)
    calls: dict[str, dict[str, int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )

    def arrived(self) -> None:
        """Count a chat request that is being answered from now on."""
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def as_json(self) -> dict[str, Any]:
        return {
            "started_at": self.started_at,
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "refused": self.refused,
            "total": sum(sum(roles.values()) for roles in self.calls.values()),
            "batch_lines": self.batch_lines,
            "news": self.news,
            "calls": self.calls,
        }


STATS = web.AppKey("stats", Stats)
