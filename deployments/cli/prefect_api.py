"""Prefect's API for the time of a command: the user's server, or one that ends with the command."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from deployments.local.password import new_password
from deployments.local.prefect_server import api_url, prefect_server, wait_healthy
from deployments.local.processes import free_port
from judge_gym.errors import JudgeGymError, first_line
from judge_gym.settings import settings

# What Prefect starts its own temporary server with.
_TEMPORARY = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1"}
_REMEDY = "See {}; run the command again, or name a server of your own by PREFECT_API_URL."


@contextmanager
def prefect_api(*modules: str) -> Iterator[None]:
    """Have an API that flows report to; call `prepare_environment` first.

    Raises `JudgeGymError` when the user's server does not answer or refuses the password.
    `modules` are imported while the server starts, since both take seconds. Prefect would start
    a server by itself, but only when a flow runs, would import all of it into this process as
    well, and would leave it behind for ever when this process is killed.
    """
    from prefect.settings import (
        PREFECT_API_AUTH_STRING,
        PREFECT_API_URL,
        get_current_settings,
        temporary_settings,
    )

    configured = get_current_settings()
    if configured.api.url:
        asyncio.run(check_api(configured.api.url))
        yield
        return
    port = free_port()
    url, password = api_url(port), new_password()
    # Not the terminal: it may be stopped while it writes, and then says so at length.
    log = settings().data_dir.absolute() / "logs" / "prefect-server.log"
    with (
        prefect_server(port, password, _TEMPORARY, log) as process,
        temporary_settings({PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: password}),
    ):
        for module in modules:
            import_module(module)
        longest_s = configured.server.ephemeral.startup_timeout_seconds
        wait_healthy(process, url, longest_s, _REMEDY.format(log))
        yield


async def check_api(url: str) -> None:
    """Raise `JudgeGymError` when the server in force, at `url`, does not answer or refuses us."""
    import httpx
    from prefect.client.orchestration import get_client

    try:
        async with get_client() as client:
            await client.read_flows(limit=1)
    except httpx.HTTPStatusError as error:
        if error.response.status_code == httpx.codes.UNAUTHORIZED:
            raise JudgeGymError(
                f"The Prefect server at {url} asks for a password, or for another one.",
                "Set PREFECT_API_AUTH_STRING to it. That of `judge-gym up` is in the file "
                "prefect-password of its data folder.",
            ) from None
        raise JudgeGymError(
            f"The Prefect server at {url} answers with HTTP {error.response.status_code}.",
            "PREFECT_API_URL is the address of an API, such as http://127.0.0.1:4200/api.",
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise JudgeGymError(
            f"The Prefect server at {url} does not answer: {first_line(error)}.",
            "Start it, or set PREFECT_API_URL to one that runs.",
        ) from None
