"""`judge-gym init`: the database and the Prefect server made ready for deployments."""

from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.output import console

if TYPE_CHECKING:
    from deployments.bootstrap import Step


def init(
    secrets: Annotated[
        bool,
        typer.Option(
            "--secrets",
            help="Save the keys that stand in the environment as Prefect Secret blocks.",
        ),
    ] = False,
) -> None:
    """Migrate the database, and make what deployments need on your Prefect server.

    That is the work pool, the limits of the providers, the automations that notice lost runs, the
    variable of settings and the deployments of prefect.yaml. Running it again changes nothing, and
    says so.
    """
    import asyncio

    from deployments.cli.environment import prepare_environment
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
    show_steps(asyncio.run(made_ready(secrets=secrets)))


async def made_ready(*, secrets: bool = False) -> "list[Step]":
    """Make what deployments need on the Prefect server in force, and deploy."""
    from deployments.bootstrap import bootstrap
    from deployments.deploying import deploy_all
    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings

    providers = load_providers(settings().providers_file)
    return await bootstrap(providers, secrets=secrets) + await deploy_all()


def show_steps(steps: "list[Step]") -> None:
    """Print what became of each thing, and whether anything changed at all."""
    for step in steps:
        console.print(f"{step.outcome:<9} {step.what}", markup=False)
    changed = sum(step.outcome != "unchanged" for step in steps)
    said = f"{changed} of {len(steps)} were made or changed" if changed else "nothing changed"
    console.print(f"The Prefect server is ready: {said}.")
