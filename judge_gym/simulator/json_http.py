"""JSON over HTTP as every route of the simulator speaks it: bodies in, refusals out."""

import json
from typing import Any

from aiohttp import web

from judge_gym.simulator.refusals import Refusal
from judge_gym.simulator.stats import STATS
from judge_gym.simulator.vendors import anthropic, gemini

_CODES = {404: "unknown_url", 405: "method_not_supported", 413: "request_too_large"}


async def read_json(request: web.Request) -> Any:
    """Return the body; raises `Refusal` when it is not JSON."""
    try:
        return json.loads(await request.read())
    except (ValueError, RecursionError) as error:
        raise Refusal(f"the body is not JSON: {error}") from None


@web.middleware
async def refusals_as_json(request: web.Request, handler: Any) -> web.StreamResponse:
    """Answer every refusal in the error shape of the API that was asked; OpenAI's by default."""
    try:
        response: web.StreamResponse = await handler(request)
        return response
    except Refusal as error:
        refusal = error
    except web.HTTPException as error:
        said = f"{error.reason}: {request.method} {request.path}"
        refusal = Refusal(said, status=error.status, code=_CODES.get(error.status))
    request.app[STATS].refused += 1
    body = refusal.body
    if request.path.startswith("/v2/"):
        body = {"success": False, "error": str(refusal)}
    elif request.path.startswith("/v1/messages"):
        body = anthropic.refused(refusal)
    elif request.path.startswith("/v1beta/"):
        body = gemini.refused(refusal)
    return web.json_response(body, status=refusal.status, headers=refusal.headers)
