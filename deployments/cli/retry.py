"""`judge-gym retry`: have what failed asked again, shown first."""

import typer

from deployments.cli.choosing import Name, OfFailure, OfWorkflow, Yes, choose, engine_of_settings
from deployments.cli.output import command, confirmed, console, show_table


def retry(
    name: Name, workflow: OfWorkflow = None, failure: OfFailure = None, yes: Yes = False
) -> None:
    """Mark what is kept as failed as to be asked again by the next run; asks no model itself.

    What would be asked again is shown first.
    """
    from sqlalchemy.orm import Session

    from judge_gym.store.claims import idle
    from judge_gym.store.cleaning import check_failure, forget_failures, kept_failures

    with engine_of_settings() as engine, Session(engine) as session, session.begin():
        chosen = choose(session, name)
        selection = chosen.selection(workflow or "", failure or "")
        check_failure(session, selection)
        with idle(engine, chosen.claims):
            kept = kept_failures(session, selection)
            count = sum(one.count for one in kept)
            if not count:
                console.print(f"{chosen.title}: nothing is kept as failed.", markup=False)
                raise typer.Exit
            show_table(
                f"{chosen.title}: to be asked again",
                ("workflow", "class", "calls"),
                ((one.workflow, one.failure, one.count) for one in kept),
            )
            if not confirmed(f"Have the next run ask for these {count} again?", yes=yes):
                console.print("Nothing was changed.")
                raise typer.Exit
            forget_failures(session, selection)
    again = f"{command()} sweep run FILE"
    console.print(f"{count} will be asked again, at their price, by: {again}", markup=False)
