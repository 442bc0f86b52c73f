"""The gate of a provider: how many requests are in flight, and when to hold back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    """Bounds one provider's requests in this process; a rate limit closes it for everybody."""

    def __init__(self, concurrency: int) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._open_at = 0.0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold one slot, once the gate is open."""
        async with self._slots:
            loop = asyncio.get_running_loop()
            while (wait := self._open_at - loop.time()) > 0:
                await asyncio.sleep(wait)
            yield

    def close_for(self, seconds: float) -> None:
        """Let nobody new through for `seconds`: the provider asked for a pause."""
        loop = asyncio.get_running_loop()
        self._open_at = max(self._open_at, loop.time() + seconds)
