"""The routes of files and batches, and where both are stored.

Files and batches live in memory, or in a folder that outlives the process. In a folder each record
is one JSON file, replaced atomically after its content is written, so that a kill leaves whole
records or none.
"""

import os
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from aiohttp import BodyPartReader, web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judge_gym.errors import JudgeGymError
from judge_gym.seeds import digest
from judge_gym.simulator.batches.batch import (
    ENDED,
    Answering,
    SimulatedBatch,
    custom_id_of,
    read_lines,
)
from judge_gym.simulator.batches.message_batch import MessageBatch
from judge_gym.simulator.faults import plan
from judge_gym.simulator.faults.injection import INJECTOR, with_faults
from judge_gym.simulator.http import STATS, Refusal, read_json, read_model

Purpose = Literal["batch", "batch_output"]


class StoredFile(BaseModel):
    """A file in OpenAI's format."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    object: Literal["file"] = "file"
    bytes: int
    created_at: int
    filename: str
    purpose: Purpose
    status: Literal["processed"] = "processed"


AnyBatch = SimulatedBatch | MessageBatch
B = TypeVar("B", SimulatedBatch, MessageBatch)
_FOLDERS: dict[type[AnyBatch], str] = {SimulatedBatch: "batches", MessageBatch: "message_batches"}
"""Where the batches of each API are stored."""


class Store:
    """Files and batches by id. Raises `JudgeGymError` when `folder` cannot be used."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._contents: dict[str, bytes] = {}
        self._files: dict[str, StoredFile] = {}
        self._batches: dict[str, AnyBatch] = {}
        if folder is not None:
            self._load(folder)

    def add_file(self, filename: str, purpose: Purpose, content: bytes) -> StoredFile:
        """Store a new file."""
        file = StoredFile(
            id=f"file-{uuid.uuid4().hex}",
            bytes=len(content),
            created_at=int(time.time()),
            filename=filename,
            purpose=purpose,
        )
        if self._folder is None:
            self._contents[file.id] = content
        else:
            _write(self._folder / "contents" / file.id, content)
            self._write_record("files", file)
        self._files[file.id] = file
        return file

    def file(self, file_id: str) -> StoredFile:
        """Return a file's record; raises `Refusal` for an unknown one."""
        if file_id not in self._files:
            raise _unknown("file", file_id)
        return self._files[file_id]

    def content(self, file_id: str) -> bytes:
        """Return the content of a file; raises `Refusal` for an unknown one."""
        stored_id = self.file(file_id).id
        if self._folder is None:
            return self._contents[stored_id]
        return (self._folder / "contents" / stored_id).read_bytes()

    def delete_file(self, file_id: str) -> None:
        """Delete a file; raises `Refusal` for an unknown one."""
        stored_id = self.file(file_id).id
        if self._folder is not None:
            (self._folder / "files" / f"{stored_id}.json").unlink()
            (self._folder / "contents" / stored_id).unlink()
        del self._files[stored_id]
        self._contents.pop(stored_id, None)

    def put_batch(self, batch: B) -> B:
        """Store a batch."""
        if self._folder is not None:
            self._write_record(_FOLDERS[type(batch)], batch)
        self._batches[batch.id] = batch
        return batch

    def batch(self, kind: type[B], batch_id: str, now: float) -> B:
        """Return a batch; raises `Refusal` for one that is unknown or has vanished."""
        batch = self._batches.get(batch_id)
        if not isinstance(batch, kind) or batch.vanished(now):
            raise _unknown("batch", batch_id)
        return batch

    def batches(self, kind: type[B], now: float) -> list[B]:
        """Return the batches of a kind that have not vanished, the newest first."""
        of_kind = [batch for batch in self._batches.values() if isinstance(batch, kind)]
        visible = [batch for batch in of_kind if not batch.vanished(now)]
        return sorted(visible, key=lambda batch: (batch.created_at, batch.id), reverse=True)

    def delete_batch(self, batch: AnyBatch) -> None:
        """Delete a batch."""
        if self._folder is not None:
            (self._folder / _FOLDERS[type(batch)] / f"{batch.id}.json").unlink()
        del self._batches[batch.id]

    def _write_record(self, kind: str, record: StoredFile | AnyBatch) -> None:
        assert self._folder is not None
        _write(self._folder / kind / f"{record.id}.json", record.model_dump_json().encode())

    def _load(self, folder: Path) -> None:
        path = folder
        try:
            for name in ("files", "contents", *_FOLDERS.values()):
                (folder / name).mkdir(parents=True, exist_ok=True)
            for path in sorted((folder / "files").glob("*.json")):
                file = StoredFile.model_validate_json(path.read_bytes())
                self._files[file.id] = file
            for kind, name in _FOLDERS.items():
                for path in sorted((folder / name).glob("*.json")):
                    batch = kind.model_validate_json(path.read_bytes())
                    self._batches[batch.id] = batch
        except (OSError, ValidationError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not a record"
            raise JudgeGymError(
                f"The simulator's state cannot be read from {path}: {reason}.",
                "Give --state another folder, or empty this one.",
            ) from error


def _write(path: Path, content: bytes) -> None:
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(content)
    os.replace(fresh, path)


def _unknown(kind: str, name: str) -> Refusal:
    return Refusal(f"No such {kind}: {name!r}.", "id", status=404, code=f"{kind}_not_found")


MAX_FILE_BYTES = 200 * 1024 * 1024
MAX_LINES = 50_000
_PAGE = 100
STORE = web.AppKey("store", Store)
SECONDS = web.AppKey("batch_seconds", float)


class _Create(BaseModel):
    """The fields that are read; others are ignored."""

    model_config = ConfigDict(extra="ignore")

    input_file_id: str
    endpoint: Literal["/v1/chat/completions"]
    completion_window: Literal["24h"]
    metadata: dict[str, str] | None = Field(default=None, max_length=16)


def add_batch_routes(app: web.Application, store: Store, seconds: float) -> None:
    """Serve files and batches out of `store`; a new batch takes `seconds` to its end."""
    app[STORE] = store
    app[SECONDS] = seconds
    router = app.router
    router.add_post("/v1/files", with_faults("files", _upload))
    router.add_get("/v1/files/{id}", with_faults("files", _file))
    router.add_delete("/v1/files/{id}", with_faults("files", _delete_file))
    router.add_get("/v1/files/{id}/content", with_faults("files", _content))
    router.add_post("/v1/batches", with_faults("batches", _create))
    router.add_get("/v1/batches", with_faults("batches", _list))
    router.add_get("/v1/batches/{id}", with_faults("batches", _batch))
    router.add_post("/v1/batches/{id}/cancel", with_faults("batches", _cancel))


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
    stored = request.app[STORE].add_file(filename, "batch", fields["file"])
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
    return web.json_response(request.app[STORE].file(request.match_info["id"]).model_dump())


async def _delete_file(request: web.Request) -> web.Response:
    name = request.match_info["id"]
    request.app[STORE].delete_file(name)
    return web.json_response({"id": name, "object": "file", "deleted": True})


async def _content(request: web.Request) -> web.Response:
    content = request.app[STORE].content(request.match_info["id"])
    return web.Response(body=content, content_type="application/octet-stream")


async def _create(request: web.Request) -> web.Response:
    body = read_model(_Create, await read_json(request))
    app, batch_id = request.app, f"batch_{uuid.uuid4().hex}"
    content = app[STORE].content(body.input_file_id)
    raw = read_lines(content)
    injector = app[INJECTOR]
    key = digest(content.decode(errors="replace"))
    fate = injector.fault_for(plan.Subject("fate", key)) if injector.active else None
    errors = _errors(raw, fate)
    answering = Answering(batch_id, app[STATS], injector)
    batch = SimulatedBatch(
        id=batch_id,
        **body.model_dump(),
        lines=() if errors else tuple(await answering.answer_all(raw, fate)),
        created_at=time.time(),
        seconds=app[SECONDS],
        errors=errors,
        fate=fate,
    )
    return web.json_response(_settled(app[STORE], app[STORE].put_batch(batch), time.time()))


def _errors(raw: Sequence[bytes], fate: plan.InjectedFault | None) -> tuple[dict[str, Any], ...]:
    """Return why the batch does not pass validation; empty when it does."""
    if isinstance(fate, plan.BatchFailed):
        return (_error(fate.code, "The batch is failed on purpose (simulated).", None),)
    if not raw:
        return (_error("empty_file", "The input file has no line.", None),)
    if len(raw) > MAX_LINES:
        message = f"The input file has {len(raw)} lines; at most {MAX_LINES} are allowed."
        return (_error("too_many_tasks", message, None),)
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
    store, now = request.app[STORE], time.time()
    return web.json_response(
        _settled(store, store.batch(SimulatedBatch, request.match_info["id"], now), now)
    )


async def _list(request: web.Request) -> web.Response:
    store, now, after = request.app[STORE], time.time(), request.query.get("after")
    limit = request.query.get("limit", "20")
    if not limit.isdecimal() or not 1 <= int(limit) <= _PAGE:
        raise Refusal(f"limit: is {limit!r}; use 1 to {_PAGE}", "limit")
    batches = store.batches(SimulatedBatch, now)
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
    store, now = request.app[STORE], time.time()
    batch = store.batch(SimulatedBatch, request.match_info["id"], now)
    status = batch.status(now)
    if status in ENDED:
        message = f"A batch with status {status!r} cannot be cancelled."
        raise Refusal(message, "id", status=409, code="batch_not_cancellable")
    if status != "cancelling":
        batch = store.put_batch(batch.model_copy(update={"cancelled_at": now}))
    return web.json_response(_settled(store, batch, now))


def _settled(store: Store, batch: SimulatedBatch, now: float) -> dict[str, Any]:
    """Return the batch in OpenAI's format; create its files when it has ended."""
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
