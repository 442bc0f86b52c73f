"""The state of the installation under `judge-gym up`: a page, JSON, and metrics for Prometheus.

They are below `STATUS`, never at its root: a browser sends a password by itself to every path
beside the one that asked for it, and so to Prefect's API, from a page of any site.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from judge_gym.lab.operating import Installation

STATUS = "/status"
"""Where the server has them."""
RECORDS_URL = "JUDGE_GYM_STATUS_DATABASE_URL"
"""Set by `up` for its server: the address of the database that it has started."""
FRESH_S = 5.0
"""How long an answer is used again: several readers cost as much as one."""


class InstallationReader:
    """Reads the installation, once at a time and every `FRESH_S` at most."""

    def __init__(self, read: "Callable[[], Installation]") -> None:
        self._read, self._lock = read, threading.Lock()
        self._last: Installation | None = None
        self._at = float("-inf")

    def now(self) -> "Installation":
        """Return the installation as it is, or was a moment ago."""
        with self._lock:
            if self._last is None or time.monotonic() - self._at > FRESH_S:
                self._last = self._read()
                self._at = time.monotonic()
            return self._last


def pages() -> "ASGIApp":
    """Return the application with the page, `status.json` and `metrics`."""
    from prometheus_client import CONTENT_TYPE_LATEST
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route

    reading = InstallationReader(_reader())

    # Plain functions, which run in a thread: they wait for the database.
    def page(_: "Request") -> "Response":
        from judge_gym.report.operating import operating_page

        links = (("Reports", "../reports/"), ("JSON", "status.json"), ("Metrics", "metrics"))
        return HTMLResponse(operating_page(reading.now(), links), headers=_NOT_STORED)

    def as_json(_: "Request") -> "Response":
        from deployments import operation

        return JSONResponse(operation.as_json(reading.now()), headers=_NOT_STORED)

    def metrics(_: "Request") -> "Response":
        from deployments.cli.metrics import installation_text

        text = installation_text(reading.now())
        return Response(text, headers={**_NOT_STORED, "Content-Type": CONTENT_TYPE_LATEST})

    routes = [Route("/", page), Route("/status.json", as_json), Route("/metrics", metrics)]
    return Starlette(routes=routes)


_NOT_STORED = {"Cache-Control": "no-store"}


def _reader() -> "Callable[[], Installation]":
    """Return what reads the installation of this process's environment."""
    from judge_gym.store.operating import operating_engine

    engine = operating_engine(os.environ[RECORDS_URL])

    def read() -> "Installation":
        from deployments.operation import read_installation

        return read_installation(engine)

    return read
