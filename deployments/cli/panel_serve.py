"""`judge-gym panel serve`: a page and an AG-UI endpoint for a panel, until Ctrl-C."""

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.output import console
from deployments.cli.panel import PANELS, SAMPLE

if TYPE_CHECKING:
    from judge_gym.panel import Panel

PORT = 8760
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve(
    panel: Annotated[
        Path, typer.Option(help="The panel file (YAML).", show_default="the sample's")
    ] = SAMPLE,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = PORT,
    host: Annotated[
        str, typer.Option(help="Where to listen; beyond this machine only with a panel_token.")
    ] = "127.0.0.1",
) -> None:
    """Serve a page on which a panel reviews documents, and an AG-UI endpoint, until Ctrl-C.

    Whoever reaches it has the panel's models asked: give the panel a budget.
    """
    from deployments.cli.environment import prepare_environment
    from deployments.cli.running import lost_servers_named, simulator_for
    from judge_gym.panel import load_panel
    from judge_gym.panel.serving.settings import check_token
    from judge_gym.settings import settings

    # A mistake is said before any server is started.
    asked = load_panel(panel)
    check_token(host, settings().panel_token)
    prepare_environment(settings().data_dir, verbose=False)
    console.print("Opening the database ...")
    with simulator_for(asked.models), lost_servers_named():
        asyncio.run(_serve(asked, host, port))
    console.print("Stopped; what was reviewed is kept.")


async def _serve(panel: "Panel", host: str, port: int) -> None:
    from judge_gym.errors import JudgeGymError
    from judge_gym.panel import load_document
    from judge_gym.panel.running import check_panel
    from judge_gym.panel.serving import serving
    from judge_gym.runtime import runtime

    stop = asyncio.Event()
    for stopping in _STOPPING:
        asyncio.get_running_loop().add_signal_handler(stopping, stop.set)
    async with runtime() as current:
        await check_panel(current, panel)
        samples = [load_document(PANELS / "library.yaml")]
        token = current.settings.panel_token
        where: dict[str, Any] = {"host": host, "port": port, "token": token}
        try:
            async with serving(current, panel, samples=samples, **where) as url:
                console.print(f"Panel {panel.name}: {url}", markup=False, soft_wrap=True)
                console.print("Ctrl-C ends it.")
                await stop.wait()
        except OSError as error:
            raise JudgeGymError(
                f"The panel cannot be served at {host}, port {port}: {error.strerror}.",
                "Choose another with --port, or 0 for a free one.",
            ) from None
