"""`judge-gym clean`: take an experiment's calls out of the database, shown first."""

from typing import Annotated

import typer

from deployments.cli.output import console


def clean(
    tag: Annotated[str, typer.Argument(help="The experiment's tag.", show_default=False)],
    keep_derived: Annotated[
        bool, typer.Option("--keep-derived", help="Keep the samples and probes read from them.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete an experiment's LLM calls, and the samples and probes derived from them.

    What would go is shown first. Without its samples an experiment is judged, and paid for,
    again.
    """
    from deployments.cli.database import database
    from judge_gym.store.cleaning import clean_experiment, removal
    from judge_gym.store.experiments import experiments_by_tag

    with database() as session:
        [experiment_id] = experiments_by_tag(session, [tag])
        going = removal(session, experiment_id)
        what = f"{going.calls} LLM calls" if keep_derived else str(going)
        console.print(f"Experiment {tag}: {what} would be deleted.", markup=False)
        if not (yes or typer.confirm("Delete them?")):
            console.print("Nothing was deleted.")
            return
        clean_experiment(session, experiment_id, keep_derived=keep_derived)
    console.print(f"Deleted {what}.", markup=False)
