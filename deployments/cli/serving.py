"""`judge-gym up`, `models serve` and `mcp`: what runs until Ctrl-C."""

import signal
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.database import Overwrite, summary
from deployments.cli.environment import prepare_environment
from deployments.cli.output import command, console
from judge_gym.counting import counted
from judge_gym.settings import settings

if TYPE_CHECKING:
    from deployments.local.stack import Stack

PORT = 4200
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def up(
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of Prefect's page and API.")
    ] = PORT,
    overwrite: Overwrite = False,
) -> None:
    """Run PostgreSQL, Prefect, a worker and the simulator until Ctrl-C.

    Also deploys the flows. All services listen on loopback only and store their data in the data
    folder; rerun the command to resume. If one service ends, the others are stopped. Prefect's UI
    and API require the password in the data folder. Edits made in the UI are kept.
    """
    for stopping in _STOPPING:
        signal.signal(stopping, signal.default_int_handler)
    prepare_environment(settings().data_dir, verbose=False)
    from deployments.local.stack import running

    console.print("Starting ... (the first time takes a minute or two)")
    with running(settings(), port, overwrite=overwrite) as stack:
        _show_stack(stack)
        try:
            stack.watch()
        except KeyboardInterrupt:
            console.print("Stopping ...")
        finally:
            # A second signal must not interrupt the shutdown.
            for stopping in _STOPPING:
                signal.signal(stopping, signal.SIG_IGN)
    console.print("All services have stopped. Rerun the command to resume.")


def _show_stack(stack: "Stack") -> None:
    from sqlalchemy import make_url

    database, records = (
        make_url(one).render_as_string(hide_password=True)
        for one in (stack.database, stack.records)
    )
    lines = (
        ("Prefect's page", stack.ui),
        ("its password", f"in {stack.password}, readable only by you"),
        ("database", database),
        ("Prefect's records", records),
        ("simulator", stack.simulator),
        ("files of flow runs", f"relative to {stack.home}"),
        ("deployments", summary(stack.steps)),
    )
    for what, value in lines:
        console.print(f"{what:<19} {value}", markup=False, soft_wrap=True)
    for step in stack.steps:
        if step.outcome == "kept":
            console.print(f"{step.outcome:<19} {step.what}", markup=False, soft_wrap=True)
    if stack.rescheduled:
        console.print(f"Resuming {counted(stack.rescheduled, 'flow run')} that had been stopped.")
    console.print("\nIn a second terminal:", markup=False)
    for line in (
        f"export PREFECT_API_URL={stack.api}",
        f'export PREFECT_API_AUTH_STRING="$(cat {quote(str(stack.password))})"',
        "prefect deployment run sweep/demo --watch",
        f"{command()} sweep run deployments/sweeps/quick.yaml",
    ):
        console.print(f"  {line}", markup=False, soft_wrap=True)
    console.print("\nStop everything with Ctrl-C.")


models = typer.Typer(help="Serve models on this machine.", no_args_is_help=True)


@models.callback()
def group() -> None:
    """Serve models on this machine."""


@models.command()
def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
) -> None:
    """Serve SmolLM2-135M-Instruct, a small real model, until Ctrl-C.

    Listens on loopback and prints how to use it as a judge. Requires the extra `local` (`make
    local`). It judges poorly.
    """
    from threading import Event

    from judge_gym.local_model import ABOUT, MODEL, PROVIDER, provider_table, serving

    with serving(port) as url:
        console.print(
            f"{MODEL} ({ABOUT}) is served at {url}, one request at a time.",
            markup=False,
            soft_wrap=True,
        )
        console.print("Put this in your providers file, in place of the table of that name:\n")
        console.print(provider_table(url), markup=False, soft_wrap=True)
        console.print(
            f"Or keep the file and set LOCAL_BASE_URL={url}\n"
            f"Then use the model {PROVIDER}/{MODEL}. Stop with Ctrl-C.",
            markup=False,
            soft_wrap=True,
        )
        with suppress(KeyboardInterrupt):
            Event().wait()


def mcp() -> None:
    """Serve judge-gym to agents over the Model Context Protocol.

    Uses standard input and output. File paths must lie below the current folder. A sweep of real
    models needs a budget in its file or an agreed number of calls.
    """
    prepare_environment(settings().data_dir, verbose=False)
    from deployments.mcp.server import server

    server().run("stdio")
