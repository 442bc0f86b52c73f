"""A provider that keeps a log of what it bills for, and has bad days when it is told to.

It passes requests on to the simulator, which answers them. What is paid for is known from this
log, not from the ledger that is compared with it.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
from aiohttp import web

from judge_gym.seeds import sha256

ERRORS = {401: "invalid_api_key", 429: "rate_limit_exceeded"}


class PaidProvider:
    """OpenAI's API at one address of loopback, in a thread."""

    def __init__(self, simulator: str, key: str, latency_s: float) -> None:
        self.key = key
        """The one that it accepts."""
        self.is_away, self.limits = False, False
        self.answered: Counter[str] = Counter()
        """Digest of a request's body → answers, each of which is paid for."""
        self.refused: Counter[int] = Counter()
        """Status → requests that were not answered; 0 where the connection was closed."""
        self.in_flight = 0
        self.latency_s = latency_s
        """Of the answers to requests that come from now on."""
        self._simulator = simulator
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._runner, self.url = self._do(self._started())

    def end(self) -> None:
        """Stop for good."""
        self._do(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _started(self) -> tuple[web.AppRunner, str]:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        app.router.add_get("/v1/models", self._models)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return runner, f"http://127.0.0.1:{runner.addresses[0][1]}/v1"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if refusal := self._refusal(request):
            return refusal
        self.in_flight += 1
        try:
            await asyncio.sleep(self.latency_s)
            address = f"{self._simulator}/chat/completions"
            headers = {"Content-Type": "application/json"}
            async with (
                aiohttp.ClientSession() as session,
                session.post(address, data=body, headers=headers) as reply,
            ):
                answer = await reply.read()
            assert reply.status == 200, answer
            self.answered[sha256(body.decode())] += 1
            return web.Response(body=answer, content_type="application/json")
        finally:
            self.in_flight -= 1

    async def _models(self, request: web.Request) -> web.StreamResponse:
        return self._refusal(request) or web.json_response({"object": "list", "data": []})

    def _refusal(self, request: web.Request) -> web.StreamResponse | None:
        if self.is_away:
            self.refused[0] += 1
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if request.headers.get("Authorization") != f"Bearer {self.key}":
            return self._refused(401, "Incorrect API key provided.")
        if self.limits:
            return self._refused(429, "Rate limit reached for requests.")
        return None

    def _refused(self, status: int, message: str) -> web.Response:
        self.refused[status] += 1
        error = {"message": message, "type": "invalid_request_error", "code": ERRORS[status]}
        headers = {"Retry-After": "2"} if status == 429 else {}
        return web.json_response({"error": error}, status=status, headers=headers)


@contextmanager
def paid_provider(simulator: str, key: str, latency_s: float) -> Iterator[PaidProvider]:
    """One for the block."""
    provider = PaidProvider(simulator, key, latency_s)
    try:
        yield provider
    finally:
        provider.end()
