"""Requests that meet a locked SQLite are answered again, as Prefect's application sends its 503."""

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from deployments.local import prefect_server


class Locked(Exception):
    """The database is locked."""


def posted(locked_for: int, monkeypatch: pytest.MonkeyPatch) -> tuple[httpx.Response, int]:
    """The answer to a POST of "body", when so many are refused, and how many there were."""
    monkeypatch.setattr(prefect_server, "_LOCKED_WAITS_S", (0.0, 0.0, 0.0))
    asked = 0

    async def echo(request: Request) -> Response:
        nonlocal asked
        asked += 1
        body = await request.body()
        if asked <= locked_for:
            raise Locked
        return PlainTextResponse(body, 201)

    async def refuse(_: Request, __: Exception) -> Response:
        return PlainTextResponse("locked", 503)

    # For `Exception` Starlette sends the handler's answer and raises the error again, for the log.
    app = Starlette(
        routes=[Route("/", echo, methods=["POST"])], exception_handlers={Exception: refuse}
    )
    served = httpx.ASGITransport(prefect_server.again_when_locked(app), raise_app_exceptions=False)

    async def post() -> httpx.Response:
        async with httpx.AsyncClient(transport=served, base_url="http://here") as client:
            return await client.post("/", content="body")

    return asyncio.run(post()), asked


@pytest.mark.parametrize("locked_for", [0, 1, 3])
def test_a_request_that_met_a_lock_is_answered_again(
    locked_for: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, asked = posted(locked_for, monkeypatch)
    assert (answer.status_code, answer.text, asked) == (201, "body", locked_for + 1)


def test_a_lock_that_lasts_is_told_to_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, asked = posted(99, monkeypatch)
    assert (answer.status_code, answer.text, asked) == (503, "locked", 4)
