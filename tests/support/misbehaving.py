"""A small OpenAI-compatible server that answers as its script says: the provider on a bad day.

Every request takes the next step of the script; the last step repeats. What was sent is kept.
"""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Step = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Provider:
    """Where it is, and what it was sent."""

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)


def completion(text: str | None = "VERDICT: A", **changes: Any) -> dict[str, Any]:
    """A well-formed answer, with changes: `finish_reason`, `usage`, `message` or top-level keys."""
    message = changes.pop("message", {"role": "assistant", "content": text})
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": changes.pop("finish_reason", "stop"),
    }
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }
    return {key: value for key, value in (body | changes).items() if value is not ...}


def answers(text: str | None = "VERDICT: A", **changes: Any) -> Step:
    """A step that answers well."""
    return replies(200, completion(text, **changes))


def replies(status: int, body: Any, headers: dict[str, str] | None = None) -> Step:
    """A step that replies with a status and a body: JSON, or text for a `str`."""

    async def step(_: web.Request) -> web.StreamResponse:
        if isinstance(body, str):
            return web.Response(status=status, text=body, content_type="text/html", headers=headers)
        return web.Response(
            status=status,
            body=json.dumps(body).encode(),
            content_type="application/json",
            headers=headers,
        )

    return step


def refuses(
    status: int, message: str, code: str | None = None, headers: dict[str, str] | None = None
) -> Step:
    """A step that refuses in OpenAI's error shape."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return replies(status, {"error": error}, headers)


async def cuts_connection(request: web.Request) -> web.StreamResponse:
    """Begin an answer and drop the connection in the middle of it."""
    response = web.StreamResponse(headers={"Content-Length": "5000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.abort()
    return response


async def resets_connection(request: web.Request) -> web.StreamResponse:
    """Take the request and reset the connection before a byte of the answer."""
    assert request.transport is not None
    at_once = struct.pack("ii", 1, 0)
    request.transport.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, at_once
    )
    request.transport.abort()
    return web.Response()


async def stays_silent(request: web.Request) -> web.StreamResponse:
    """Never answer."""
    await asyncio.sleep(30)
    return web.Response()


async def drips(request: web.Request) -> web.StreamResponse:
    """Send a space now and then, so that no read ever times out by itself."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    for _ in range(300):
        await response.write(b" ")
        await asyncio.sleep(0.1)
    return response


@asynccontextmanager
async def misbehaving(*script: Step) -> AsyncIterator[Provider]:
    """Serve the script on loopback in this event loop."""
    provider = Provider("")

    async def chat(request: web.Request) -> web.StreamResponse:
        provider.bodies.append(await request.read())
        provider.requests.append(await request.json())
        provider.keys.append(request.headers.get("Authorization", ""))
        provider.headers.append(request.headers)
        return await _step(script, len(provider.requests))(request)

    app = web.Application()
    for path in ("/v1/chat/completions", "/v1/embeddings", "/v1/messages", "/v1/messages/batches"):
        app.router.add_post(path, chat)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        provider.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield provider
    finally:
        await runner.cleanup()


def _step(script: Sequence[Step], request: int) -> Step:
    return script[min(request, len(script)) - 1]
