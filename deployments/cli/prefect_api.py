"""Prefect's API for the time of a command: the user's server, or one that ends with the command."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from deployments.local.prefect_server import api_url, prefect_server, wait_healthy
from deployments.local.processes import free_port
from judge_gym.settings import settings

# What Prefect starts its own temporary server with.
_TEMPORARY = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1"}
_REMEDY = "See {}; run the command again, or name a server of your own by PREFECT_API_URL."


@contextmanager
def prefect_api(*modules: str) -> Iterator[None]:
    """Have an API that flows report to; call `prepare_environment` first.

    `modules` are imported while the server starts, since both take seconds. Prefect would start
    a server by itself, but only when a flow runs, would import all of it into this process as
    well, and would leave it behind for ever when this process is killed.
    """
    from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings

    configured = get_current_settings()
    if configured.api.url:
        yield
        return
    port = free_port()
    url = api_url(port)
    # Not the terminal: it may be stopped while it writes, and then says so at length.
    log = settings().data_dir.absolute() / "logs" / "prefect-server.log"
    with (
        prefect_server(port, _TEMPORARY, log) as process,
        temporary_settings({PREFECT_API_URL: url}),
    ):
        for module in modules:
            import_module(module)
        longest_s = configured.server.ephemeral.startup_timeout_seconds
        wait_healthy(process, url, longest_s, _REMEDY.format(log))
        yield
