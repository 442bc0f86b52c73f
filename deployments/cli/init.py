"""`judge-gym init`: the database and the Prefect server made ready for deployments."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.output import console
from judge_gym.counting import counted

if TYPE_CHECKING:
    from deployments.bootstrap import Step

Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace edits made on the Prefect server by prefect.yaml."),
]


def init(
    secrets: Annotated[
        bool,
        typer.Option(
            "--secrets",
            help="Save the keys that stand in the environment as Prefect Secret blocks.",
        ),
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Migrate the database, and make what deployments need on your Prefect server.

    That is the work pool, the limits of the providers, the automations that notice lost runs, the
    variable of settings and the deployments of prefect.yaml. Running it again changes nothing, and
    says so. Edits made in Prefect's page are kept and listed.
    """
    import asyncio

    from deployments.cli.environment import prepare_environment
    from deployments.cli.prefect_api import prefect_api
    from judge_gym.errors import JudgeGymError
    from judge_gym.settings import settings
    from judge_gym.store.engine import connect

    connect(settings()).dispose()
    console.print("The database is at the newest revision.")
    prepare_environment(settings().data_dir, verbose=False)
    from prefect.settings import get_current_settings

    if not get_current_settings().api.url:
        raise JudgeGymError(
            "No Prefect server is named, so nothing was deployed.",
            "Set PREFECT_API_URL to yours; or have one on this machine with `judge-gym up`.",
        )
    with prefect_api():
        show_steps(asyncio.run(made_ready(secrets=secrets, overwrite=overwrite)))


async def made_ready(*, secrets: bool = False, overwrite: bool = False) -> "list[Step]":
    """Make what deployments need on the Prefect server in force, and deploy."""
    from deployments.bootstrap import bootstrap
    from deployments.deploying import deploy_all
    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings

    providers = load_providers(settings().providers_file)
    steps = await bootstrap(providers, secrets=secrets, overwrite=overwrite)
    return steps + await deploy_all(overwrite=overwrite)


def show_steps(steps: "list[Step]") -> None:
    """Print what became of each thing, and whether anything changed at all."""
    for step in steps:
        console.print(f"{step.outcome:<9} {step.what}", markup=False)
    console.print(f"The Prefect server is ready: {in_short(steps)}.")


def in_short(steps: "list[Step]") -> str:
    """Return how many things were made or changed, and how many edits of a person were kept."""
    outcomes = Counter(step.outcome for step in steps)
    parts = [
        f"{counted(outcomes[outcome], 'thing')} {outcome}"
        for outcome in ("created", "changed")
        if outcomes[outcome]
    ]
    said = ", ".join(parts) or "nothing changed"
    if not outcomes["kept"]:
        return said
    edits = counted(outcomes["kept"], "edit")
    return f"{said}; kept {edits} made on the server (--overwrite replaces)"
