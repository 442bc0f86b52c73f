"""`judge-gym up`: a whole installation on this machine, until Ctrl-C."""

import signal
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.init import Overwrite, in_short
from deployments.cli.output import command, console
from judge_gym.counting import counted

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
    """Run PostgreSQL, Prefect's server, a worker and the simulator until Ctrl-C, and deploy.

    Everything listens on loopback only and keeps its data in the data folder, so that the same
    command goes on where the last one ended. When a part ends, the others are stopped too.
    Prefect's page and API need the password in the data folder. Edits made in the page are kept.
    """
    from deployments.cli.environment import prepare_environment
    from judge_gym.settings import settings

    for stopping in _STOPPING:
        signal.signal(stopping, signal.default_int_handler)
    prepare_environment(settings().data_dir, verbose=False)
    from deployments.local.stack import running

    console.print("Starting; the first time takes a minute or two ...")
    with running(settings(), port, overwrite=overwrite) as stack:
        _show(stack)
        try:
            stack.watch()
        except KeyboardInterrupt:
            console.print("Stopping ...")
        finally:
            # Stopping must not be stopped half-way.
            for stopping in _STOPPING:
                signal.signal(stopping, signal.SIG_IGN)
    console.print("Everything has stopped; the same command goes on from here.")


def _show(stack: "Stack") -> None:
    import sqlalchemy as sa

    database, records = (
        sa.make_url(one).render_as_string(hide_password=True)
        for one in (stack.database, stack.records)
    )
    lines = (
        ("Prefect's page", stack.ui),
        ("its password", f"in {stack.password}, which only you can read"),
        ("database", database),
        ("Prefect's records", records),
        ("simulator", stack.simulator),
        ("files of flow runs", f"relative to {stack.home}"),
        ("deployments", in_short(stack.steps)),
    )
    for what, value in lines:
        console.print(f"{what:<19} {value}", markup=False, soft_wrap=True)
    for step in stack.steps:
        if step.outcome == "kept":
            console.print(f"{step.outcome:<19} {step.what}", markup=False, soft_wrap=True)
    if stack.put_back:
        console.print(f"Resuming {counted(stack.put_back, 'flow run')} that had been stopped.")
    console.print("\nIn a second terminal:", markup=False)
    for line in (
        f"export PREFECT_API_URL={stack.api}",
        f'export PREFECT_API_AUTH_STRING="$(cat {quote(str(stack.password))})"',
        "prefect deployment run sweep/demo --watch",
        f"{command()} sweep run deployments/sweeps/quick.yaml",
    ):
        console.print(f"  {line}", markup=False, soft_wrap=True)
    console.print("\nCtrl-C stops everything.")
