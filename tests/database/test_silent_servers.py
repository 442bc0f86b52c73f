"""A Prefect server that does not answer, or refuses for a time: what a command says, and when."""

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from prefect.client.orchestration import get_client
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_CLIENT_CSRF_SUPPORT_ENABLED,
    temporary_settings,
)

from deployments.cli import environment, output
from deployments.cli.prefect_waits import saying_waits
from judge_gym.errors import JudgeGymError


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/api"


def test_a_silent_server_is_named_before_and_after_the_patience(
    silent: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "SILENT_S", 0.2)
    monkeypatch.setattr(environment, "ANSWER_S", 1.0)
    with (
        temporary_settings({PREFECT_API_URL: silent}),
        pytest.raises(JudgeGymError, match="has not answered within 1 s"),
    ):
        asyncio.run(environment.check_api(silent))
    said = capsys.readouterr().err
    assert said.count("Waiting for the Prefect server at") == 1
    assert "at most 1 s" in said


def test_what_answers_soon_is_not_spoken_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "SILENT_S", 60)
    with output.waiting_for("a server", 120):
        pass
    assert not capsys.readouterr().err


@contextmanager
def refusing(times: int) -> Iterator[str]:
    """The address of a server that refuses requests so many times, then answers with no flows."""
    left = iter(range(times))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            refused = next(left, None) is not None
            body = b"" if refused else b"[]"
            self.send_response(503 if refused else 200)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/api"
        finally:
            server.shutdown()
            thread.join()


async def read_flows(times: int) -> None:
    async with get_client() as client:
        for _ in range(times):
            assert await client.read_flows() == []


@pytest.mark.parametrize(
    ("refusals", "silent_s", "lines"), [(4, 0.0, 1), (0, 0.0, 0), (1, 0.0, 0), (4, 60.0, 0)]
)
def test_a_run_says_once_that_it_waits_for_prefect(
    refusals: int,
    silent_s: float,
    lines: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One refusal, or less than `SILENT_S` of them, is not spoken of."""
    monkeypatch.setattr(output, "SILENT_S", silent_s)
    logger = logging.getLogger("prefect.client")
    before = logger.level, list(logger.filters)
    with (
        refusing(refusals) as url,
        temporary_settings({PREFECT_API_URL: url, PREFECT_CLIENT_CSRF_SUPPORT_ENABLED: False}),
        saying_waits(),
    ):
        asyncio.run(read_flows(2))
    said = capsys.readouterr().err
    assert said.count("Waiting for it") == lines
    assert "Another attempt" not in said
    assert (logger.level, logger.filters) == before
