"""The routes of Anthropic's Message Batches."""

import json
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from judge_gym.seeds import canonical_json, digest
from judge_gym.simulator.batches.message_batch import MessageBatch, Requests, answer_all
from judge_gym.simulator.batches.routes import SECONDS, STORE
from judge_gym.simulator.chat import MARK
from judge_gym.simulator.faults import plan
from judge_gym.simulator.faults.injection import INJECTOR, with_faults
from judge_gym.simulator.http import STATS, Refusal, read_model
from judge_gym.simulator.vendors import ApiRequest
from judge_gym.simulator.vendors.registry import ANTHROPIC

_PATH = "/v1/messages/batches"
_MOST_BYTES = 256 * 1024 * 1024
_PAGE = 1000
_Handler = Callable[[web.Request], Awaitable[web.Response]]


def add_message_batch_routes(app: web.Application) -> None:
    """Serve Message Batches; `add_batch_routes` has set where they are stored."""
    router = app.router
    router.add_post(_PATH, _served(_create))
    router.add_get(_PATH, _served(_list))
    router.add_get(f"{_PATH}/{{id}}", _served(_batch))
    router.add_delete(f"{_PATH}/{{id}}", _served(_delete))
    router.add_post(f"{_PATH}/{{id}}/cancel", _served(_cancel))
    router.add_get(f"{_PATH}/{{id}}/results", _served(_results, "files"))


def _served(handler: _Handler, route: plan.Route = "batches") -> Any:
    async def handle(request: web.Request) -> web.Response:
        ANTHROPIC.check_headers(_asked(request))
        return await handler(request)

    return with_faults(route, handle)


def _asked(request: web.Request) -> ApiRequest:
    return ApiRequest(request.headers, request.query, request.match_info)


async def _create(request: web.Request) -> web.Response:
    requests = read_model(Requests, await _read_json(request)).requests
    times = Counter(one.custom_id for one in requests)
    if len(times) < len(requests):
        twice = next(name for name, count in times.items() if count > 1)
        raise Refusal(f"requests: custom_id {twice!r} is not unique")
    app, injector = request.app, request.app[INJECTOR]
    key = digest(canonical_json([one.model_dump() for one in requests]))
    fate = injector.fault_for(plan.Subject("fate", key)) if injector.active else None
    if isinstance(fate, plan.BatchFailed):
        raise Refusal(f"The batch is refused on purpose ({fate.code}).")
    lines = await answer_all(requests, _asked(request), fate, injector, app[STATS])
    batch = MessageBatch(
        id=f"msgbatch_{uuid.uuid4().hex}",
        created_at=time.time(),
        seconds=app[SECONDS],
        lines=tuple(lines),
        fate=fate,
    )
    return _shown(request, app[STORE].put_batch(batch))


async def _read_json(request: web.Request) -> Any:
    """Return the body, which may be longer than that of other routes."""
    content = bytearray()
    async for chunk in request.content.iter_chunked(1 << 16):
        content += chunk
        if len(content) > _MOST_BYTES:
            raise Refusal("Request exceeds the maximum size", status=413)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"the body is not JSON: {error}") from None


async def _batch(request: web.Request) -> web.Response:
    return _shown(request, _known(request))


async def _list(request: web.Request) -> web.Response:
    now, query = time.time(), request.query
    limit = query.get("limit", "20")
    if not limit.isdecimal() or not 1 <= int(limit) <= _PAGE:
        raise Refusal(f"limit: is {limit!r}; use 1 to {_PAGE}")
    batches = request.app[STORE].batches(MessageBatch, now)
    ids = [batch.id for batch in batches]
    for name in ("after_id", "before_id"):
        if name in query and query[name] not in ids:
            raise Refusal(f"{name}: there is no batch {query[name]!r}")
    first = ids.index(query["after_id"]) + 1 if "after_id" in query else 0
    last = ids.index(query["before_id"]) if "before_id" in query else len(ids)
    if "before_id" in query:
        first = max(first, last - int(limit))
    page = batches[first : min(last, first + int(limit))]
    more = first > 0 if "before_id" in query else first + len(page) < len(batches)
    return web.json_response(
        {
            "data": [batch.as_json(now, _url(request, batch)) for batch in page],
            "has_more": more,
            "first_id": page[0].id if page else None,
            "last_id": page[-1].id if page else None,
        }
    )


async def _cancel(request: web.Request) -> web.Response:
    batch, now = _known(request), time.time()
    if batch.status(now) == "in_progress":
        changed = batch.model_copy(update={"cancelled_at": now})
        batch = request.app[STORE].put_batch(changed)
    return _shown(request, batch)


async def _delete(request: web.Request) -> web.Response:
    batch = _known(request)
    if batch.status(time.time()) != "ended":
        raise Refusal(f"Batch {batch.id} cannot be deleted before it has ended.")
    request.app[STORE].delete_batch(batch)
    return web.json_response({"id": batch.id, "type": "message_batch_deleted"})


async def _results(request: web.Request) -> web.Response:
    batch, now = _known(request), time.time()
    if batch.status(now) != "ended":
        raise Refusal(f"Batch {batch.id} has no results yet.", status=404)
    content = "".join(f"{line}\n" for line in batch.results(now))
    return web.Response(text=content, content_type="application/x-jsonl", headers=MARK)


def _known(request: web.Request) -> MessageBatch:
    return request.app[STORE].batch(MessageBatch, request.match_info["id"], time.time())


def _shown(request: web.Request, batch: MessageBatch) -> web.Response:
    return web.json_response(batch.as_json(time.time(), _url(request, batch)))


def _url(request: web.Request, batch: MessageBatch) -> str:
    return str(request.url.with_path(f"{_PATH}/{batch.id}").with_query(None))
