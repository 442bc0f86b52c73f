"""Labellings under `judge-gym up`: pages of `judge label` behind the password of its server.

While it runs, `judge label` writes its address, whose token is a secret, into the data folder. The
server passes requests on to it, so that several people label at one address with one password.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

LABELS = "/labels"
"""Where the server has them; below it, a name for each."""
_FOLDER = "labellings"
_ANSWER_S = 30.0
_PASSED_ON = ("content-type", "content-security-policy", "cache-control", "referrer-policy",
              "x-content-type-options", "allow")  # fmt: skip
"""Headers of its answers."""


@dataclass(frozen=True)
class ServedLabelling:
    """A labelling that runs: a name of letters and digits, what it is of, and where it answers."""

    name: str
    title: str
    address: str


@contextmanager
def registered(data: Path, stem: str, title: str, address: str) -> Iterator[str]:
    """Have the server of this data folder know a labelling during the block; yields its name."""
    name = re.sub(r"[^\w.-]+", "-", stem).strip("-.") or "items"
    file = data / _FOLDER / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as output:
        json.dump({"title": title, "address": address}, output)
    draft.replace(file)
    try:
        yield name
    finally:
        if (known := _read(file)) and known.address == address:
            file.unlink(missing_ok=True)


def served(data: Path) -> list[ServedLabelling]:
    """Return the labellings that a data folder knows; a process that was killed leaves its own."""
    return [one for file in sorted((data / _FOLDER).glob("*.json")) if (one := _read(file))]


def _read(file: Path) -> ServedLabelling | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(file.read_text(encoding="utf-8"))
        return ServedLabelling(file.stem, str(known["title"]), str(known["address"]))
    return None


def pages(data: Path) -> "ASGIApp":
    """Return the application that passes requests on to the labellings of a data folder."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    async def forward(request: "Request") -> "Response":
        return await _forwarded(request, served(data))

    methods: Sequence[str] = ("GET", "POST")
    return Starlette(routes=[Route("/{name}/{path:path}", forward, methods=list(methods))])


async def _forwarded(request: "Request", known: Sequence[ServedLabelling]) -> "Response":
    """Pass a request on; refuses one that a page of another site has made."""
    import httpx
    from starlette.responses import Response

    if request.method == "POST" and not _is_of_this_page(request):
        return _refused(403, "A page of another address has sent this.", "Open the page itself.")
    name = request.path_params["name"]
    labelling = next((one for one in known if one.name == name), None)
    if labelling is None:
        return _refused(404, f"No labelling {name!r} runs.", "Start it with judge-gym judge label.")
    url = labelling.address + request.path_params["path"]
    headers = {"origin": "{0.scheme}://{0.netloc}".format(urlsplit(url))}
    headers["content-type"] = request.headers.get("content-type", "")
    body = await request.body()
    try:
        async with httpx.AsyncClient(timeout=_ANSWER_S, trust_env=False) as client:
            answer = await client.request(request.method, url, content=body, headers=headers)
    except httpx.HTTPError:
        return _refused(502, f"The labelling {name!r} does not answer.", "Start it again.")
    kept = {key: value for key, value in answer.headers.items() if key in _PASSED_ON}
    return Response(answer.content, answer.status_code, kept)


def _is_of_this_page(request: "Request") -> bool:
    """Whether a browser says that a page of this server sends it."""
    return urlsplit(request.headers.get("origin", "")).netloc == request.headers.get("host", "")


def _refused(status: int, message: str, remedy: str) -> "Response":
    from starlette.responses import JSONResponse

    return JSONResponse({"error": {"message": message, "remedy": remedy}}, status)
