"""A Prefect server on loopback, beside this process."""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from deployments.local.processes import HOST, beside
from judge_gym.errors import JudgeGymError

POLL_S = 0.1
HOSTS = (HOST, "localhost")
"""The names that a server on loopback answers to."""
REPORTS = "/reports"
PLAIN = "deployments.local.page:plain"
WITH_REPORTS = "deployments.local.page:with_reports"
# What `prefect server start` starts its own server with.
_FINAL = {"PREFECT__SERVER_FINAL": "1"}


def api_url(port: int) -> str:
    """Return the address of the API of a server on this port."""
    return f"http://{HOST}:{port}/api"


def reports_url(port: int) -> str:
    """Return where a server on this port that is `WITH_REPORTS` has them."""
    return f"http://{HOST}:{port}{REPORTS}"


@contextmanager
def prefect_server(
    port: int, password: str, environment: Mapping[str, str], log: Path, *, app: str = PLAIN
) -> Iterator["subprocess.Popen[bytes]"]:
    """Have a server in the block, which may not be healthy yet (`wait_healthy`).

    Whoever asks its API for more than its health has to send the password. `environment` goes over
    that of this process; what it says goes to `log`.
    """
    command = [sys.executable, "-m", "uvicorn", "--factory", app, "--lifespan", "on"]
    # The page would ask a host of its maker's for something, even when told not to.
    policy = f"Content-Security-Policy:connect-src 'self' http://{HOST}:{port} ws://{HOST}:{port}"
    options = ["--host", HOST, "--port", str(port), "--log-level", "warning", "--header", policy]
    guarded = {
        "PREFECT_SERVER_API_AUTH_STRING": password,
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(f"http://{one}:{port}" for one in HOSTS),
    }
    with beside(
        [*command, *options], {**os.environ, **_FINAL, **guarded, **environment}, log=log
    ) as process:
        yield process


def wait_healthy(
    process: "subprocess.Popen[bytes]", url: str, longest_s: float, remedy: str
) -> None:
    """Return when the server is healthy; raises `JudgeGymError` when it does not become so."""
    deadline = time.monotonic() + longest_s
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except OSError:
            time.sleep(POLL_S)
    raise JudgeGymError("Prefect's server did not start.", remedy)
