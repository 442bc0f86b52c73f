"""OpenAI's files and batches on loopback, with what a test has them say instead of what is due."""

import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from support.misbehaving import completion

Line = dict[str, Any]
Said = Mapping[str, Any] | tuple[int, str] | None
"""Fields of a batch, or a status with a message, or nothing special."""


def nothing(*_: Any) -> Said:
    """What is due is said."""
    return None


def answer(line: Line) -> Line:
    """The line of an output file that answers a request."""
    body = completion("Plain.\nVERDICT: A")
    return {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}}


@dataclass
class Stand:
    """Its batches end at the first look. Each hook may say something else, or refuse."""

    upload: Callable[[list[Line]], Said] = nothing
    create: Callable[[str], Said] = nothing
    look: Callable[[str], Said] = nothing
    download: Callable[[str], Said] = nothing
    listed: bool = True
    answered: Callable[[Line], Line] = answer
    base_url: str = ""
    files: dict[str, list[Line]] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    executed: list[str] = field(default_factory=list)
    """The ids of the calls that batches were made of and that it was paid for."""
    direct: int = 0
    """Calls that were made directly."""
    requests: int = 0

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._counted], client_max_size=10**8)
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{id}/content", self._download)
        app.router.add_post("/v1/batches", self._create)
        app.router.add_get("/v1/batches", self._list)
        app.router.add_get("/v1/batches/{id}", self._look)
        app.router.add_post("/v1/batches/{id}/cancel", self._cancel)
        app.router.add_post("/v1/chat/completions", self._direct)
        return app

    @web.middleware
    async def _counted(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.requests += 1
        response: web.StreamResponse = await handler(request)
        return response

    async def _upload(self, request: web.Request) -> web.Response:
        content = b""
        async for part in await request.multipart():
            if getattr(part, "name", "") == "file":
                content = bytes(await part.read())  # type: ignore[union-attr]
        lines = [json.loads(line) for line in content.splitlines()]
        if isinstance(said := self.upload(lines), tuple):
            return _refused(*said)
        file_id = f"file-in-{len(self.files)}"
        self.files[file_id] = lines
        return web.json_response({"id": file_id, "object": "file"})

    async def _create(self, request: web.Request) -> web.Response:
        asked = await request.json()
        batch_id = f"batch_{len(self.batches)}"
        said = self.create(batch_id)
        if isinstance(said, tuple):
            return _refused(*said)
        self.batches[batch_id] = {
            "id": batch_id,
            "status": "validating",
            "input_file_id": asked["input_file_id"],
            "metadata": asked["metadata"],
            "created_at": 2_000_000_000,
        }
        return web.json_response(self.batches[batch_id] | dict(said or {}))

    async def _look(self, request: web.Request) -> web.Response:
        batch_id = request.match_info["id"]
        said = self.look(batch_id) if batch_id in self.batches else (404, "no such batch")
        if isinstance(said, tuple):
            return _refused(*said)
        batch, status = self.batches[batch_id], dict(said or {}).get("status", "completed")
        if status == "completed" and "output_file_id" not in batch:
            lines = self.files[batch["input_file_id"]]
            self.executed += [line["custom_id"] for line in lines]
            batch["output_file_id"] = f"file-out-{batch_id}"
            self.files[batch["output_file_id"]] = list(map(self.answered, lines))
        return web.json_response(batch | {"status": status} | dict(said or {}))

    async def _download(self, request: web.Request) -> web.Response:
        file_id = request.match_info["id"]
        if isinstance(said := self.download(file_id), tuple):
            return _refused(*said)
        return web.Response(text="".join(f"{json.dumps(line)}\n" for line in self.files[file_id]))

    async def _list(self, _: web.Request) -> web.Response:
        there = list(self.batches.values()) if self.listed else []
        return web.json_response({"object": "list", "data": there[::-1], "has_more": False})

    async def _cancel(self, _: web.Request) -> web.Response:
        return _refused(409, "the batch has ended")

    async def _direct(self, _: web.Request) -> web.Response:
        self.direct += 1
        return web.json_response(completion("Plain.\nVERDICT: A"))


def _refused(status: int, message: str) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return web.json_response({"error": error}, status=status)


def first(count: int, said: Said) -> Callable[..., Said]:
    """A hook that says this the first few times."""
    turns = itertools.count()
    return lambda *_: said if next(turns) < count else None


@asynccontextmanager
async def standing(stand: Stand) -> AsyncIterator[Stand]:
    """Serve it on loopback in this event loop."""
    async with TestServer(stand.app()) as server:
        stand.base_url = str(server.make_url("/v1"))
        yield stand
