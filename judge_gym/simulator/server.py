"""The simulator's HTTP server: a provider on loopback, for one process.

It speaks the APIs of `vendors` for single requests and batches, and Firecrawl's for news. Routes
and lifetime only.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from aiohttp import web

from judge_gym.errors import ConfigError
from judge_gym.planted.families import family_named, served_models
from judge_gym.simulator.batches.message_routes import add_message_batch_routes
from judge_gym.simulator.batches.routes import Store, add_batch_routes
from judge_gym.simulator.chat import MARK
from judge_gym.simulator.faults import plan
from judge_gym.simulator.faults.injection import INJECTOR, Injector, deliver, reply, subject_of
from judge_gym.simulator.faults.reading import load_plan, read_plan
from judge_gym.simulator.http import STATS, Refusal, Stats, read_json
from judge_gym.simulator.launch import LaunchSettings
from judge_gym.simulator.news import Archive, add_news_routes, read_archive
from judge_gym.simulator.text_features import Known, read_known
from judge_gym.simulator.vendors import ApiRequest, Vendor
from judge_gym.simulator.vendors.registry import VENDORS, vendor_at

_CODES = {404: "unknown_url", 405: "method_not_supported", 413: "request_too_large"}


@web.middleware
async def refusals_as_json(request: web.Request, handler: Any) -> web.StreamResponse:
    """Answer every refusal in the error format of the API at this path; OpenAI's by default."""
    try:
        response: web.StreamResponse = await handler(request)
        return response
    except Refusal as error:
        refusal = error
    except web.HTTPException as error:
        message = f"{error.reason}: {request.method} {request.path}"
        refusal = Refusal(message, status=error.status, code=_CODES.get(error.status))
    stats = request.app[STATS]
    stats.refused += 1
    if request.path.startswith("/v2/"):
        body, headers = {"success": False, "error": str(refusal)}, refusal.headers
    else:
        vendor = vendor_at(request.path)
        body, headers = vendor.refused(refusal), vendor.headers(stats) | refusal.headers | MARK
    return web.json_response(body, status=refusal.status, headers=headers)


HOST = "127.0.0.1"
MAX_BODY_BYTES = 8 * 1024 * 1024
_LATENCY = web.AppKey("latency", float)
_KNOWN: web.AppKey[Known] = web.AppKey("known")


def create_app(
    latency: float = 0.0, *, archive: Archive | None = None, **settings: Unpack[LaunchSettings]
) -> web.Application:
    """Return the application. It waits `latency` seconds before each answer.

    `archive` takes the place of the setting `news`. Raises `JudgeGymError` for a fault plan, a
    state folder or a file that cannot be used.
    """
    faults = settings.get("faults")
    app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[refusals_as_json])
    app[STATS] = Stats()
    app[_LATENCY] = latency
    app[_KNOWN] = read_known(settings.get("known"))
    app[INJECTOR] = Injector(load_plan(faults) if faults else plan.FaultPlan())
    app.router.add_get("/v1/models", _models)
    for vendor in VENDORS:
        for path in vendor.paths:
            app.router.add_post(path, partial(_answered, vendor))
    app.router.add_get("/stats", _stats)
    app.router.add_post("/faults", _use_faults)
    app.router.add_delete("/faults", _end_faults)
    add_batch_routes(app, Store(settings.get("state")), settings.get("batch_seconds", 1.0))
    add_message_batch_routes(app)
    add_news_routes(app, archive or read_archive(settings.get("news")))
    return app


@asynccontextmanager
async def serving(
    port: int = 0,
    latency: float = 0.0,
    *,
    archive: Archive | None = None,
    **settings: Unpack[LaunchSettings],
) -> AsyncIterator[str]:
    """Serve on loopback inside this event loop; yields the base URL, ending in `/v1`.

    Port 0 takes a free one. Raises `OSError` when the port given is taken, and `JudgeGymError`
    for settings that cannot be used.
    """
    app = create_app(latency, archive=archive, **settings)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=2.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port)
        await site.start()
        yield f"http://{HOST}:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def _answered(vendor: Vendor, request: web.Request) -> web.StreamResponse:
    """Answer a request to a vendor's API."""
    stats, injector = request.app[STATS], request.app[INJECTOR]
    stats.arrived()
    try:
        asked = ApiRequest(request.headers, request.query, request.match_info)
        chat = vendor.read(await read_json(request), asked)
        fault = injector.fault_for(subject_of(chat)) if injector.active else None
        if latency := request.app[_LATENCY]:
            await asyncio.sleep(latency)
        if isinstance(fault, plan.Refused):
            raise vendor.fault(fault, model=chat.request.model)
        body = reply(vendor, chat, fault, stats, request.app[_KNOWN])
        response = web.json_response(body, headers=vendor.headers(stats) | MARK)
        if isinstance(fault, plan.Delivered):
            return await deliver(fault, request, response)
        return response
    finally:
        stats.in_flight -= 1


async def _models(request: web.Request) -> web.Response:
    models = [
        {
            "id": model,
            "object": "model",
            "created": 0,
            "owned_by": f"judge-gym/{family_named(model)}",
        }
        for model in served_models()
    ]
    return web.json_response({"object": "list", "data": models})


async def _stats(request: web.Request) -> web.Response:
    app = request.app
    return web.json_response(app[STATS].as_json() | {"faults": app[INJECTOR].given})


async def _use_faults(request: web.Request) -> web.Response:
    """Use the fault plan in the body: JSON with the keys of the TOML file."""
    try:
        fresh = read_plan(await read_json(request), Path("POST /faults"))
    except ConfigError as error:
        raise Refusal(str(error), "fault") from None
    request.app[INJECTOR].use(fresh)
    return web.json_response({"seed": fresh.seed, "faults": len(fresh.faults)})


async def _end_faults(request: web.Request) -> web.Response:
    request.app[INJECTOR].use(plan.FaultPlan())
    return web.json_response({"faults": 0})
