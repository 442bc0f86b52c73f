"""The simulator's HTTP face: an OpenAI-compatible provider on loopback, for one process.

Routes, counts and lifetime only; bodies are read and written by `chat`, answers come from
`answering`.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from judge_gym.simulator.answering import answer
from judge_gym.simulator.chat import BadRequest, completion, error_body, read_body
from judge_gym.simulator.families import family_named, planted, served_models

HOST = "127.0.0.1"
MAX_BODY_BYTES = 8 * 1024 * 1024


@dataclass
class Stats:
    """Counts since the start; only the event loop touches them."""

    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    in_flight: int = 0
    refused: int = 0
    calls: dict[str, dict[str, int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )

    def as_json(self) -> dict[str, Any]:
        return {
            "started_at": self.started_at,
            "in_flight": self.in_flight,
            "refused": self.refused,
            "total": sum(sum(roles.values()) for roles in self.calls.values()),
            "calls": self.calls,
        }


_STATS = web.AppKey("stats", Stats)
_LATENCY = web.AppKey("latency", float)


def create_app(latency: float = 0.0) -> web.Application:
    """Return the application; `latency` is waited before each answer, in seconds."""
    app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[_errors_as_json])
    app[_STATS] = Stats()
    app[_LATENCY] = latency
    app.router.add_get("/v1/models", _models)
    app.router.add_post("/v1/chat/completions", _chat)
    app.router.add_get("/stats", _stats)
    return app


@asynccontextmanager
async def serving(port: int = 0, latency: float = 0.0) -> AsyncIterator[str]:
    """Serve on loopback inside this event loop; yields the base URL, ending in `/v1`.

    Port 0 takes a free one; raises `OSError` when the port given is taken.
    """
    runner = web.AppRunner(create_app(latency), access_log=None, shutdown_timeout=2.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port)
        await site.start()
        yield f"http://{HOST}:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def _chat(request: web.Request) -> web.Response:
    stats = request.app[_STATS]
    stats.in_flight += 1
    try:
        chat = read_body(await _json_body(request))
        model = chat.request.model
        if family_named(model) is None:
            raise _UnknownModel(model)
        if latency := request.app[_LATENCY]:
            await asyncio.sleep(latency)
        given = answer(chat.request)
        stats.calls[model][given.role] += 1
        return web.json_response(completion(chat, given))
    finally:
        stats.in_flight -= 1


async def _models(request: web.Request) -> web.Response:
    owners = {f"sim/{model}": name for name, fam in planted().items() for model in fam.models}
    models = [
        {"id": model, "object": "model", "created": 0, "owned_by": f"judge-gym/{owners[model]}"}
        for model in served_models()
    ]
    return web.json_response({"object": "list", "data": models})


async def _stats(request: web.Request) -> web.Response:
    return web.json_response(request.app[_STATS].as_json())


class _UnknownModel(Exception):
    def __init__(self, model: str) -> None:
        served = ", ".join(served_models())
        super().__init__(f"The model {model!r} does not exist. The simulator serves: {served}.")


async def _json_body(request: web.Request) -> Any:
    try:
        return json.loads(await request.read())
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from None


@web.middleware
async def _errors_as_json(request: web.Request, handler: Any) -> web.StreamResponse:
    """Answer every refusal in OpenAI's error shape, as clients expect it."""
    try:
        response: web.StreamResponse = await handler(request)
        return response
    except BadRequest as error:
        refusal = _refusal(400, str(error), parameter=error.parameter)
    except _UnknownModel as error:
        refusal = _refusal(404, str(error), code="model_not_found", parameter="model")
    except web.HTTPException as error:
        where = f"{request.method} {request.path}"
        refusal = _refusal(error.status, f"{error.reason}: {where}", code=_CODES.get(error.status))
    request.app[_STATS].refused += 1
    return refusal


_CODES = {404: "unknown_url", 405: "method_not_supported", 413: "request_too_large"}


def _refusal(
    status: int, message: str, *, code: str | None = None, parameter: str | None = None
) -> web.Response:
    body = error_body(message, kind="invalid_request_error", code=code, parameter=parameter)
    return web.json_response(body, status=status)
