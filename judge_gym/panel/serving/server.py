"""The HTTP face of a panel: two routes, what stands before them, and their lifetime."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import BaseEvent
from ag_ui.encoder import EventEncoder
from aiohttp import web
from pydantic import SecretStr
from yarl import URL

from judge_gym.counting import counted
from judge_gym.http_guards import (
    LOOPBACK,
    RequestRefused,
    check_host,
    check_origin,
    page_response,
    refused_by_aiohttp,
    with_headers,
)
from judge_gym.llm.waits import LONGEST_STOP_S
from judge_gym.panel.panel import Panel
from judge_gym.panel.serving import guards
from judge_gym.panel.serving.events import read_input, tell_run
from judge_gym.panel.serving.settings import ServerLimits, check_token
from judge_gym.runtime import Runtime

_STOP_S = LONGEST_STOP_S + 5.0
"""Longest time that runs have to keep that they were stopped."""
_REMEDIES = {
    404: "The page is at /, the endpoint at /agui, the health check at /health.",
    405: "Use GET for the page and POST for the endpoint.",
}


@asynccontextmanager
async def serving(
    runtime: Runtime,
    panel: Panel,
    *,
    page: Callable[[str], str],
    host: str = LOOPBACK,
    port: int = 0,
    token: SecretStr | None = None,
    limits: ServerLimits | None = None,
) -> AsyncIterator[str]:
    """Serve a panel in this event loop; yields the address of its page.

    `page` renders the page; it takes the nonce that its style and script must have.
    Port 0 takes a free one. When the block ends, runs are cancelled and say so. Raises
    `ConfigError` for a host that needs a token, `OSError` when it cannot listen there.
    """
    check_token(host, token)
    served = _ServedPanel(runtime, panel, page, host, token, limits or ServerLimits())
    app = web.Application(client_max_size=served.limits.body_bytes, middlewares=[served.guarded])
    app.router.add_get("/", served.page)
    app.router.add_get("/health", served.health)
    app.router.add_post("/agui", served.run)
    app.on_response_prepare.append(with_headers)
    app.on_shutdown.append(served.stop)
    runner = web.AppRunner(
        app, access_log=None, handler_cancellation=True, shutdown_timeout=_STOP_S
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield str(URL.build(scheme="http", host=host, port=runner.addresses[0][1]))
    finally:
        await runner.cleanup()


@dataclass
class _ServedPanel:
    """A panel being served."""

    runtime: Runtime
    panel: Panel
    render: Callable[[str], str]
    host: str
    token: SecretStr | None
    limits: ServerLimits
    runs: set["asyncio.Task[Any]"] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._rate = guards.AddressRate(self.limits.requests_a_minute)

    @web.middleware
    async def guarded(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """What every request passes; whatever refuses one answers as JSON."""
        try:
            check_host(request, self.host, self.limits.allowed_hosts)
            self._rate.take(guards.address_of(request, behind_proxy=self.limits.behind_proxy))
            response: web.StreamResponse = await handler(request)
            return response
        except RequestRefused as refused:
            return refused.response
        except web.HTTPException as error:
            return refused_by_aiohttp(error, _REMEDIES).response

    async def page(self, _: web.Request) -> web.Response:
        """Answer with the page."""
        nonce = secrets.token_urlsafe(16)
        return page_response(self.render(nonce), nonce)

    async def health(self, _: web.Request) -> web.Response:
        """Answer that it serves; nothing about the panel, as no token is needed."""
        return web.json_response({"status": "ok"})

    async def run(self, request: web.Request) -> web.StreamResponse:
        """Run the panel on the document of a request, which is told as it goes on."""
        check_origin(request, self.limits.allowed_hosts)
        guards.check_token(request, self.token)
        run_input, document = read_input(await self._body(request))
        task = asyncio.current_task()
        assert task is not None
        if len(self.runs) >= self.limits.runs_at_once:
            raise RequestRefused(
                429,
                f"{counted(len(self.runs), 'run')} in progress, the most at once.",
                "Try again when one has ended.",
                {"Retry-After": "10"},
            )
        self.runs.add(task)
        try:
            encoder = EventEncoder()
            response = web.StreamResponse(headers={"Content-Type": encoder.get_content_type()})
            await response.prepare(request)

            async def send(event: BaseEvent) -> None:
                # Whoever has left is no reason to end here: this task is cancelled for it.
                with suppress(ConnectionError):
                    await response.write(encoder.encode(event).encode())

            try:
                await tell_run(self.runtime, self.panel, document, run_input, send)
            finally:
                # Without an end, a browser throws away what it has not read yet.
                with suppress(ConnectionError):
                    await response.write_eof()
            return response
        finally:
            self.runs.discard(task)

    async def stop(self, _: web.Application) -> None:
        """Cancel every run; returns when each has kept that it was."""
        for run in self.runs:
            run.cancel()
        if self.runs:
            await asyncio.wait(self.runs, timeout=_STOP_S)

    async def _body(self, request: web.Request) -> bytes:
        try:
            async with asyncio.timeout(self.limits.body_s):
                return await request.read()
        except TimeoutError:
            raise RequestRefused(
                408, f"The body was not there after {self.limits.body_s:g} s.", "Send it again."
            ) from None
        except web.HTTPRequestEntityTooLarge:
            raise RequestRefused(
                413,
                f"The body is longer than {self.limits.body_bytes} bytes.",
                "Send a shorter document.",
            ) from None
