"""The HTTP face of files and batches."""

import time
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from aiohttp import BodyPartReader, web
from pydantic import BaseModel, ConfigDict, Field

from judge_gym.seeds import digest
from judge_gym.simulator.batches.lines import Answering, custom_id_of, read_lines
from judge_gym.simulator.batches.record import ENDED, Batch
from judge_gym.simulator.batches.store import Store
from judge_gym.simulator.faults import plan
from judge_gym.simulator.faults.injector import INJECTOR
from judge_gym.simulator.faults.spoiling import exposed
from judge_gym.simulator.json_http import read_json
from judge_gym.simulator.refusals import Refusal, read_model
from judge_gym.simulator.stats import STATS

MAX_FILE_BYTES = 200 * 1024 * 1024
MAX_LINES = 50_000
_PAGE = 100
_STORE = web.AppKey("store", Store)
_SECONDS = web.AppKey("batch_seconds", float)


class _Create(BaseModel):
    """The fields that are read; others change nothing."""

    model_config = ConfigDict(extra="ignore")

    input_file_id: str
    endpoint: Literal["/v1/chat/completions"]
    completion_window: Literal["24h"]
    metadata: dict[str, str] | None = Field(default=None, max_length=16)


def add_batch_routes(app: web.Application, store: Store, seconds: float) -> None:
    """Serve files and batches out of `store`; a new batch takes `seconds` to its end."""
    app[_STORE] = store
    app[_SECONDS] = seconds
    router = app.router
    router.add_post("/v1/files", exposed("files", _upload))
    router.add_get("/v1/files/{id}", exposed("files", _file))
    router.add_delete("/v1/files/{id}", exposed("files", _delete_file))
    router.add_get("/v1/files/{id}/content", exposed("files", _content))
    router.add_post("/v1/batches", exposed("batches", _create))
    router.add_get("/v1/batches", exposed("batches", _list))
    router.add_get("/v1/batches/{id}", exposed("batches", _batch))
    router.add_post("/v1/batches/{id}/cancel", exposed("batches", _cancel))


async def _upload(request: web.Request) -> web.Response:
    if request.content_type != "multipart/form-data":
        raise Refusal("the body is not multipart/form-data")
    fields: dict[str, bytes] = {}
    filename = "upload"
    try:
        async for part in await request.multipart():
            if isinstance(part, BodyPartReader) and part.name in ("file", "purpose"):
                fields[part.name] = await _read_part(part)
                filename = (part.filename or filename) if part.name == "file" else filename
    except (ValueError, AssertionError) as error:
        raise Refusal(f"the form cannot be read: {error}") from None
    if "file" not in fields:
        raise Refusal("file: the form has none", "file")
    purpose = fields.get("purpose", b"").decode(errors="replace")
    if purpose != "batch":
        raise Refusal(f"purpose: is {purpose!r}; the simulator takes 'batch'", "purpose")
    stored = request.app[_STORE].add_file(filename, "batch", fields["file"])
    return web.json_response(stored.model_dump())


async def _read_part(part: BodyPartReader) -> bytes:
    content = bytearray()
    while chunk := await part.read_chunk(1 << 16):
        content += chunk
        if len(content) > MAX_FILE_BYTES:
            raise Refusal(
                f"file: is over {MAX_FILE_BYTES} bytes", "file", status=413, code="file_too_large"
            )
    return bytes(content)


async def _file(request: web.Request) -> web.Response:
    return web.json_response(request.app[_STORE].file(request.match_info["id"]).model_dump())


async def _delete_file(request: web.Request) -> web.Response:
    name = request.match_info["id"]
    request.app[_STORE].delete_file(name)
    return web.json_response({"id": name, "object": "file", "deleted": True})


async def _content(request: web.Request) -> web.Response:
    content = request.app[_STORE].content(request.match_info["id"])
    return web.Response(body=content, content_type="application/octet-stream")


async def _create(request: web.Request) -> web.Response:
    asked = read_model(_Create, await read_json(request))
    app, batch_id = request.app, f"batch_{uuid.uuid4().hex}"
    content = app[_STORE].content(asked.input_file_id)
    raw = read_lines(content)
    injector = app[INJECTOR]
    key = digest(content.decode(errors="replace"))
    fate = injector.meet(plan.Subject("fate", key)) if injector.active else None
    errors = _errors(raw, fate)
    answering = Answering(batch_id, app[STATS], injector)
    batch = Batch(
        id=batch_id,
        **asked.model_dump(),
        lines=() if errors else tuple(await answering.answer_all(raw, fate)),
        created_at=time.time(),
        seconds=app[_SECONDS],
        errors=errors,
        fate=fate,
    )
    return web.json_response(_settled(app[_STORE], app[_STORE].put_batch(batch), time.time()))


def _errors(raw: Sequence[bytes], fate: plan.Fault | None) -> tuple[dict[str, Any], ...]:
    """Return why the batch does not pass validation; empty when it does."""
    if isinstance(fate, plan.BatchFailed):
        return (_error(fate.code, "The batch is failed on purpose (simulated).", None),)
    if not raw:
        return (_error("empty_file", "The input file has no line.", None),)
    if len(raw) > MAX_LINES:
        said = f"The input file has {len(raw)} lines; at most {MAX_LINES} are allowed."
        return (_error("too_many_tasks", said, None),)
    names = [custom_id_of(line) for line in raw]
    times = Counter(name for name in names if name is not None)
    return tuple(
        _error("duplicate_custom_id", f"The custom_id {name!r} is given more than once.", number)
        for number, name in enumerate(names, 1)
        if name is not None and times[name] > 1
    )


def _error(code: str, message: str, line: int | None) -> dict[str, Any]:
    return {"code": code, "message": message, "param": None, "line": line}


async def _batch(request: web.Request) -> web.Response:
    store, now = request.app[_STORE], time.time()
    return web.json_response(_settled(store, store.batch(request.match_info["id"], now), now))


async def _list(request: web.Request) -> web.Response:
    store, now, after = request.app[_STORE], time.time(), request.query.get("after")
    limit = request.query.get("limit", "20")
    if not limit.isdecimal() or not 1 <= int(limit) <= _PAGE:
        raise Refusal(f"limit: is {limit!r}; use 1 to {_PAGE}", "limit")
    batches = store.batches(now)
    ids = [batch.id for batch in batches]
    if after is not None and after not in ids:
        raise Refusal(f"after: there is no batch {after!r}", "after")
    first = ids.index(after) + 1 if after is not None else 0
    page = batches[first : first + int(limit)]
    return web.json_response(
        {
            "object": "list",
            "data": [_settled(store, batch, now) for batch in page],
            "first_id": page[0].id if page else None,
            "last_id": page[-1].id if page else None,
            "has_more": first + len(page) < len(batches),
        }
    )


async def _cancel(request: web.Request) -> web.Response:
    store, now = request.app[_STORE], time.time()
    batch = store.batch(request.match_info["id"], now)
    status = batch.status(now)
    if status in ENDED:
        said = f"A batch with status {status!r} cannot be cancelled."
        raise Refusal(said, "id", status=409, code="batch_not_cancellable")
    if status != "cancelling":
        batch = store.put_batch(batch.model_copy(update={"cancelled_at": now}))
    return web.json_response(_settled(store, batch, now))


def _settled(store: Store, batch: Batch, now: float) -> dict[str, Any]:
    """Return the batch in OpenAI's shape, once it has ended with its files."""
    settled = batch.output_file_id or batch.error_file_id
    if batch.status(now) in ENDED and not settled:
        files = {"output_file_id": batch.output(now), "error_file_id": batch.failures(now)}
        ids = {
            name: store.add_file(f"{batch.id}_{name[:-8]}.jsonl", "batch_output", _joined(lines)).id
            for name, lines in files.items()
            if lines
        }
        batch = store.put_batch(batch.model_copy(update=ids)) if ids else batch
    return batch.as_json(now)


def _joined(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
