"""The gate of a provider: how many requests may be in flight, and how fast new ones may start.

The bounds in the providers file are for all processes together. A process takes the share of
them that its chunks have of the provider's task slots (Prefect's tag limit hands those out, one
a chunk), so that nobody has to ask anybody before a request.

Concurrency adapts: a rate limit halves it, successes raise it one step a round trip, and a
server error only pauses the raising. While a provider fails every request, one at a time tries it,
after pauses that double. Rates are kept for any minute, bursts included.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from judge_gym.llm.providers import Provider
from judge_gym.records.calls import RECOVERED

BURST_S = 5.0
"""Seconds' worth of a rate that may be used at once after a lull."""
DOWN_AFTER = 5
"""Requests in a row that the provider failed, after which one at a time tries it."""
LONGEST_PAUSE = 10
"""Longest pause before such a try, in first pauses."""
CALM_S = 10.0
"""After a server error the concurrency is not raised for this long."""


@dataclass(frozen=True)
class LimitChange:
    """The gate moved: the new bound of requests in flight, and why."""

    provider: str
    in_flight: int
    reason: str


class Pace:
    """A rate kept for every minute, whatever share of it this process has at the moment.

    Each amount is given the time at which the rate has earned it (virtual scheduling), first
    come, first served. A bucket of a fixed size would not do: the share changes as chunks come
    and go, and a request may need more than a bucket of its share would ever hold.
    """

    def __init__(self, per_minute: int | None) -> None:
        # Any minute holds at most a minute of the pace and what a lull had saved up.
        self._per_s = None if per_minute is None else per_minute / (60 + BURST_S)
        self._earned_at = -BURST_S

    async def take(self, amount: float, share: float) -> None:
        """Wait until `share` of the rate has earned `amount`."""
        if self._per_s is None:
            return
        start = max(self._earned_at, _now() - BURST_S)
        self._earned_at = start + amount / (self._per_s * share)
        if (wait := start - _now()) > 0:
            await asyncio.sleep(wait)


class Gate:
    """One provider's gate in this process; belongs to one event loop."""

    def __init__(self, provider: Provider, on_change: Callable[[LimitChange], None]) -> None:
        self._provider = provider
        self._on_change = on_change
        self._chunks = 0
        self._in_flight = 0
        self._ended = asyncio.Event()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._factor = 1.0
        """What adapting leaves of this process's share of the concurrency, in (0, 1]."""
        self._open_at = self._lowered_until = self._calm_until = 0.0
        self._failed_in_a_row = self._pauses = 0
        self._requests = Pace(provider.requests_per_minute)
        self._tokens = Pace(provider.tokens_per_minute)

    @asynccontextmanager
    async def chunk(self) -> AsyncIterator[None]:
        """Hold one task slot's share of the bounds while a chunk is being done.

        Other chunks of this process may have borrowed the share. It ends once their requests fit
        without it, for another process may take the slot at once.
        """
        self._chunks += 1
        self._wake()
        try:
            yield
        finally:
            self._chunks -= 1
        while self._in_flight > self._most:
            self._ended.clear()
            await self._ended.wait()

    @asynccontextmanager
    async def slot(
        self, tokens: int, check: Callable[[], None] | None = None
    ) -> AsyncIterator[None]:
        """Hold one request's place, once all bounds allow it; `tokens` is what it may use.

        `check` raises where it is not to be sent any more: it then takes nothing from the rates.
        """
        await self._enter()
        try:
            await self._opened(check)
            await self._requests.take(1, self.share)
            await self._tokens.take(tokens, self.share)
            await self._opened(check)  # it may have been closed meanwhile
            yield
        finally:
            self._leave()

    async def _opened(self, check: Callable[[], None] | None) -> None:
        """Wait until the provider takes requests again; raises what `check` raises."""
        while (wait := self._open_at - _now()) > 0:
            await asyncio.sleep(wait)
        if check is not None:
            check()

    @property
    def share(self) -> float:
        """This process's share of the provider's bounds, in (0, 1]."""
        return min(1.0, max(1, self._chunks) / self._provider.task_slots)

    @property
    def _most(self) -> int:
        """The highest that `bound` can be with this share."""
        return max(1, int(self._provider.concurrency * self.share))

    @property
    def bound(self) -> int:
        """How many requests this process may have in flight now; at least one."""
        if self.is_down:
            return 1
        return max(1, int(self._provider.concurrency * self.share * self._factor))

    @property
    def is_down(self) -> bool:
        """Whether the provider has failed so many requests in a row that one at a time tries it."""
        return self._failed_in_a_row >= DOWN_AFTER

    def succeeded(self) -> None:
        """A request went through: raise the bound by one a round trip, unless it is calm time."""
        was_down, self._failed_in_a_row, self._pauses = self.bound == 1, 0, 0
        if was_down:
            self._wake()
        if self._factor < 1.0 and _now() >= max(self._calm_until, self._lowered_until):
            ceiling = self._provider.concurrency * self.share
            self._factor = min(1.0, self._factor + 1 / (ceiling * self.bound))
            if self._factor == 1.0:
                self._tell(RECOVERED)
            self._wake()

    def server_failed(self, pause_s: float) -> None:
        """The provider has trouble of its own: leave the bound where it is for a while.

        When it fails every request, pause for `pause_s` seconds, and twice as long each time after.
        """
        self._calm_until = _now() + CALM_S
        self._failed_in_a_row += 1
        if self.is_down and _now() >= self._open_at:
            self._open_at = _now() + pause_s * min(2**self._pauses, LONGEST_PAUSE)
            self._pauses += 1

    def rate_limited(self, pause_s: float) -> None:
        """Let nobody through for `pause_s` and halve the bound, once for all that is in flight."""
        self._open_at = max(self._open_at, _now() + pause_s)
        if _now() < self._lowered_until:
            return
        self._lowered_until = self._open_at
        self._factor = max(self._factor / 2, 1 / self._provider.concurrency)
        self._tell(f"rate limit, pause {pause_s:g} s")

    async def _enter(self) -> None:
        if not self._waiting and self._in_flight < self.bound:
            self._in_flight += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()
            raise

    def _leave(self) -> None:
        self._in_flight -= 1
        self._ended.set()
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._in_flight < self.bound:
            turn = self._waiting.popleft()
            if not turn.done():
                self._in_flight += 1
                turn.set_result(None)

    def _tell(self, reason: str) -> None:
        self._on_change(LimitChange(self._provider.name, self.bound, reason))


def _now() -> float:
    return asyncio.get_running_loop().time()
