"""`judge-gym clean`: take calls and what follows from them out of the database, shown first."""

from typing import Annotated

import typer

from deployments.cli.choosing import (
    Name,
    OfFailure,
    OfWorkflow,
    Yes,
    choose,
    engine_of_settings,
    show_calls,
)
from deployments.cli.output import confirmed, console
from judge_gym.counting import counted


def clean(
    name: Name,
    workflow: OfWorkflow = None,
    failure: OfFailure = None,
    keep_derived: Annotated[
        bool, typer.Option("--keep-derived", help="Keep the samples and probes read from them.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete LLM calls of W3 to W5, and the samples and probes derived from them.

    What would go is shown first. Without its samples an experiment is judged, and paid for,
    again.
    """
    from sqlalchemy.orm import Session

    from judge_gym.store.claims import idle
    from judge_gym.store.cleaning import Removal, check_failure, removal, removed_calls
    from judge_gym.store.cleaning import clean as delete

    with engine_of_settings() as engine, Session(engine) as session, session.begin():
        chosen = choose(session, name)
        selection = chosen.selection(workflow or "", failure or "")
        check_failure(session, selection)
        with idle(engine, chosen.claims):
            going = removal(session, selection)
            lines = removed_calls(session, selection, keep_derived=keep_derived)
            calls = sum(one.calls for one in lines)
            what = counted(calls, "LLM call") if keep_derived else str(going)
            if not calls and (keep_derived or going == Removal(0, 0, 0)):
                console.print(f"{chosen.title}: there is nothing to delete.", markup=False)
                raise typer.Exit
            show_calls(f"{chosen.title}: calls", lines)
            console.print(f"{what} would be deleted.", markup=False)
            if not confirmed("Delete them?", yes=yes):
                console.print("Nothing was deleted.")
                raise typer.Exit
            delete(session, selection, keep_derived=keep_derived)
    console.print(f"Deleted {what}.", markup=False)
