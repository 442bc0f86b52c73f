"""What every route of the simulator shares: JSON bodies in, refusals out, and counts."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)


class Refusal(Exception):
    """A response other than 200, which each API writes in its own format.

    `parameter` names the field at fault; `kind` and `code` are the API's own, `details` what it
    adds to them.
    """

    def __init__(
        self,
        message: str,
        parameter: str | None = None,
        *,
        status: int = 400,
        kind: str = "invalid_request_error",
        code: str | None = None,
        details: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.status = status
        self.kind = kind
        self.code = code
        self.details = details
        self.headers = dict(headers or {})


async def read_json(request: web.Request) -> Any:
    """Return the body; raises `Refusal` when it is not JSON."""
    try:
        return json.loads(await request.read())
    except (ValueError, RecursionError) as error:
        raise Refusal(f"the body is not JSON: {error}") from None


def read_model(model: type[M], data: Any, words: Mapping[str, str] | None = None) -> M:
    """Read a body as `model`; raises `Refusal` naming the first field at fault and the fault.

    `words` maps pydantic's type of error to a vendor's own words.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or "body"
    raise Refusal(f"{place}: {(words or {}).get(first['type'], first['msg'])}", place)


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
