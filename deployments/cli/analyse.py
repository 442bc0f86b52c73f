"""`judge-gym analyse`: the figures of a sweep, computed again from what the database holds."""

from typing import Annotated

import typer

from deployments.cli.options import Everything


def analyse(
    sweep: Annotated[str, typer.Argument(help="The sweep's name.", show_default=False)],
    everything: Everything = False,
) -> None:
    """Analyse a sweep again, print its headlines and write its report; makes no calls."""
    import asyncio

    from deployments.cli.database import database
    from deployments.cli.environment import prepare_environment
    from deployments.cli.prefect_api import prefect_api
    from deployments.cli.results import show_results
    from judge_gym.settings import settings
    from judge_gym.store.experiments import sweep_tags

    with database() as session:
        sweep_tags(session, sweep)  # an unknown sweep is said before Prefect is started
    prepare_environment(settings().data_dir, verbose=False)
    with prefect_api("flows.analysis"):
        from flows.analysis import analysis

        run_id = asyncio.run(analysis(sweep))
    show_results(run_id, everything=everything)
